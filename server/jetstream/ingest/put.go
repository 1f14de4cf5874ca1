package ingest

import (
	"bytes"
	"errors"
	"fmt"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
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

// The errors of Put, besides those of Refusal. Nothing is stored then.
var (
	ErrFull   = errors.New("too many messages wait for the stream")
	ErrClosed = errors.New("the stream is not served here any more")
)

// Put takes a message over, and calls done with what becomes of it, quickly done itself; not at all if the stream is closed
// before. Flush is to be called then, once for many. With an error it is not taken.
func (s *Stream) Put(p *Put, done func(Outcome)) error {
	header := p.Header
	if bytes.Contains(header, []byte(api.RedriveTo)) {
		if err := s.Refusal(p); err != nil {
			return err
		}
		header = s.forAll(header)
	}
	r := s.ingest.record(s)
	r.subject, r.header, r.payload = p.Subject, header, p.Payload
	r.put, r.told = &p.Mark, done
	if err := s.putIn(r); err != nil {
		s.ingest.release(r)
		return fmt.Errorf("put a message into stream %q: %w", s.log.Name(), err)
	}
	return nil
}

// forAll returns a header without the name of the consumer that the message is for where a message has one consumer anyhow: should
// that be deleted, the next one is to get it.
func (s *Stream) forAll(header []byte) []byte {
	if s.log.Config().Retention == config.WorkQueueRetention {
		return headers.Delete(header, api.RedriveTo)
	}
	return header
}

// Refusal tells why a message cannot be put that is for one consumer alone: there is no such consumer, or it does not want the
// subject, so that nobody would ever get it. It is an error of the API, nil for all others.
func (s *Stream) Refusal(p *Put) error {
	to, alone := headers.Get(p.Header, api.RedriveTo)
	if !alone {
		return nil
	}
	why := ""
	err := s.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		switch c := state.Consumer(string(to)); {
		case c == nil:
			why = "there is no such consumer any more"
		case !c.Filter().Matches(p.Subject):
			why = "it does not want subject " + p.Subject + " any more"
		default:
			why = ""
		}
		return nil
	})
	if err == nil && why != "" {
		err = api.NewError(api.RedriveUnwanted, string(to), s.log.Name(), why)
	}
	return err
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
