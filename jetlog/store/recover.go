package store

import (
	"errors"
	"fmt"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/entries"
	"runnel/jetlog/findings"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/progress"
	"runnel/jetlog/wal"
)

// restore makes a stream as of its last flush. One that is damaged is there, but does not start.
func (s *Store) restore(e *manifest.Stream) error {
	state, err := jetlog.Restore(e.Snapshot)
	if err != nil {
		return fmt.Errorf("stream %d of account %q: %w", e.ID, e.Account, err)
	}
	t := s.newStream(e.Account, state, e.Replica)
	s.enter(t)
	if t.body == nil {
		return nil
	}
	if t.body, err = s.bodyOf(e, state, nil); err != nil {
		_ = t.halt(findings.Of(t.id, t.name, err))
		t.state, t.messages, t.body = nil, nil, nil
		return nil
	}
	t.messages = t.body
	t.body.Asker = layer.Direct // while the store is opened
	return nil
}

// replay applies what the log has behind the states of the manifest.
func (s *Store) replay(recovered *wal.Recovered, report *Report) error {
	unknown := map[uint64]bool{}
	damage := damages(recovered.Damage)
	told, first := progress.New(s.cfg.Logger, s.cfg.Clock), wal.Position(0)
	for e, err := range recovered.All() {
		if err != nil {
			return fmt.Errorf("replay the log: %w", err)
		}
		if first == 0 {
			first = e.Position
		}
		told.Step("records of the log", uint64(e.Position-first)+1, uint64(recovered.Last-first)+1)
		t := s.StreamByID(e.Group)
		if t == nil || !t.file.Load() {
			unknown[e.Group] = true
			continue
		}
		if r := t.replica.Load(); r != nil {
			_ = r.log.Recover(&e) // judge tells
			continue
		}
		if entries.Owns(e.Kind) {
			continue // of a time when it had a group
		}
		applied, err := t.replay(&e, damage)
		if err != nil {
			return err
		}
		report.Replayed += applied
	}
	for group := range unknown {
		s.log.Release(group, wal.End)
	}
	return s.judge(damage, first, recovered.Last)
}

// judge decides which streams the log has lost something of; first and last are the positions of the first and the last
// record that it has. When nobody has to look at the damage any more the log need not keep it where it is.
func (s *Store) judge(damage damages, first, last wal.Position) error {
	settled := true
	for _, t := range s.Streams() {
		if r := t.replica.Load(); r != nil {
			t.judgeReplica(r, damage, first, last)
			if r.log.Err() == nil {
				continue
			}
			if err := s.giveUp(t, r); errors.Is(err, ErrFull) {
				settled = false
			} else if err != nil {
				return err
			}
			continue
		}
		t.judge(damage)
		t.judgeEnd()
		settled = settled && t.Err() == nil
		if t.body != nil {
			t.body.Asker = nil
			t.assign() // the log may have another configuration
			if t.position == 0 && t.Err() == nil {
				s.log.Release(t.id, wal.End) // what there is, is of a group that it has left
			}
		}
	}
	if settled {
		s.log.AcceptDamage()
	}
	return nil
}

// replay applies a record of the log, but for what the state has of it already, and returns how many commands it has
// applied. A command that is missing before it stops the stream.
func (t *Stream) replay(r *wal.Entry, damage damages) (applied int, err error) {
	if t.Err() != nil {
		t.keepCopy(r)
		return 0, nil
	}
	have := t.state.Applied()
	if r.Index <= have {
		t.position = r.Position
		return 0, nil
	}
	e, err := decode(&r.Record)
	if errors.Is(err, command.ErrNewer) {
		return 0, fmt.Errorf("stream %q, command %d: %w", t.name, r.Index, err)
	}
	if err != nil {
		_ = t.halt(findings.Of(t.id, t.name, err))
		t.keepCopy(r)
		return 0, nil
	}
	n := uint64(e.count())
	if r.Index-have > n {
		d := damage.before(t.position, r.Position)
		_ = t.halt(findings.OfLog(t.id, t.name, d, have+1, r.Index-n))
		t.keepCopy(r)
		return 0, nil
	}
	if !t.store.allowed[e.kind()] {
		return 0, fmt.Errorf("stream %q, command %d of kind %d: the feature level is set to %d: %w", t.name, r.Index, e.kind(), t.store.cfg.Level, ErrNewer)
	}
	for i := n - (r.Index - have); i < n; i++ {
		if _, err := t.state.Apply(e.at(int(i)), t.messages); err != nil {
			_ = t.halt(findings.Of(t.id, t.name, err))
			t.keepCopy(r)
			return applied, nil
		}
		t.position = r.Position
		applied++
	}
	t.appended.Store(r.Index)
	return applied, nil
}

// keepCopy keeps a record that a halted stream cannot apply.
func (t *Stream) keepCopy(e *wal.Entry) {
	r := e.Record
	r.Payload = append([]byte(nil), r.Payload...)
	t.keep(r, e.Position)
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
	if !t.file.Load() || t.Err() != nil {
		return
	}
	for _, d := range damage {
		known := d.Known && t.store.StreamByID(d.Group) != nil
		switch {
		case d.Harmless, known && (d.Group != t.id || d.Index <= t.state.Applied()):
		case !known && d.Last >= d.First && t.position > d.Last:
		default:
			_ = t.halt(findings.OfLog(t.id, t.name, d, t.state.Applied()+1, 0))
			return
		}
	}
}
