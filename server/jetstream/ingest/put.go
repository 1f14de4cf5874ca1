package ingest

import (
	"errors"
	"fmt"

	"runnel/jetlog/command"
	"runnel/server/jetstream/api"
)

// Put is a message that the server itself puts into a stream, whatever the subjects of the stream are. Its slices must not
// change any more.
type Put struct {
	Subject         string
	Header, Payload []byte
	Mark            command.Put
}

// Outcome is what became of such a message: it is in the stream with a sequence, or was before, or it is refused. Otherwise
// Err says why nobody knows: it may be stored, and to put it again is safe.
type Outcome struct {
	Sequence  uint64
	Duplicate bool
	Refusal   *api.Error
	Err       error
}

// The errors of Put. Nothing is stored then.
var (
	ErrFull   = errors.New("too many messages wait for the stream")
	ErrClosed = errors.New("the stream is not served here any more")
)

// Put takes a message over, and calls done with what becomes of it, quickly done itself; not at all if the stream is closed
// before. Flush is to be called then, once for many. With an error it is not taken.
func (s *Stream) Put(p *Put, done func(Outcome)) error {
	r := s.ingest.record(s)
	r.subject, r.header, r.payload = p.Subject, p.Header, p.Payload
	r.put, r.told = &p.Mark, done
	if err := s.putIn(r); err != nil {
		s.ingest.release(r)
		return fmt.Errorf("put a message into stream %q: %w", s.log.Name(), err)
	}
	return nil
}

// putIn puts a record with a message behind all others.
func (s *Stream) putIn(r *record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.full(r.bytes()) || !s.ingest.charge(r, r.bytes()):
		return ErrFull
	}
	s.append(r)
	return nil
}

// tellPut tells whoever has put a message what became of it.
func (r *record) tellPut() {
	refusal, known := outcome(r)
	switch {
	case !known:
		r.told(Outcome{Err: r.err})
	case refusal != nil:
		r.told(Outcome{Refusal: refusal})
	default:
		r.told(Outcome{Sequence: r.result.Sequence, Duplicate: r.result.Duplicate})
	}
}
