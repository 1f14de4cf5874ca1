package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

// RescueWord is what has to be said to Rescue.
const RescueWord = "the lost servers never come back"

// position is how long a server's log is.
type position struct {
	Node  string `json:"node"`
	Term  uint64 `json:"term"`
	Index uint64 `json:"index"`
}

// before tells whether a position is before another one; of equal ones the node decides.
func (p position) before(o position) bool {
	if p.Term != o.Term {
		return p.Term < o.Term
	}
	if p.Index != o.Index {
		return p.Index < o.Index
	}
	return p.Node > o.Node
}

// Rescue makes a group lead again that has lost most of its voters for good: the server that can be reached and has the longest log
// decides alone from then on, the others that can be reached follow, and get their votes back soon. Changes that only the lost servers had are
// lost. The lost servers must not be started again with what is on their disks. word has to be [RescueWord].
func (m *Meta) Rescue(ctx context.Context, word string) error {
	if word != RescueWord {
		return fmt.Errorf("the meta group is rescued only for who says %q", RescueWord)
	}
	g := m.current()
	if g == nil {
		return errors.New("this server belongs to no cluster")
	}
	if leader, _, _ := m.leader.get(); leader != "" {
		return fmt.Errorf("the meta group has a leader, the server %s", leader)
	}
	best := m.positionHere(g)
	var left []string
	connected, voters, reachable := m.cfg.Connected(), 0, 0
	for _, s := range g.raft.GetConfiguration().Configuration().Servers {
		node := string(s.ID)
		p, ok := best, node == m.self
		if !ok && slices.Contains(connected, node) {
			p, ok = m.positionOf(ctx, node)
		}
		if s.Suffrage == raft.Voter {
			voters++
		}
		if !ok {
			continue
		}
		left = append(left, node)
		if s.Suffrage == raft.Voter {
			reachable++
		}
		if best.before(p) {
			best = p
		}
	}
	if reachable > voters/2 {
		return fmt.Errorf("%d of %d servers that vote can be reached, which is enough: wait for them to choose a leader", reachable, voters)
	}
	if best.Node == m.self {
		return m.rescueHere(left)
	}
	b, err := json.Marshal(&rescueRequest{Word: word, Left: left})
	if err != nil {
		return fmt.Errorf("encode a rescue: %w", err)
	}
	if _, err := m.cfg.Calls.Call(ctx, best.Node, serviceRescue, b); err != nil {
		return fmt.Errorf("have %s rescue the meta group: %w", best.Node, err)
	}
	return nil
}

// rescueRequest is what the server is asked that has the longest log.
type rescueRequest struct {
	Word string   `json:"word"`
	Left []string `json:"left"`
}

// positionHere returns how long the log is.
func (m *Meta) positionHere(g *group) position {
	stats := g.raft.Stats()
	p := position{Node: m.self}
	p.Term, _ = strconv.ParseUint(stats["last_log_term"], 10, 64)
	p.Index, _ = strconv.ParseUint(stats["last_log_index"], 10, 64)
	term, _ := strconv.ParseUint(stats["last_snapshot_term"], 10, 64)
	index, _ := strconv.ParseUint(stats["last_snapshot_index"], 10, 64)
	if index > p.Index {
		p.Term, p.Index = term, index
	}
	return p
}

// positionOf asks another server how long its log is.
func (m *Meta) positionOf(ctx context.Context, node string) (position, bool) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	b, err := m.cfg.Calls.Call(ctx, node, servicePosition, nil)
	var p position
	if err != nil || json.Unmarshal(b, &p) != nil || p.Node != node {
		return p, false
	}
	return p, true
}

// servePosition answers positionOf.
func (m *Meta) servePosition(context.Context, string, []byte) ([]byte, error) {
	g := m.current()
	if g == nil {
		return nil, errors.New("this server belongs to no cluster")
	}
	p := m.positionHere(g)
	return json.Marshal(&p)
}

// serveRescue rescues because another server has found this one's log to be the longest.
func (m *Meta) serveRescue(_ context.Context, _ string, b []byte) ([]byte, error) {
	var q rescueRequest
	if err := json.Unmarshal(b, &q); err != nil || q.Word != RescueWord {
		return nil, errors.New("that is no request to rescue the meta group")
	}
	if leader, _, _ := m.leader.get(); leader != "" {
		return nil, fmt.Errorf("the meta group has a leader, the server %s", leader)
	}
	return nil, m.rescueHere(q.Left)
}

// rescueHere begins anew with what this server has, as the only one that votes. A crash in between leaves the group as it was, or
// rescued.
func (m *Meta) rescueHere(left []string) error {
	m.logger.Warn("the meta group is rescued: this server decides alone until others have caught up", "left", left)
	if err := m.stop(); err != nil {
		return err
	}
	c := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(m.self), Address: raft.ServerAddress(m.self)}}}
	for _, node := range left {
		if node != m.self {
			c.Servers = append(c.Servers, raft.Server{Suffrage: raft.Nonvoter, ID: raft.ServerID(node), Address: raft.ServerAddress(node)})
		}
	}
	scratch := &fsm{machine: state.NewMachine(), known: m.cfg.Self.Level, changed: func(Change) {}, fail: m.halt}
	transport := m.cfg.Raft()
	err := raft.RecoverCluster(m.config(nil), scratch, m.store, m.store, m.snapshots(), transport, c)
	if closer, ok := transport.(raft.WithClose); ok {
		err = errors.Join(err, closer.Close())
	}
	if err != nil {
		err = fmt.Errorf("rescue the meta group: %w", err)
		m.halt(err)
		return err
	}
	if err := m.start(); err != nil {
		err = fmt.Errorf("rescue the meta group: %w", err)
		m.halt(err)
		return err
	}
	return nil
}
