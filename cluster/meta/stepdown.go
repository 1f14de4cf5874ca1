package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
	"runnel/jetlog/config"
)

// StepDown lets another server lead: one that suits the placement, nil for any. The error is a *config.Error with code 10005 if there is
// none. It returns when the other one leads.
func (m *Meta) StepDown(ctx context.Context, p *config.Placement) error {
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	leader, err := m.awaitLeader(ctx)
	if err != nil {
		return err
	}
	if leader == m.self {
		return m.stepDownHere(ctx, p)
	}
	q, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode a placement: %w", err)
	}
	b, err := m.cfg.Calls.Call(ctx, leader, serviceStepDown, q)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	var r state.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	return r.Err()
}

// serveStepDown lets another server lead because a third one wants it.
func (m *Meta) serveStepDown(ctx context.Context, _ string, b []byte) ([]byte, error) {
	var p *config.Placement
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("read a placement: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	err := m.stepDownHere(ctx, p)
	var e *config.Error
	if errors.As(err, &e) {
		return json.Marshal(&state.Result{Code: e.Code, Detail: e.Detail})
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(&state.Result{})
}

// stepDownHere lets another server lead, if this one does.
func (m *Meta) stepDownHere(ctx context.Context, p *config.Placement) error {
	g := m.current()
	if g == nil || !g.leading.Load() {
		return ErrNoLeader
	}
	voters := make(map[string]bool)
	for _, server := range g.raft.GetConfiguration().Configuration().Servers {
		voters[string(server.ID)] = server.Suffrage == raft.Voter
	}
	others := slices.DeleteFunc(m.Servers(), func(s state.Server) bool { return !voters[s.Node] || s.Node == m.self })
	to, err := state.Choose(p, others)
	if err != nil {
		return err
	}
	if err := await(ctx, g.raft.LeadershipTransferToServer(raft.ServerID(to), raft.ServerAddress(to))); err != nil {
		return fmt.Errorf("hand the meta group over to %s: %w", to, err)
	}
	return nil
}
