package store

import (
	"runnel/jetlog"
	"runnel/jetlog/entries"
	"runnel/jetlog/messages"
	"runnel/jetlog/wal"
)

// frozen is a stream as of a moment between two commands: what the flusher writes.
type frozen struct {
	*messages.Frozen
	snapshot []byte // of the logical state
	applied  uint64
	position wal.Position  // of the last command that is in the state
	settled  bool          // no command was behind it in the log at that moment
	place    entries.Place // of a replica
}

// freeze returns the stream as of now, or as of a flush that did not succeed; nil if the manifest has all.
func (t *Stream) freeze() *frozen {
	r := t.replica.Load()
	if r != nil {
		r.applying.Lock()
		defer r.applying.Unlock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.body == nil || r != nil && t.Err() != nil {
		return nil // a replica that has halted may be in the middle of an entry
	}
	if t.frozen != nil {
		return t.frozen
	}
	if t.state.Applied() == t.flushed && (r == nil || r.place.Index == r.flushed.Index) {
		return nil
	}
	state := t.state.State()
	t.frozen = &frozen{
		Frozen: t.body.Freeze(state.First, state.Last), snapshot: t.state.AppendSnapshot(nil),
		applied: t.state.Applied(), position: t.position, settled: t.appended.Load() == t.state.Applied(),
	}
	if r != nil {
		t.frozen.place = r.place
	}
	return t.frozen
}

// thaw lets the stream use the files that were written, and the log forget.
func (t *Stream) thaw(task *task) {
	if r := t.thawed(task); r != nil {
		r.log.Flushed(task.frozen.place)
	}
}

// thawed is thaw for the stream alone; it returns the replica whose log has to hear of it.
func (t *Stream) thawed(task *task) *replica {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.body == nil {
		return nil
	}
	t.body.Thaw(t.id, task.kept, task.file)
	t.frozen = nil
	t.flushed = task.frozen.applied
	if r := t.replica.Load(); r != nil {
		r.flushed = task.frozen.place
		return r
	}
	t.released = max(t.released, task.frozen.before())
	t.store.log.Release(t.id, t.released)
	return nil
}

// before is the position up to which the log may forget, exclusively. The batch of the last command may
// have the next one as well.
func (f *frozen) before() wal.Position {
	if f.settled {
		return f.position + 1
	}
	return f.position
}

// uncounted reads what a freeze will need, while nothing is locked. What cannot be read stays as it is.
func (t *Stream) uncounted() {
	_ = t.View(func(_ *jetlog.Stream, m jetlog.Messages) error {
		if b, ok := m.(*messages.Body); ok {
			return b.Uncounted()
		}
		return nil
	})
}
