package engine

import (
	"runnel/server/accounts"
	"runnel/server/engine/reserved"
	"runnel/server/msgtrace"
)

// Message is what an internal subscription receives. It and its memory are the worker's, and valid during the call
// of the handler only: Clone what is kept.
type Message struct {
	Subject []byte
	Reply   []byte // nil when no answer is wanted
	Header  []byte // the complete header block, nil when there is none
	Payload []byte
	// From is the connection that published it; nil for a message of the server itself.
	From *Conn
	// Trace is who is to be told what becomes of the message, nil for nobody. It may say that the message is for that
	// alone.
	Trace *msgtrace.Trace
	// Got is how many got it, and Peer the node of another server that did; only a witness is told.
	Got  int
	Peer string

	worker *worker // nil in a clone
}

// Bytes is how large the message is, subjects included.
func (m *Message) Bytes() int {
	return len(m.Subject) + len(m.Reply) + len(m.Header) + len(m.Payload)
}

// Crossed tells whether an answer to the message goes to another account: it is a request that came by an import.
func (m *Message) Crossed() bool { return reserved.Reply(m.Reply) }

// cloneBytes is the size up to which a clone has its bytes beside it: with it, a clone is one allocation of 256 bytes.
const cloneBytes = 144

// clone is a message with memory of its own.
type clone struct {
	Message
	memory [cloneBytes]byte
}

// Clone copies the message: into one piece of memory when it is small, else into one for the bytes and one for
// the rest. A clone does not change and may be used by anybody.
func (m *Message) Clone() *Message {
	if m.Bytes() <= cloneBytes {
		c := &clone{Message: *m}
		c.move(c.memory[:0])
		return &c.Message
	}
	c := *m
	c.move(make([]byte, 0, m.Bytes()))
	return &c
}

// move puts the message's bytes into memory, which is large enough.
func (m *Message) move(memory []byte) {
	m.worker = nil
	for _, part := range [...]*[]byte{&m.Subject, &m.Reply, &m.Header, &m.Payload} {
		if *part != nil {
			from := len(memory)
			memory = append(memory, *part...)
			*part = memory[from:len(memory):len(memory)]
		}
	}
}

// Permitted tells whether who published the message may publish to another subject, which the message means; a client that
// may not is told so. A permission is needed by clients of the account only: others were allowed in by an export. Only the
// handler may call it, on a message that is no clone.
func (m *Message) Permitted(subject string) bool {
	c, w := m.From, m.worker
	if c == nil || c.Account() != w.serving.account {
		return true
	}
	p := c.profile.Load()
	if p.CanPublish(subject) {
		return true
	}
	w.deny(c, "Publish to", []byte(subject))
	return false
}

// Press asks that who published the message be slowed down, since the subscriber cannot keep up: nothing is read from
// that connection for 2 ms at most. Only the handler may call it, on a message that is no clone.
func (m *Message) Press() {
	if m.From != nil {
		m.worker.pressed = true
	}
}

// Flusher is somebody who has something to do when a batch is at its end.
type Flusher interface{ Flush() }

// AtEnd asks that f be flushed when the batch is processed that the message is part of: so that who is handed many
// messages can do for all at once what it has to do. That is once for many calls with the same f in a row, and may be
// sooner, with more to come. Flush runs on the worker, too: it must not block, and publishes only by a [Publisher] of
// its own. Only the handler may call AtEnd, on a message that is no clone; f is a pointer, since it is compared.
func (m *Message) AtEnd(f Flusher) {
	w := m.worker
	if n := len(w.ending); n == 0 || w.ending[n-1] != f {
		w.ending = append(w.ending, f)
	}
}

// endBatch flushes whom the batch was handed to.
func (w *worker) endBatch() {
	for i := 0; i < len(w.ending); i++ {
		f := w.ending[i]
		w.ending[i] = nil
		f.Flush()
	}
	w.ending = w.ending[:0]
}

// Internal is a subscription of the server itself.
type Internal struct {
	engine  *Engine
	id      uint64
	handler func(*Message)
	sub     *accounts.Subscription
	account *accounts.Account
	// explains: it tells the traces of messages what becomes of them.
	explains bool
	// serves: it answers, or does what it is told. What others publish does not get here because it is imported.
	serves bool
	// local: other servers are not told of it, and send nothing.
	local bool
}

// ID is unique in the life of the server, among connections too.
func (i *Internal) ID() uint64 { return i.id }

// hand gives a message to the handler of an internal subscription.
func (w *worker) hand(i *Internal, m Message) {
	w.message = m
	w.message.worker = w
	w.serving = i
	i.handler(&w.message)
	w.message, w.serving = Message{}, nil
}

// Subscribe makes the server itself a subscriber of account a. The handler runs on the worker of the publisher,
// also of a [Publisher], so it must neither block nor publish: it hands the message on, or answers it by
// [Message.Respond]. Its message is valid during
// the call only.
func (e *Engine) Subscribe(a *accounts.Account, subject, queue string, handler func(*Message)) *Internal {
	return e.subscribe(&Internal{id: e.nextID.Add(1), handler: handler, account: a}, subject, queue)
}

// SubscribeService is Subscribe for a service of the account: it is asked by clients of the account, and by those of
// accounts that import it as a service, but not by what the account imports as a stream. Who publishes that has nothing
// to say here.
func (e *Engine) SubscribeService(a *accounts.Account, subject string, handler func(*Message)) *Internal {
	return e.subscribe(&Internal{id: e.nextID.Add(1), handler: handler, account: a, serves: true}, subject, "")
}

// SubscribeMember is SubscribeService for one of several servers that share the work: as a member of a queue group.
func (e *Engine) SubscribeMember(a *accounts.Account, subject, queue string, handler func(*Message)) *Internal {
	return e.subscribe(&Internal{id: e.nextID.Add(1), handler: handler, account: a, serves: true}, subject, queue)
}

// SubscribeLocal is SubscribeService for what only clients of this server ask, and those of importing accounts that are
// connected here: other servers answer by themselves.
func (e *Engine) SubscribeLocal(a *accounts.Account, subject string, handler func(*Message)) *Internal {
	return e.subscribe(&Internal{id: e.nextID.Add(1), handler: handler, account: a, serves: true, local: true}, subject, "")
}

// SubscribeTraced is Subscribe for who knows what to do with [Message.Trace]. Others are not handed messages that are
// for their trace alone.
func (e *Engine) SubscribeTraced(a *accounts.Account, subject, queue string, handler func(*Message)) *Internal {
	return e.subscribe(&Internal{id: e.nextID.Add(1), handler: handler, account: a, explains: true}, subject, queue)
}

func (e *Engine) subscribe(i *Internal, subject, queue string) *Internal {
	i.engine = e
	i.sub = accounts.NewSubscription(i, subject, queue, "")
	i.account.Interest().Insert(&i.sub.Entry)
	i.count(1)
	return i
}

// Unsubscribe ends the subscription. A call of the handler may still be under way.
func (i *Internal) Unsubscribe() {
	i.sub.Close()
	if i.account.Interest().Remove(&i.sub.Entry) {
		i.count(-1)
	}
}

// count has other servers told of the subscription, unless it is for clients of this one.
func (i *Internal) count(by int) {
	if !i.local {
		i.engine.count(i.account, i.sub, by)
		i.engine.tell()
	}
}
