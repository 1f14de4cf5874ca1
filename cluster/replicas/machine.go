package replicas

import (
	"context"
	"errors"
	"fmt"
	"io"

	"runnel/cluster/group"
	"runnel/jetlog/checkpoint"
	"runnel/jetlog/entries"
	"runnel/jetlog/store"
)

// machine is a stream of the store as its group sees it.
type machine struct {
	r     *replica
	t     *store.Stream
	local []*store.Proposal // reused; the group applies one entry at a time
}

// Apply implements group.Machine, like all below.
func (m *machine) Apply(index, term uint64, records []byte, local []group.Proposal) error {
	m.r.changes.Add(1)
	if local == nil {
		return m.t.ApplyEntry(index, term, records, nil)
	}
	m.local = m.local[:0]
	for _, p := range local {
		m.local = append(m.local, p.(proposal).Proposal)
	}
	err := m.t.ApplyEntry(index, term, records, m.local)
	clear(m.local)
	return err
}

func (m *machine) Configuration(index, term uint64, configuration []byte) {
	m.t.ApplyConfiguration(index, term, configuration)
	m.r.members(configuration)
}

func (m *machine) Applied() uint64      { return m.t.Applied() }
func (m *machine) Place() entries.Place { return m.t.Place() }

func (m *machine) Checkpoint() (*group.Checkpoint, error) {
	c, err := m.t.Checkpoint()
	if err != nil {
		return nil, err
	}
	return &group.Checkpoint{Place: c.Place, Metadata: c.Metadata, Release: c.Close}, nil
}

func (m *machine) Install(ctx context.Context, from string, place entries.Place, metadata []byte) error {
	err := m.t.Install(ctx, metadata, place, func(ctx context.Context, f checkpoint.File, offset int64) (io.ReadCloser, error) {
		return m.r.h.cfg.Transport.Fetch(ctx, from, fetchRequest(m.r.id, f.ID), offset)
	})
	if err != nil {
		if errors.Is(err, checkpoint.ErrDamaged) {
			m.r.doubt(from)
		}
		return err
	}
	m.r.members(place.Configuration)
	return nil
}

// proposal is one of the store on its way through a group.
type proposal struct{ *store.Proposal }

// Fail answers with the store's errors.
func (p proposal) Fail(err error) { p.Proposal.Fail(storeError(err)) }

// proposer hands the proposals of a stream to its group.
type proposer struct{ g *group.Group }

// Propose implements store.Proposer.
func (p proposer) Propose(ctx context.Context, q *store.Proposal) error {
	return storeError(p.g.Propose(ctx, proposal{q}))
}

// storeError gives an error of a group as one of the store.
func storeError(err error) error {
	switch {
	case errors.Is(err, group.ErrHandedOver):
		return fmt.Errorf("%w: %w", store.ErrHandedOver, err)
	case errors.Is(err, group.ErrNotLeader), errors.Is(err, group.ErrClosed):
		return fmt.Errorf("%w: %w", store.ErrNotLeader, err)
	case errors.Is(err, group.ErrLeadershipLost):
		return fmt.Errorf("%w: %w", store.ErrLeadershipLost, err)
	}
	return err
}
