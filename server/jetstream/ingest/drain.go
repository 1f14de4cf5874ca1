package ingest

import (
	"strings"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/server/jetstream/api"
)

// drain hands on what is in the queue until it is empty.
func (s *Stream) drain() {
	defer s.draining.Done()
	for batch := s.next(nil); batch != nil; batch = s.next(batch) {
		for i, r := range batch {
			batch[i] = nil
			s.handle(r)
		}
	}
}

// next returns what is in the queue, in exchange for the slice before, or nil when there is nothing and drain ends.
func (s *Stream) next(before []*record) []*record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before != nil {
		s.spare = before[:0]
	}
	if len(s.queue) == 0 {
		s.active = false
		s.crowded.Store(false)
		if cap(s.spare) > spareMax {
			s.spare = nil
		}
		return nil
	}
	batch := s.queue
	s.queue, s.spare = s.spare, nil
	return batch
}

// handle lets a record do what it asks for.
func (s *Stream) handle(r *record) {
	// What the acker has not got to is bounded by this wait, and by what the log takes.
	s.acker.admit(s.ctx)
	s.leave(r)
	switch r.task {
	case storing:
		s.receive(r)
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
	}
}

// receive finds out in which way a message is to be stored.
func (s *Stream) receive(r *record) {
	cfg := s.settings.Load()
	m := readMarks(r.header)
	if m.requestInfo {
		r.header = headers.Delete(r.header, requestInfo)
	}
	r.subject = cfg.stored(r.subject)
	s.drained.largest = max(s.drained.largest, r.bytes())
	switch {
	case strings.HasSuffix(r.reply, fastSuffix):
		s.advance(r, cfg, &m)
	case len(m.batch) > 0:
		s.gather(r, cfg, &m)
	default:
		s.store(r, cfg, &m)
	}
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
	s.start(r, s.publish(r, m))
}

// publish returns the command for a message.
func (s *Stream) publish(r *record, m *marks) *command.Publish {
	r.at = s.ingest.cfg.Clock().UnixNano()
	c := &command.Publish{Time: r.at, Subject: r.subject, Header: r.header, Payload: r.payload}
	if m.schedule {
		c.Fire = jetlog.FirstFire(r.header, r.at)
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
