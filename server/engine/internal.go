package engine

import (
	"bytes"

	"runnel/server/accounts"
	"runnel/server/wire"
)

// Message is what an internal subscription receives. Its memory is its own.
type Message struct {
	Subject, Reply  string
	Header, Payload []byte
	// From is the connection that published it; nil for a message of the server itself.
	From *Conn
}

// Internal is a subscription of the server itself.
type Internal struct {
	id      uint64
	handler func(*Message)
	sub     *accounts.Subscription
	account *accounts.Account
}

// ID is unique in the life of the server, among connections too.
func (i *Internal) ID() uint64 { return i.id }

// receive hands a copy of the message to the handler.
func (i *Internal) receive(from *Conn, f *wire.Frame) {
	i.handler(&Message{
		Subject: string(f.Subject),
		Reply:   string(f.Reply),
		Header:  bytes.Clone(f.Header()),
		Payload: bytes.Clone(f.Payload()),
		From:    from,
	})
}

// Subscribe makes the server itself a subscriber of account a. The handler runs on the worker of the
// publisher, so it must neither block nor publish: it hands the message on.
func (e *Engine) Subscribe(a *accounts.Account, subject, queue string, handler func(*Message)) *Internal {
	i := &Internal{id: e.nextID.Add(1), handler: handler, account: a}
	i.sub = accounts.NewSubscription(i, subject, queue, "")
	a.Interest().Insert(&i.sub.Entry)
	return i
}

// Unsubscribe ends the subscription. A call of the handler may still be under way.
func (i *Internal) Unsubscribe() {
	i.sub.Close()
	i.account.Interest().Remove(&i.sub.Entry)
}

// Publish sends a message of the server itself to the subscribers in account a, and returns how many got it.
// It takes no lock but those of the targets, so it may be called from anywhere but a handler of Subscribe.
func (e *Engine) Publish(a *accounts.Account, subject, reply string, header, payload []byte) int {
	w := e.borrow()
	defer e.giveBack(w)
	f := messageFrame([]byte(subject), []byte(reply), header, payload)
	n := w.route(nil, w.match.lookup(a.Profile(), f.Subject), &f)
	w.flush()
	return n
}
