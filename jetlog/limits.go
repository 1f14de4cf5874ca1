package jetlog

import (
	"slices"

	"runnel/jetlog/config"
)

// planStore plans what goes so that a new message has room: by the limit of its subject, by its own
// rollup, then by the limits of the stream. It returns why there is no room, empty if there is.
//
// A stream that refuses what is too much asks before the rollup, so that a full one cannot be emptied by
// somebody who may only publish.
func (s *Stream) planStore(a *arrival, meta *Meta, before SubjectState, m Messages) (string, error) {
	cfg := &s.config
	reason := LimitSubject
	if a.rollSubject || a.rollAll {
		reason = Rollup
	}
	if limit := uint64(cfg.MaxPerSubject); cfg.MaxPerSubject > 0 && before.Count >= limit {
		if cfg.DiscardNewPerSubject && reason == LimitSubject {
			return "maximum messages per subject exceeded", nil
		}
		if err := s.planOldest(s.scratch.literal(meta.Subject), before.First, min(before.Count-limit+1, choreMax), reason, m); err != nil {
			return "", err
		}
	}
	if cfg.Discard == config.DiscardNew {
		if detail := overLimit(s.sizeWith(meta)); detail != "" {
			return detail, nil
		}
		return "", s.planRollup(a, m)
	}
	if err := s.planRollup(a, m); err != nil {
		return "", err
	}
	s.scratch.sort()
	_, messages, bytes := s.sizeWith(meta)
	return "", s.planOver(messages, bytes, meta, m)
}

// sizeWith returns what the stream will hold with a message, without what is planned to go.
func (s *Stream) sizeWith(meta *Meta) (cfg *config.Stream, messages, bytes uint64) {
	messages, bytes = s.state.Messages+1, s.state.Bytes+meta.Bytes
	for i := range s.scratch.removals {
		messages--
		bytes -= s.scratch.removals[i].Bytes
	}
	return &s.config, messages, bytes
}

// overLimit returns which limit is exceeded, empty for none.
func overLimit(cfg *config.Stream, messages, bytes uint64) string {
	switch {
	case cfg.MaxMessages > 0 && messages > uint64(cfg.MaxMessages):
		return "maximum messages exceeded"
	case cfg.MaxBytes > 0 && bytes > uint64(cfg.MaxBytes):
		return "maximum bytes exceeded"
	}
	return ""
}

// planOldest plans that n messages go, beginning with first, which the filter matches.
func (s *Stream) planOldest(filter Filter, first, n uint64, reason Reason, m Messages) error {
	for seq := first; n > 0; n-- {
		meta, err := live(m, seq)
		if err != nil {
			return err
		}
		if reason != LimitSubject || !s.stays(seq) {
			s.scratch.plan(meta, reason)
		}
		if n > 1 {
			if seq, err = m.NextOf(filter, seq+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// planOver plans that the oldest messages go until neither limit of the stream is exceeded. Appended
// is a message that is about to be stored, nil for none; it goes too when nothing else is left. What is more
// than one command may do is left over.
func (s *Stream) planOver(messages, bytes uint64, appended *Meta, m Messages) error {
	cfg := &s.config
	p := &s.scratch
	messages, bytes = s.counted(messages, bytes)
	before := len(p.removals) // these are in order, what is planned here comes behind them
	earlier := scratch{removals: p.removals[:before:before]}
	seq := s.state.First
	if s.state.Messages == 0 {
		seq = 0
	}
	for overLimit(cfg, messages, bytes) != "" && len(p.removals)-before < choreMax {
		reason := LimitBytes
		if cfg.MaxMessages > 0 && messages > uint64(cfg.MaxMessages) {
			reason = LimitMessages
		}
		if seq == 0 {
			if appended != nil {
				p.plan(*appended, reason)
			}
			return nil
		}
		if !earlier.planned(seq) && !s.stays(seq) {
			meta, err := live(m, seq)
			if err != nil {
				return err
			}
			p.plan(meta, reason)
			messages--
			bytes -= meta.Bytes
		}
		var err error
		if seq, err = m.Next(seq + 1); err != nil {
			return err
		}
	}
	return nil
}

// planRollup plans what a message with a rollup replaces, and that the schedule goes to which it puts an
// end.
func (s *Stream) planRollup(a *arrival, m Messages) error {
	filter, old := Filter(nil), SubjectState{First: s.oldest(), Count: s.state.Messages}
	if a.rollSubject {
		var err error
		if old, err = m.Subject(a.subject); err != nil {
			return err
		}
		filter = s.scratch.literal(a.subject)
	}
	switch {
	case !a.rollSubject && !a.rollAll:
	case old.Count > choreMax:
		s.scratch.later(chore{kind: choreAll, filter: slices.Clone(filter), next: old.First, upTo: s.state.Last, reason: Rollup})
	default:
		if err := s.planOldest(filter, old.First, old.Count, Rollup, m); err != nil {
			return err
		}
	}
	if a.cancels.Sequence != 0 {
		s.scratch.plan(a.cancels, Purged)
	}
	return nil
}

// oldest returns the first live sequence, 0 for none.
func (s *Stream) oldest() uint64 {
	if s.state.Messages == 0 {
		return 0
	}
	return s.state.First
}
