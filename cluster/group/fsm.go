package group

import (
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// fsm is what raft applies to. Raft calls it from one goroutine.
type fsm struct {
	g    *Group
	term uint64         // of the last entry
	none [maxAppend]any // answers, which nobody reads
}

// ApplyBatch applies what is committed. Configurations come too; raft's own entries do not.
func (f *fsm) ApplyBatch(logs []*raft.Log) []any {
	for _, l := range logs {
		if f.g.failed() != nil {
			break
		}
		if err := f.apply(l); err != nil {
			f.g.fail(fmt.Errorf("apply entry %d: %w", l.Index, err))
			break
		}
		f.g.applied.Store(l.Index)
		if l.Term != f.term {
			f.term = l.Term
			f.g.outlived(l.Term)
		}
	}
	return f.none[:len(logs)]
}

// Apply is never called, as ApplyBatch is there.
func (f *fsm) Apply(l *raft.Log) any { return f.ApplyBatch([]*raft.Log{l})[0] }

// apply applies one entry, once it is safe here: a leader's may be committed by others before.
func (f *fsm) apply(l *raft.Log) error {
	g := f.g
	if g.cfg.Log.Durable() < l.Index {
		if err := g.cfg.Log.WaitDurable(g.ctx, l.Index); err != nil {
			if g.ctx.Err() != nil {
				return g.ctx.Err() // closed; it is applied again the next time
			}
			return fmt.Errorf("wait until it is safe: %w", err)
		}
	}
	if l.Type == raft.LogConfiguration {
		return g.configured(l)
	}
	e, records, err := decodeEnvelope(l.Data)
	if err != nil {
		return err
	}
	if e.group != g.cfg.ID {
		return fmt.Errorf("it is of group %d, not of %d", e.group, g.cfg.ID)
	}
	switch e.kind {
	case kindBarrier:
		if e.instance == g.instance {
			g.caughtUp(l.Term)
		}
		return nil
	case kindCompare:
		if g.cfg.Compare != nil {
			g.cfg.Compare(l.Index)
		}
		return nil
	}
	var local []Proposal
	if e.instance == g.instance {
		local = g.arrived(e.number)
	}
	if err := g.cfg.Machine.Apply(l.Index, l.Term, records, local); err != nil {
		for _, p := range local {
			p.Fail(ErrLeadershipLost)
		}
		return err
	}
	g.pump(true)
	return nil
}

// configured notes new members.
func (g *Group) configured(l *raft.Log) error {
	if l.Index > g.cfg.Machine.Applied() {
		g.cfg.Machine.Configuration(l.Index, l.Term, encodeConfiguration(l.Index, raft.DecodeConfiguration(l.Data)))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.info.configuration = max(g.info.configuration, l.Index)
	return nil
}

// Snapshot is never asked for: the machine flushes by itself.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) { return nil, raft.ErrNothingNewToSnapshot }

// Restore installs the checkpoint that raft has received into the sink of places.
func (f *fsm) Restore(rc io.ReadCloser) error {
	metadata, err := io.ReadAll(rc)
	if err != nil {
		return fmt.Errorf("read a checkpoint: %w", err)
	}
	return f.g.install(metadata)
}
