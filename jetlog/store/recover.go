package store

import (
	"errors"
	"fmt"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/gone"
	"runnel/jetlog/manifest"
	"runnel/jetlog/wal"
)

// restore makes a stream as of its last flush. One that is damaged is there, but does not start.
func (s *Store) restore(e *manifest.Stream) error {
	state, err := jetlog.Restore(e.Snapshot)
	if err != nil {
		return fmt.Errorf("stream %d of account %q: %w", e.ID, e.Account, err)
	}
	t := s.newStream(e.Account, state)
	s.enter(t)
	if t.body == nil {
		return nil
	}
	b := t.body
	b.purged, b.forgot, b.gone = e.Purged, e.Forgot, gone.Of(e.Floor, e.Pages)
	var parts []*part
	for i := range e.Parts {
		f := s.files[e.Parts[i].File]
		if f.failure != nil {
			_ = t.halt(damageOf(t.id, t.name, f.failure))
			t.state, t.messages, t.body = nil, nil, nil
			return nil
		}
		parts = append(parts, newPart(f, t.id, &e.Parts[i]))
	}
	b.setParts(parts)
	b.asker = direct // while the store is opened
	return nil
}

// replay applies what the log has behind the states of the manifest.
func (s *Store) replay(recovered *wal.Recovered, report *Report) error {
	unknown := map[uint64]bool{}
	damage := damages(recovered.Damage)
	for e, err := range recovered.All() {
		if err != nil {
			return fmt.Errorf("replay the log: %w", err)
		}
		t := s.StreamByID(e.Group)
		if t == nil || !t.file {
			unknown[e.Group] = true
			continue
		}
		applied, err := t.replay(&e, damage)
		if err != nil {
			return err
		}
		if applied {
			report.Replayed++
		}
	}
	for _, t := range s.Streams() {
		t.judge(damage)
		if t.body != nil {
			t.body.asker = nil
			t.assign() // the log may have another configuration
		}
	}
	for group := range unknown {
		s.log.Release(group, wal.End)
	}
	return nil
}

// replay applies a command of the log, unless the state has it already. A command that is missing before
// it stops the stream.
func (t *Stream) replay(e *wal.Entry, damage damages) (applied bool, err error) {
	if t.Err() != nil {
		r := e.Record
		r.Payload = append([]byte(nil), r.Payload...)
		t.keep(r, e.Position)
		return false, nil
	}
	have := t.state.Applied()
	switch {
	case e.Index <= have:
		t.position = e.Position
		return false, nil
	case e.Index > have+1:
		d := damage.before(t.position, e.Position)
		_ = t.halt(logDamage(t.id, t.name, d, have+1, e.Index-1))
		return t.replay(e, damage) // keeps it
	}
	c, err := command.Decode(append([]byte(nil), e.Payload...))
	if errors.Is(err, command.ErrNewer) {
		return false, fmt.Errorf("stream %q, command %d: %w", t.name, e.Index, err)
	}
	if err == nil && !t.store.allowed[c.Kind()] {
		return false, fmt.Errorf("stream %q, command %d of kind %d: the feature level is set to %d: %w", t.name, e.Index, c.Kind(), t.store.cfg.Level, ErrNewer)
	}
	if err == nil {
		_, err = t.state.Apply(c, t.messages)
	}
	if err != nil {
		_ = t.halt(damageOf(t.id, t.name, err))
		return t.replay(e, damage) // keeps it
	}
	t.position = e.Position
	t.appended.Store(e.Index)
	return true, nil
}

// damages are what the log has lost.
type damages []wal.Damage

// before returns the damage between two positions that may explain what is missing.
func (d damages) before(from, to wal.Position) wal.Damage {
	for _, x := range d {
		if !x.Harmless && (x.Last < x.First || x.Last >= from && x.First <= to) {
			return x
		}
	}
	return wal.Damage{Reason: "commands are missing"}
}

// judge stops a stream whose last commands may be among what the log has lost: nothing behind the damage
// shows that none is missing.
func (t *Stream) judge(damage damages) {
	if !t.file || t.Err() != nil {
		return
	}
	for _, d := range damage {
		known := d.Known && t.store.StreamByID(d.Group) != nil
		switch {
		case d.Harmless, known && (d.Group != t.id || d.Index <= t.state.Applied()):
		case !known && d.Last >= d.First && t.position > d.Last:
		default:
			_ = t.halt(logDamage(t.id, t.name, d, t.state.Applied()+1, 0))
			return
		}
	}
}
