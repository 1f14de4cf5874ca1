package ingest

import (
	"runnel/headers"
	"runnel/jetlog/command"
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
	s.handedOn(r)
	if r.task == barring {
		r.target = s.drained.started
		s.acker.push(r)
		return
	}
	s.store(r)
}

// store starts the command for a message.
func (s *Stream) store(r *record) {
	cfg := s.settings.Load()
	m := readMarks(r.header)
	if m.requestInfo {
		r.header = headers.Delete(r.header, requestInfo)
	}
	r.subject = cfg.stored(r.subject)
	r.refusal = cfg.refusal(r, m)
	if r.refusal == nil && s.hooks.Admit != nil {
		r.refusal = s.hooks.Admit(len(r.subject) + len(r.header) + len(r.payload))
	}
	if r.refusal != nil {
		s.acker.push(r)
		return
	}
	r.at = s.ingest.cfg.Clock().UnixNano()
	s.start(r, &command.Publish{Time: r.at, Subject: r.subject, Header: r.header, Payload: r.payload})
}

// start hands a command to the log, which may have to wait.
func (s *Stream) start(r *record, c command.Command) {
	r.started = true
	if err := s.log.Start(s.ctx, c, r.done); err != nil {
		r.started, r.err = false, err
		s.acker.push(r)
		return
	}
	s.drained.started++
}
