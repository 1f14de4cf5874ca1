package ingest

import (
	"strconv"
	"time"
)

// In a fast batch without gaps a message may only follow another that is certain to be stored; else it waits for the
// result of that. What is here tells as well as can be told before a message is in the log. Being wrong costs what
// any refusal costs that nobody could foresee: the batch ends, behind some messages that should not be there.

// The room that a stream with a limit must have beyond what is on its way to it.
const (
	spareMessages = 4096
	spareBytes    = 16 << 20
)

// conditional reports whether a message asks for something that the stream may refuse.
func (s *settings) conditional(m *marks) bool {
	return m.conditional ||
		len(m.stream) > 0 && string(m.stream) != s.name ||
		len(m.ttl) > 0 && !(s.ttl && certainTTL(string(m.ttl)))
}

// certainTTL reports whether a TTL is one that every stream with TTLs takes.
func certainTTL(value string) bool {
	if seconds, err := strconv.Atoi(value); err == nil {
		return seconds > 0
	}
	d, err := time.ParseDuration(value)
	return err == nil && d >= time.Second
}

// roomy reports whether the stream takes whatever asks for nothing, with all that is on its way and more.
func (s *Stream) roomy(cfg *settings) bool {
	if cfg.refuses {
		return false
	}
	if cfg.fullMessages <= 0 && cfg.fullBytes <= 0 {
		return true
	}
	state, coming := s.log.State(), s.unsettled.Load()
	if cfg.fullMessages > 0 && int64(state.Messages)+coming+spareMessages > cfg.fullMessages {
		return false
	}
	return cfg.fullBytes <= 0 || int64(state.Bytes)+coming*int64(s.drained.largest)+spareBytes <= cfg.fullBytes
}
