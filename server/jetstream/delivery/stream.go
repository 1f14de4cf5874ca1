package delivery

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clock"
)

// Log is a stream as its deliveries need it; *store.Stream is one. Its methods may be called concurrently.
type Log interface {
	// Name returns the name of the stream.
	Name() string
	// Start carries out a command and calls done with the result: quick, and commands that were started one after the
	// other in their order. It waits for room no longer than the context. With an error done is not called, and
	// nothing has happened.
	Start(ctx context.Context, c command.Command, done func(jetlog.Result, error)) error
	// StartTogether is Start for several commands of a stream that is replicated: all or none.
	StartTogether(ctx context.Context, commands []command.Command, done func(jetlog.Result, error)) error
	// Replicated reports whether other servers have the stream too, and may lead it next.
	Replicated() bool
	// View calls do with the state and the messages, which do not change meanwhile.
	View(do func(*jetlog.Stream, jetlog.Messages) error) error
	// Near tells whether what there is from a sequence on can be read without waiting for a disk.
	Near(sequence uint64) bool
	// Load returns a message, with sequence 0 if there is none.
	Load(sequence uint64) (jetlog.Message, error)
	// Read calls yield for messages from a sequence on that the filter matches, up to a number of messages and bytes.
	Read(
		from uint64, filter jetlog.Filter, messages, bytes int, yield func(*jetlog.Message) bool,
	) (next uint64, err error)
}

// Stream is the deliveries of one stream. Its methods may be called concurrently.
type Stream struct {
	pool     *Pool
	account  *accounts.Account
	log      Log
	clock    *clock.Clock // nil: that of the pool
	interest *interest
	hungry   atomic.Int32 // consumers that would take a message
	overdue  deadlines
	letters  Letters
	rules    atomic.Pointer[rules] // of the consumer that was configured last: others may have the same

	mu        sync.RWMutex // guards the table
	consumers map[string]*consumer
	closed    bool
}

// Open begins to deliver for all consumers that the log has, by the time of the stream; nil for that of the pool. On a closed pool the
// stream is closed from the start.
func (p *Pool) Open(a *accounts.Account, log Log, c *clock.Clock) *Stream {
	s := &Stream{pool: p, account: a, log: log, clock: c, interest: newInterest(), consumers: make(map[string]*consumer)}
	s.overdue.stream = s
	s.letters = noLetters{}
	if !p.enter(s) {
		s.closed = true
		return s
	}
	var names []string
	err := log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		for _, c := range state.Consumers() {
			names = append(names, c.Name())
		}
		return nil
	})
	if err != nil {
		p.cfg.Logger.Error("deliveries cannot begin", "stream", log.Name(), "error", err)
	}
	for _, name := range names {
		s.Update(name)
	}
	s.openLetters(log)
	s.overdue.look()
	return s
}

// now is the time of the stream in the form of commands.
func (s *Stream) now() int64 {
	if s.clock == nil {
		return s.pool.cfg.Clock().UnixNano()
	}
	return s.clock.Now()
}

// reach has the time of the stream be at least that of its state, as commands of others may have brought it there: then what is due in the state
// is due here.
func (s *Stream) reach(state *jetlog.Stream) {
	if s.clock != nil {
		s.clock.Reach(state.Clock())
	}
}

// Name returns the name of the stream.
func (s *Stream) Name() string { return s.log.Name() }

// Account returns the account of the stream.
func (s *Stream) Account() *accounts.Account { return s.account }

// Close ends all deliveries of the stream. Every waiting pull request gets 409 Consumer Deleted. It returns when that
// is told, and must not be called by what must be quick.
func (s *Stream) Close() {
	s.pool.leave(s)
	s.end(api.StatusConsumerDeleted)
}

// Resign is Close for a stream that is not led here any more: requests get 409 Leadership Change, and can be made again
// wherever it is led then.
func (s *Stream) Resign() {
	s.pool.leave(s)
	s.end(api.StatusLeadershipChange)
}

// end ends the deliveries of all consumers; who waits is told a status.
func (s *Stream) end(status api.Status) {
	s.overdue.close()
	s.letters.Close()
	for _, told := range s.endAll(status) {
		<-told
	}
}

// endAll lets every consumer end and returns what tells that it has.
func (s *Stream) endAll(status api.Status) []chan struct{} {
	s.mu.Lock()
	s.closed = true
	consumers := s.consumers
	s.consumers = nil
	s.mu.Unlock()
	var all []chan struct{}
	for _, c := range consumers {
		all = append(all, c.end(status))
	}
	return all
}

// end lets the consumer end; what it returns is closed when that is done and told.
func (c *consumer) end(status api.Status) chan struct{} {
	told := make(chan struct{})
	if !c.post(func(b *mailbox) { b.end = &ending{status, told} }) {
		close(told)
	}
	return told
}

