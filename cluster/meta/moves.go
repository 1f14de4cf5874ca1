package meta

import (
	"slices"
	"time"

	"runnel/cluster/meta/state"
)

// moves lists the streams that have to get other servers, since some of theirs have left, are being left, or are too few.
func (m *Meta) moves(view *state.View) []state.Command {
	var moves []state.Command
	var servers []state.Server
	for a := range view.All() {
		gone, bad := astray(view, a)
		if len(gone)+len(bad) == 0 && len(a.Target()) >= a.Config.Replicas {
			continue
		}
		if servers == nil {
			servers = m.servers(view)
		}
		if c := m.move(a, gone, bad, servers); c != nil {
			moves = append(moves, c)
			expect(servers, a, c.Peers)
		}
		if len(moves) == movesAtOnce {
			break
		}
	}
	return moves
}

// expect counts a stream as that of the servers that it is about to go to, so that the next one goes elsewhere.
func expect(servers []state.Server, a *state.Assignment, peers []string) {
	need := state.NeedOf(&a.Config)
	for i := range servers {
		if node := servers[i].Node; slices.Contains(peers, node) && !slices.Contains(a.Target(), node) {
			servers[i].Load.Count(&need, false, 1)
		}
	}
}

// astray returns the servers of a stream that have left the cluster, and those of its target that are being left.
func astray(view *state.View, a *state.Assignment) (gone, bad []string) {
	for _, node := range a.Peers {
		member := view.Member(node)
		switch {
		case member == nil:
			gone = append(gone, node)
		case member.Evacuating && slices.Contains(a.Target(), node):
			bad = append(bad, node)
		}
	}
	return gone, bad
}

// move returns the command that gives a stream other servers, nil if there is nothing better. A server that has left is dropped at
// once, if others have the stream; one that is being left keeps its replica until another one has it.
func (m *Meta) move(a *state.Assignment, gone, bad []string, servers []state.Server) *state.MoveStream {
	need := state.NeedOf(&a.Config)
	need.Keep, need.UniqueTag, need.Without = keep(a), m.cfg.UniqueTag, append(slices.Clone(gone), bad...)
	peers := state.PlaceSome(need, servers)
	c := &state.MoveStream{Account: a.Account, Name: a.Config.Name, Version: a.Version, Peers: peers, Time: time.Now().UnixNano(), Upkeep: true}
	if len(gone) > 0 {
		c.From, c.Drop = gone[0], true
		if !slices.ContainsFunc(a.Source(), func(n string) bool { return !slices.Contains(gone, n) }) {
			return nil // nobody else has the whole stream: it waits for being deleted
		}
	}
	same := len(gone) == 0 && len(peers) <= len(a.Target()) && !slices.ContainsFunc(peers, func(n string) bool { return !slices.Contains(a.Target(), n) })
	if len(peers) == 0 || same || len(peers) < len(a.Target())-len(gone) {
		return nil
	}
	return c
}
