package ingest

import (
	"log/slog"
	"math/rand/v2"

	"runnel/jetlog/config"
	"runnel/jetlog/content"
	"runnel/server/jetstream/api"
	"runnel/subjects"
)

// settings are what a stream's configuration means for its publishers. They do not change.
type settings struct {
	name    string
	memory  bool // messages stay where they are when they come
	noAck   bool
	sealed  bool
	counter bool
	atomic  bool
	batched bool
	ttl     bool
	// refuses is set when the stream may refuse a message that asks for nothing. fullMessages and fullBytes are the
	// limits at which it does so too, 0 or less for none.
	refuses                 bool
	fullMessages, fullBytes int64
	// maxMessageBytes bounds the sum of header and payload; negative for no limit.
	maxMessageBytes int
	transform       *subjects.Transform // nil for none
	republish       *subjects.Transform // nil for none
	headersOnly     bool                // of what is republished
	republished     *content.Filter     // what is, nil for all
	random          func(int) int
}

// newSettings compiles a configuration. It was checked when it came, so that a transform which cannot be compiled
// is logged, and left out.
func newSettings(cfg *config.Stream, logger *slog.Logger) *settings {
	s := &settings{
		name: cfg.Name, memory: cfg.Storage == config.MemoryStorage, noAck: cfg.NoAck, sealed: cfg.Sealed, counter: cfg.AllowCounter,
		maxMessageBytes: int(cfg.MaxMessageBytes), random: rand.IntN,
		atomic: cfg.AllowAtomic, batched: cfg.AllowBatched, ttl: cfg.AllowTTL,
		refuses: cfg.Sealed || cfg.AllowCounter || cfg.DiscardNewPerSubject,
	}
	if cfg.Discard == config.DiscardNew {
		s.fullMessages, s.fullBytes = cfg.MaxMessages, cfg.MaxBytes
	}
	compile := func(what, source, destination string) *subjects.Transform {
		t, err := subjects.NewTransform(source, destination)
		if err != nil {
			logger.Error(what+" of a stream does not work", "stream", cfg.Name, "error", err)
		}
		return t
	}
	if t := cfg.SubjectTransform; t != nil {
		s.transform = compile("subject transform", t.Source, t.Destination)
	}
	if t := cfg.Republish; t != nil {
		s.republish, s.headersOnly = compile("republish", t.Source, t.Destination), t.HeadersOnly
		filters, err := cfg.Filters()
		if err != nil {
			logger.Error("a content filter of a stream does not work", "stream", cfg.Name, "error", err)
		}
		s.republished = filters.Republish
	}
	return s
}

// stored returns the subject under which a message is stored.
func (s *settings) stored(subject string) string {
	if s.transform == nil {
		return subject
	}
	if to, ok := s.transform.ApplyWith(subject, s.random); ok {
		return to
	}
	return subject
}

// refusal returns why a message cannot be stored whatever is in the stream, if that is plain before the log has it,
// and nil otherwise. Only checks may be made here that come before all others for this message: those that the
// stream makes need the headers.
func (s *settings) refusal(r *record, m *marks) *api.Error {
	if m.any || s.counter || s.sealed {
		return nil
	}
	return s.oversize(r)
}

// oversize returns why a message is too large, nil if it is not.
func (s *settings) oversize(r *record) *api.Error {
	switch {
	case s.maxMessageBytes >= 0 && len(r.header)+len(r.payload) > s.maxMessageBytes:
		return api.NewError(config.MessageTooLarge)
	case len(r.header) > headerBytesMax:
		return api.NewError(config.HeaderTooLarge)
	}
	return nil
}

// delayRefusal returns why a message cannot be stored later, as a member of a batch perhaps, whatever is in the stream then; nil if it can.
func (s *settings) delayRefusal(r *record, batched bool) *api.Error {
	switch {
	case batched:
		return api.NewError(api.DelayInvalid, "a message of a batch is stored with the others")
	case s.sealed:
		return api.NewError(config.Sealed)
	case s.counter:
		return api.NewError(api.DelayInvalid, "a stream of counters takes nothing that is stored later")
	}
	return s.oversize(r)
}

// headerBytesMax is the largest header block that is stored.
const headerBytesMax = 65535