// consumer returns who has the name, nil for nobody.
func (s *Stream) consumer(name string) *consumer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.consumers[name]
}

// all returns all consumers.
func (s *Stream) all() []*consumer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*consumer, 0, len(s.consumers))
	for _, c := range s.consumers {
		list = append(list, c)
	}
	return list
}

// Stored tells that a publish was applied. It is quick.
func (s *Stream) Stored(subject string, _ uint64) {
	if s.hungry.Load() == 0 {
		return
	}
	for _, c := range s.interest.match(subject) {
		c.feed()
	}
}

// Listened tells whether anybody, of a queue group if one is given, subscribed to the subject.
func (s *Stream) Listened(subject, group string) bool {
	if subject == "" {
		return false
	}
	for _, e := range s.account.Interest().Match([]byte(subject), nil) {
		if group == "" || e.Queue == group {
			return true
		}
	}
	return false
}

// Changed tells that messages have gone, or come, in other ways than by a publish, or that the stream was configured.
func (s *Stream) Changed() {
	for _, c := range s.all() {
		c.wakeIfWanting()
	}
}

// Update tells that a consumer was created, or that its configuration, pause or place in the stream has changed.
func (s *Stream) Update(consumer string) {
	if c := s.join(consumer); c != nil {
		c.post(func(b *mailbox) { b.update = true })
	}
}

// join returns the consumer of a name, a new one if there was none, and nil when the stream is closed.
func (s *Stream) join(name string) *consumer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	c := s.consumers[name]
	if c == nil {
		c = &consumer{stream: s, name: name}
		s.consumers[name] = c
	}
	return c
}

// Remove tells that a consumer was deleted. Its waiting pull requests get 409 Consumer Deleted; it returns when they
// have, and must not be called by what must be quick.
func (s *Stream) Remove(consumer string) {
	if c := s.forget(consumer, nil); c != nil {
		<-c.end(api.StatusConsumerDeleted)
	}
}

// forget takes a consumer out of the table and returns it. If one is given, only that one.
func (s *Stream) forget(name string, only *consumer) *consumer {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.consumers[name]
	if c == nil || only != nil && c != only {
		return nil
	}
	delete(s.consumers, name)
	return c
}

// Request is a pull request: where the messages are to be sent, and what it says.
type Request struct {
	Reply        string
	Header, Body []byte
}

// Pull takes a pull request, and copies what it keeps. It is false if there is no such consumer.
func (s *Stream) Pull(consumer string, r Request) bool {
	c := s.consumer(consumer)
	if c == nil {
		return false
	}
	r.copy()
	return c.post(func(b *mailbox) { b.request(r) })
}

// Ack is what a receiver says about a delivery: the subject that it sent to, the payload, and where the answer goes,
// empty for no answer.
type Ack struct {
	Subject api.AckSubject
	Payload []byte
	Reply   string
}

// Ack takes an acknowledgement, and copies what it keeps. It is false if there is no such consumer, or if it takes
// none.
func (s *Stream) Ack(consumer string, a Ack) bool {
	c := s.consumer(consumer)
	if c == nil || c.takesNoAcks() {
		return false
	}
	answer, ok := newAnswer(&a)
	if !ok {
		return true
	}
	return c.post(func(b *mailbox) { b.answer(&answer) })
}

// FlowControl takes the answer to flow control, which came on a subject. It is false if there is no such consumer.
func (s *Stream) FlowControl(consumer, subject string, header []byte) bool {
	c := s.consumer(consumer)
	if c == nil {
		return false
	}
	f := newFlow(subject, header)
	return c.post(func(b *mailbox) { b.flow(f) })
}

// Unpin takes a priority group from the client that it belongs to. It is an error of the API if there is no such
// consumer or group.
func (s *Stream) Unpin(consumer, group string) error {
	c := s.consumer(consumer)
	if c == nil {
		return api.NewError(config.ConsumerNotFound)
	}
	if !c.hasGroup(group) {
		return api.NewError(config.PriorityGroupUnknown)
	}
	c.post(func(b *mailbox) { b.unpin = group })
	return nil
}

// Settle waits until everything that consumers were told before the call, and everything that they have started, is
// applied. An empty name stands for all consumers. The error is the context's.
func (s *Stream) Settle(ctx context.Context, name string) error {
	var consumers []*consumer
	if name == "" {
		consumers = s.all()
	} else if c := s.consumer(name); c != nil {
		consumers = append(consumers, c)
	}
	var waits []chan struct{}
	for _, c := range consumers {
		if c.idle() {
			continue
		}
		done := make(chan struct{})
		if c.post(func(b *mailbox) { b.settles = append(b.settles, done) }) {
			waits = append(waits, done)
		}
	}
	for _, done := range waits {
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("wait for the deliveries of stream %q: %w", s.Name(), ctx.Err())
		}
	}
	return nil
}
