package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

// errNotLeading says that a server was asked that does not lead. Nothing was done.
var errNotLeading = errors.New("this server does not lead the meta group")

// answered is what the leader answers to a proposal.
type answered struct {
	Result state.Result `json:"result"`
	// NotLeading says that nothing was done.
	NotLeading bool `json:"not_leading,omitempty"`
	// Uncertain says that it may have been done.
	Uncertain string `json:"uncertain,omitempty"`
}

// Propose has a command carried out, by whoever leads, and returns the verdict once it is applied there; here it is applied
// a little later, see [Meta.Await]. A refusal is no error but a Result with a code. It takes 5 s at most. The error is [ErrNoLeader] or
// [ErrClosed] if nothing was done, [ErrUncertain] if it may have been done.
func (m *Meta) Propose(ctx context.Context, c state.Command) (state.Result, error) {
	encoded, err := state.Encode(c)
	if err != nil {
		return state.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	for {
		leader, err := m.awaitLeader(ctx)
		if err != nil {
			return state.Result{}, err
		}
		var r state.Result
		if leader == m.self {
			r, err = m.proposeHere(ctx, encoded)
		} else {
			r, err = m.forward(ctx, leader, encoded)
		}
		if !errors.Is(err, errNotLeading) {
			return r, err
		}
		select { // the one who leads does not know yet, or does not lead any more
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return state.Result{}, ErrNoLeader
		}
	}
}

// awaitLeader returns who leads and can be reached. Without a leader it waits for one, but not if there has been none for a while.
func (m *Meta) awaitLeader(ctx context.Context) (string, error) {
	began := time.Now()
	for {
		node, since, changed := m.leader.get()
		if m.ctx.Err() != nil {
			return "", ErrClosed
		}
		left := leaderTimeout - time.Since(since)
		if node != "" {
			if node == m.self || slices.Contains(m.cfg.Connected(), node) {
				return node, nil
			}
			left = lostTimeout - time.Since(began) // the others have to notice first
		}
		if left <= 0 {
			return "", ErrNoLeader
		}
		select {
		case <-changed:
		case <-time.After(min(left, lookForLeaderEvery)):
		case <-ctx.Done():
			return "", ErrNoLeader
		case <-m.ctx.Done():
			return "", ErrClosed
		}
	}
}

// forward has another server propose.
func (m *Meta) forward(ctx context.Context, leader string, encoded []byte) (state.Result, error) {
	b, err := m.cfg.Calls.Call(ctx, leader, servicePropose, encoded)
	if err != nil {
		return state.Result{}, fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	var a answered
	if err := json.Unmarshal(b, &a); err != nil {
		return state.Result{}, fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	switch {
	case a.NotLeading:
		return state.Result{}, errNotLeading
	case a.Uncertain != "":
		return state.Result{}, fmt.Errorf("%w: %s", ErrUncertain, a.Uncertain)
	}
	return a.Result, nil
}

// serveProposal answers forward.
func (m *Meta) serveProposal(ctx context.Context, _ string, encoded []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	r, err := m.proposeHere(ctx, encoded)
	a := answered{Result: r}
	switch {
	case errors.Is(err, errNotLeading):
		a.NotLeading = true
	case errors.Is(err, ErrUncertain):
		a.Uncertain = err.Error()
	case err != nil:
		return nil, err
	}
	return json.Marshal(&a)
}

// proposeHere prepares a command and has it applied, if this server leads. What was prepared for a state that has changed meanwhile is
// prepared again.
func (m *Meta) proposeHere(ctx context.Context, encoded []byte) (state.Result, error) {
	g := m.current()
	if g == nil || !g.leading.Load() {
		return state.Result{}, errNotLeading
	}
	for tries := 3; ; tries-- {
		c, err := state.Decode(encoded)
		if err != nil {
			return state.Result{}, err
		}
		view := m.View()
		done, refused := m.prepare(g, view, c)
		if refused != nil {
			return *refused, nil
		}
		r, err := m.apply(ctx, g, c)
		done()
		if err != nil || tries <= 1 || !stale(view, c, &r) {
			return r, err
		}
	}
}

// stale tells whether a command was refused only because its stream has changed since it was prepared.
func stale(view *state.View, c state.Command, r *state.Result) bool {
	if r.Code != state.ReconfigurationRunning {
		return false
	}
	var a *state.Assignment
	switch c := c.(type) {
	case *state.UpdateStream:
		a = view.Stream(c.Account, c.Config.Name)
	case *state.MoveStream:
		a = view.Stream(c.Account, c.Name)
	}
	return a != nil && a.Desired == nil
}

// apply has raft carry out a command, and waits.
func (m *Meta) apply(ctx context.Context, g *group, c state.Command) (state.Result, error) {
	encoded, err := state.Encode(c)
	if err != nil {
		return state.Result{}, err
	}
	f := g.raft.Apply(encoded, proposeTimeout)
	err = await(ctx, f)
	switch {
	case err == nil:
		o := f.Response().(outcome)
		return o.result, o.err
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return state.Result{}, fmt.Errorf("%w: %w", errNotLeading, err)
	}
	return state.Result{}, fmt.Errorf("%w: %w", ErrUncertain, err)
}
