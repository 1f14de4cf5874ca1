package ingest

import (
	"strings"

	"runnel/headers"
	"runnel/jetlog/command"
	"runnel/jetlog/due"
	"runnel/server/jetstream/api"
)

// Flush begins to carry out what was taken. It does so on the caller's goroutine as far as it need not wait, and leaves
// the rest to another one.
func (s *Stream) Flush() {
	if !s.claim() {
		return
	}
	defer s.draining.Done()
	if !s.run(false) {
		s.draining.Go(s.drain)
	}
}

// claim makes the caller who drains, if there is something and nobody does.
func (s *Stream) claim() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active || len(s.queue) == 0 {
		return false
	}
	s.active = true
	s.draining.Add(1)
	return true
}

// flushMessages is how many records Flush hands on at most.
const flushMessages = 4 * packMessages

// drain hands on what is in the queue until it is empty, however long that takes.
func (s *Stream) drain() { s.run(true) }

// run hands on what is in the queue until it is empty. Unless it is patient it stops where it would have to wait, and
// returns false: then somebody else is to go on.
func (s *Stream) run(patient bool) bool {
	d := &s.drained
	for handled := 0; s.take(); {
		for d.next < len(d.batch) {
			if handled++; !patient && handled > flushMessages {
				return false // others publish as fast, and the caller has other things to do
			}
			if !s.handle(d.batch[d.next], patient) {
				return false
			}
			d.batch[d.next] = nil
			d.next++
		}
		if !s.dispatch(patient) {
			return false
		}
	}
	return true
}

// take sees to it that there are records to be handled, or to be dispatched. When there are none it is false, and
// nobody drains any more.
func (s *Stream) take() bool {
	d := &s.drained
	if d.next < len(d.batch) || d.pack != nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
	d.next = 0
	d.batch, s.queue = s.queue, d.batch[:0]
	if len(d.batch) > 0 {
		return true
	}
	s.active = false
	s.crowded.Store(false)
	if cap(s.queue)+cap(d.batch) > spareMax {
		s.queue, d.batch = nil, nil
	}
	return false
}

// leave tells the queue what has left it. The caller holds mu.
func (s *Stream) leave() {
	left := &s.drained.left
	s.room.messages -= left.messages
	s.room.bytes -= left.bytes
	*left = room{}
}

// settleQueue is leave for who does not hold mu.
func (s *Stream) settleQueue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
}

// handle lets a record do what it asks for. It is false, and nothing is done, if that would have to wait and is not to.
func (s *Stream) handle(r *record, patient bool) bool {
	// What the acker has not got to is bounded by this wait, and by what the log takes.
	if !s.acker.admit(s.ctx, patient) {
		return false
	}
	if r.task == storing || r.task == resolved {
		return s.receive(r, patient)
	}
	if !patient || !s.dispatch(patient) {
		return false
	}
	s.drained.left.add(r)
	switch r.task {
	case barring:
		s.bar(r)
	case announcing:
		s.follow(r)
	case resuming:
		s.resume(r.step.batch, r.failed)
		s.settle(r)
	case idling:
		s.expire()
		s.settle(r)
	case explaining:
		s.explain(r)
		s.settle(r)
	}
	return true
}

// receive finds out in which way a message is to be stored. It is false like handle.
func (s *Stream) receive(r *record, patient bool) bool {
	cfg := s.settings.Load()
	subject, m := r.subject, marks{}
	switch {
	case r.task == resolved:
		m = readMarks(r.header)
	case r.put == nil:
		subject, m = cfg.stored(r.subject), readMarks(r.header)
	}
	// The subject may be longer, and must fit without waiting.
	if !s.drained.pack.fits(r.bytes()+len(subject)-len(r.subject)) && !s.dispatch(patient) {
		return false
	}
	fast := strings.HasSuffix(r.reply, fastSuffix)
	member := !fast && len(m.batch) > 0 || r.batch != nil
	if member && (!patient || !s.dispatch(patient)) {
		return false // since a batch that is complete is a command by itself
	}
	s.drained.left.add(r)
	if m.reserved {
		r.header = withoutReserved(r.header)
	}
	if m.wrong != "" && !member {
		s.refuse(r, api.NewError(api.HeaderInvalid, m.wrong))
		return true
	}
	if m.ack != nil && s.hooks.Imported != nil && s.hooks.Imported(r.subject) {
		s.refuse(r, api.NewError(api.AckInvalid, "messages on this subject are imported from another account"))
		return true
	}
	if m.delayed && !member && s.delay(r, subject, cfg, fast) {
		return true
	}
	if m.requestInfo {
		r.header = headers.Delete(r.header, requestInfo)
	}
	r.subject = subject
	s.drained.largest = max(s.drained.largest, r.bytes())
	switch {
	case r.task == resolved:
		s.resolved(r, cfg, &m)
	case fast && m.ack != nil:
		s.refuse(r, api.NewError(api.AckInvalid, "it cannot be in a fast batch"))
	case fast:
		s.advance(r, cfg, &m)
	case member:
		s.gather(r, cfg, &m)
	case m.ack != nil:
		s.acknowledging(r, cfg, &m)
	default:
		s.store(r, cfg, &m)
	}
	return true
}

// delay lets a message be stored later, under a subject. It is false if the message is to be stored now.
func (s *Stream) delay(r *record, subject string, cfg *settings, fast bool) bool {
	if refusal := cfg.delayRefusal(r, fast || s.hooks.Delay == nil); refusal != nil {
		s.refuse(r, refusal)
		return true
	}
	reply := r.reply
	if cfg.noAck {
		reply = ""
	}
	taken, rest, refusal := s.hooks.Delay(subject, reply, r.header, r.payload)
	switch {
	case refusal != nil:
		s.refuse(r, refusal)
	case taken:
		s.settle(r)
	default:
		r.header = rest
	}
	return refusal != nil || taken
}

// store stores a message that is part of nothing.
func (s *Stream) store(r *record, cfg *settings, m *marks) {
	err := cfg.refusal(r, m)
	if err == nil {
		err = s.admit(r.size())
	}
	if err != nil {
		s.refuse(r, err)
		return
	}
	s.add(r, s.publish(r, m))
}

// publish returns the command for a message. Messages that go to the log together have one time.
func (s *Stream) publish(r *record, m *marks) command.Publish {
	if p := s.drained.pack; p != nil {
		r.at = p.publishes[0].Time
	} else {
		r.at = s.now()
	}
	c := command.Publish{Time: r.at, Subject: r.subject, Header: r.header, Payload: r.payload, Put: r.put, Cause: r.cause}
	if m.schedule {
		c.Fire = due.FirstFire(r.header, r.at)
	}
	return c
}

// admit asks whether account and server have room for so many bytes.
func (s *Stream) admit(bytes int) *api.Error {
	if s.hooks.Admit == nil {
		return nil
	}
	return s.hooks.Admit(bytes)
}

// refuse ends a message that does not come to the log.
func (s *Stream) refuse(r *record, err *api.Error) {
	r.refusal = err
	s.acker.push(r)
}

// follow gives a record to the acker, for when everything is answered that the log has had until now.
func (s *Stream) follow(r *record) {
	r.target = s.drained.started
	s.acker.push(r)
}

// start hands a command to the log, which may have to wait. It is false when the log does not take it.
func (s *Stream) start(r *record, c command.Command) bool {
	r.started = true
	if err := s.log.Start(s.ctx, c, r.done); err != nil {
		r.started, r.err = false, err
		s.follow(r)
		return false
	}
	s.drained.started++
	return true
}
