package store

import (
	"runnel/jetlog"
	"runnel/jetlog/messages"
	"runnel/jetlog/wal"
)

// frozen is a stream as of a moment between two commands: what the flusher writes.
type frozen struct {
	*messages.Frozen
	snapshot []byte // of the logical state
	applied  uint64
	position wal.Position // of the last command that is in the state
	settled  bool         // no command was behind it in the log at that moment
}

// freeze returns the stream as of now, or as of a flush that did not succeed; nil if the manifest has all.
func (t *Stream) freeze() *frozen {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.body == nil {
		return nil
	}
	if t.frozen != nil {
		return t.frozen
	}
	if t.state.Applied() == t.flushed {
		return nil
	}
	state := t.state.State()
	t.frozen = &frozen{
		Frozen: t.body.Freeze(state.First, state.Last), snapshot: t.state.AppendSnapshot(nil),
		applied: t.state.Applied(), position: t.position, settled: t.appended.Load() == t.state.Applied(),
	}
	return t.frozen
}

// thaw lets the stream use the files that were written.
func (t *Stream) thaw(task *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.body == nil {
		return
	}
	t.body.Thaw(t.id, task.kept, task.file)
	t.frozen = nil
	t.flushed = task.frozen.applied
	t.released = max(t.released, task.frozen.before())
	t.store.log.Release(t.id, t.released)
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
