package replication

import (
	"iter"

	"runnel/cluster/group"
	"runnel/cluster/meta"
	"runnel/cluster/meta/state"
)

// All yields the streams with a raft group that this server has a part in, and how the group is doing.
func (r *Replication) All() iter.Seq2[*state.Assignment, group.Status] {
	return func(yield func(*state.Assignment, group.Status) bool) {
		for a := range r.view().All() {
			if !a.On(r.node) || a.Solo() {
				continue
			}
			if s, ok := r.group(a.ID); ok && !yield(a, s) {
				return
			}
		}
	}
}

// MetaStatus returns how the meta group is doing.
func (r *Replication) MetaStatus() meta.Status { return r.status() }

// Named returns the name of a server, its id if it is no member.
func (r *Replication) Named(node string) string { return named(r.view(), node).Name }
