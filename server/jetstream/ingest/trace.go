package ingest

import (
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/msgtrace"
)

// What a trace says of a message that is not stored, where no error of the API does: the stream has it already, has too
// much waiting, or has gone.
const (
	duplicate = "msgid is duplicate"
	tooMany   = "too many messages wait"
	closed    = "stream is closed"
)

// TakeTraced is Take for a message whose way is told: t learns what has become of it. One that is for its trace alone is
// not stored, and t learns what would become of it as far as that can be said without.
func (s *Stream) TakeTraced(subject, reply, header, payload []byte, t *msgtrace.Trace) bool {
	storing := t.Store(s.log.Name())
	r := s.ingest.record(s)
	r.trace = storing
	if t.Only() {
		r.task, reply = explaining, nil
	}
	// Whoever is sent the message later asks for no other report.
	taken, full := s.takeIn(r, subject, reply, msgtrace.Disable(header), payload)
	switch {
	case taken:
		return true
	case full:
		s.overflow(reply)
		storing.Done(string(subject), false, tooMany)
	default:
		storing.Done(string(subject), false, closed)
	}
	r.trace = nil
	s.ingest.release(r)
	return false
}

// explain finds out what would become of a message.
func (s *Stream) explain(r *record) {
	cfg := s.settings.Load()
	m := readMarks(r.header)
	r.subject = cfg.stored(r.subject)
	switch err := cfg.oversize(r); {
	case cfg.sealed:
		r.refusal = api.NewError(config.Sealed)
	case err != nil:
		r.refusal = err
	case len(m.stream) > 0 && string(m.stream) != cfg.name:
		r.refusal = api.NewError(config.WrongStream)
	default:
		r.refusal = s.admit(r.size())
	}
	r.unwanted = s.hooks.Wanted != nil && !s.hooks.Wanted(r.subject)
}

// tell tells the trace of a record what has become of it.
func (r *record) tell() {
	err, known := outcome(r)
	switch {
	case !known:
		r.trace.Done(r.subject, false, closed)
	case err != nil:
		r.trace.Done(r.subject, false, err.Description)
	case r.result.Duplicate:
		r.trace.Done(r.subject, false, duplicate)
	default:
		r.trace.Done(r.subject, r.unwanted || r.started && !r.result.Stored, "")
	}
}
