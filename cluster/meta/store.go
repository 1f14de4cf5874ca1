package meta

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"runnel/cluster/applying"
	"runnel/cluster/meta/ledger"
)

// logFile has raft's log, term and vote.
const logFile = "log"

// openLedger opens the file.
func openLedger(dir string) (Store, error) {
	s, err := ledger.Open(filepath.Join(dir, logFile))
	if errors.Is(err, ledger.ErrDamaged) {
		return nil, fmt.Errorf("the log of the meta group is not what was written, so this server may have forgotten how it voted: "+
			"remove its whole JetStream directory, so that it can join as a new one: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("open the log of the meta group: %w", err)
	}
	return s, nil
}

// keyTerm is where raft keeps its term.
const keyTerm = "CurrentTerm"

// guarded is a store of which nothing is used any more once it has failed: what is on disk is not known then, and raft
// would go on, or end the process.
type guarded struct {
	Store
	fail   func(error)
	failed atomic.Bool
}

// note looks at the error of a write.
func (g *guarded) note(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("write to the log of the meta group: %w", err)
	if g.failed.CompareAndSwap(false, true) {
		g.fail(err)
	}
	return err
}

// refuse is an error after one.
func (g *guarded) refuse() error {
	if g.failed.Load() {
		return errors.New("the log of the meta group has failed before")
	}
	return nil
}

// GetLog reads an entry. Raft panics if it cannot read what it is about to apply: its goroutine, with which its part in the group ends, ends
// here instead.
func (g *guarded) GetLog(index uint64, l *raft.Log) error {
	err := g.Store.GetLog(index, l)
	if err == nil || errors.Is(err, raft.ErrLogNotFound) {
		return err
	}
	err = fmt.Errorf("read entry %d of the log of the meta group: %w", index, err)
	if g.failed.CompareAndSwap(false, true) {
		g.fail(err)
	}
	applying.Stop()
	return err
}

// StoreLog appends an entry.
func (g *guarded) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

// StoreLogs appends entries.
func (g *guarded) StoreLogs(logs []*raft.Log) error {
	if err := g.refuse(); err != nil {
		return err
	}
	return g.note(g.Store.StoreLogs(logs))
}

// DeleteRange removes entries.
func (g *guarded) DeleteRange(first, last uint64) error {
	if err := g.refuse(); err != nil {
		return err
	}
	return g.note(g.Store.DeleteRange(first, last))
}

// Set keeps a value.
func (g *guarded) Set(key, value []byte) error {
	if err := g.refuse(); err != nil {
		return err
	}
	return g.note(g.Store.Set(key, value))
}

// SetUint64 keeps a number. raft panics if the term cannot be kept, so that is not told: from then on this server neither votes nor
// takes entries, since those writes are refused, and a term alone is no promise to anybody.
func (g *guarded) SetUint64(key []byte, value uint64) error {
	err := g.refuse()
	if err == nil {
		err = g.note(g.Store.SetUint64(key, value))
	}
	if string(key) == keyTerm {
		return nil
	}
	return err
}
