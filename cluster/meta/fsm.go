package meta

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

// fsm is what raft drives: the machine of package state. raft calls it from one goroutine.
//
// Invariant: once it has failed it changes no more, and gives no snapshots.
type fsm struct {
	machine *state.Machine
	known   int          // the feature level of this program
	changed func(Change) // called after each change
	fail    func(error)  // called once
	failed  atomic.Pointer[error]
}

// outcome is what raft hands back to who has proposed.
type outcome struct {
	result state.Result
	err    error
}

// Apply applies a committed command.
func (f *fsm) Apply(l *raft.Log) any {
	if err := f.failed.Load(); err != nil {
		return outcome{err: *err}
	}
	before := f.machine.View()
	r, err := f.machine.Apply(l.Index, l.Data)
	if err == nil {
		err = f.understood()
	}
	if err != nil {
		f.failed.Store(&err)
		f.fail(err)
		return outcome{err: err}
	}
	c := Change{View: f.machine.View()}
	c.Members = c.View.MembersDiffer(before)
	if r.Stream != nil && r.Code == 0 {
		c.Old, c.New = before.StreamByID(r.Stream.ID), c.View.StreamByID(r.Stream.ID)
	}
	f.changed(c)
	return outcome{result: r}
}

// understood fails when the cluster uses what this program does not know. It has been used with a newer one, then: the level only rises
// when all members know it. To stop at once tells so while the others are still new.
func (f *fsm) understood() error {
	if level := f.machine.View().Level(); level > f.known {
		return fmt.Errorf("the cluster is at feature level %d, this program knows %d, install the version that the other servers have: %w", level, f.known, state.ErrUnknown)
	}
	return nil
}

// StoreConfiguration lets raft count entries with configurations as applied; without it there would be no snapshots right
// after one.
func (f *fsm) StoreConfiguration(uint64, raft.Configuration) {}

// Snapshot takes what there is now; it is written later, beside what is applied meanwhile.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	if err := f.failed.Load(); err != nil {
		return nil, *err
	}
	return picture{f.machine.View()}, nil
}

// Restore replaces the state.
func (f *fsm) Restore(r io.ReadCloser) error {
	if err := f.failed.Load(); err != nil {
		return *err
	}
	err := f.machine.Restore(r)
	if err == nil {
		err = f.understood()
	}
	if err != nil {
		f.failed.Store(&err)
		f.fail(err)
		return err
	}
	f.changed(Change{View: f.machine.View(), All: true, Members: true})
	return nil
}

// picture is a view that is to be written down.
type picture struct{ view *state.View }

// Persist writes it.
func (p picture) Persist(s raft.SnapshotSink) error {
	if err := p.view.Write(s); err != nil {
		return fmt.Errorf("%w; cancelled: %v", err, s.Cancel())
	}
	return s.Close()
}

// Release does nothing: views need no care.
func (p picture) Release() {}
