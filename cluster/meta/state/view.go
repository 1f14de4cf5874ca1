package state

import (
	"encoding/binary"
	"iter"

	"runnel/jetlog/config"
)

// View is the state after some command. It never changes, so it may be kept and read by any number of goroutines.
type View struct {
	clusterID string
	level     int
	index     uint64
	nextID    uint64
	members   tree[*Member]     // by node
	removed   tree[int64]       // nodes that were members, with when they were removed
	streams   tree[*Assignment] // by account and name, see streamKey
	ids       tree[*Assignment] // the same by id, see idKey
	mirrors   tree[*Assignment] // those that mirror a stream of this cluster, by account, that stream's name and their own

	// What follows is counted from what is above.
	accounts tree[*Reserved]
	loads    tree[*Load] // by node
}

// Load is what is assigned to a node.
type Load struct {
	// Streams counts those of which it keeps a replica, or shall keep one; Replicated those of them that others have too.
	Streams, Replicated int
	// Preferred counts those that it should lead.
	Preferred int
	// Store and Memory are the bytes that they reserve on it.
	Store, Memory Total
}

// Reserved is what an account has.
type Reserved struct {
	// Streams counts all.
	Streams int
	// Tiers has them by the number of replicas; the bytes are those of one replica.
	Tiers [6]Tier
}

// Tier is what an account has in streams of one number of replicas.
type Tier struct {
	Streams       int
	Store, Memory Total
}

// streamKey is where a stream is in the tree. Neither part contains a zero byte.
func streamKey(account, name string) string { return account + "\x00" + name }

// idKey is where a stream is in the tree of ids, in their order.
func idKey(id uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], id)
	return string(b[:])
}

// ClusterID identifies the cluster for ever; it is empty until the first command.
func (v *View) ClusterID() string { return v.clusterID }

// Level is the feature level that all members know and that commands may use.
func (v *View) Level() int { return v.level }

// Index is the place in the log of the last command.
func (v *View) Index() uint64 { return v.index }

// NextID is the id that the next stream gets: all that the cluster has ever had have smaller ones.
func (v *View) NextID() uint64 { return v.nextID }

// Stream returns the stream of a name, nil for none.
func (v *View) Stream(account, name string) *Assignment {
	a, _ := v.streams.get(streamKey(account, name))
	return a
}

// StreamByID returns the stream of an id, nil for none.
func (v *View) StreamByID(id uint64) *Assignment {
	a, _ := v.ids.get(idKey(id))
	return a
}

// Streams yields the streams of an account by name.
func (v *View) Streams(account string) iter.Seq[*Assignment] {
	return v.streams.below(streamKey(account, ""))
}

// Mirrors yields the streams that mirror one of the same account and cluster, by name.
func (v *View) Mirrors(account, origin string) iter.Seq[*Assignment] {
	return v.mirrors.below(streamKey(streamKey(account, origin), ""))
}

// All yields the streams of all accounts, by account and name.
func (v *View) All() iter.Seq[*Assignment] {
	return func(yield func(*Assignment) bool) {
		for _, a := range v.streams.from("") {
			if !yield(a) {
				return
			}
		}
	}
}

// Len is the number of streams.
func (v *View) Len() int { return v.streams.len() }

// Account returns what an account has.
func (v *View) Account(name string) Reserved {
	if r, ok := v.accounts.get(name); ok {
		return *r
	}
	return Reserved{}
}

// Member returns the member of a node id, nil for none.
func (v *View) Member(node string) *Member {
	m, _ := v.members.get(node)
	return m
}

// MemberByName returns the member of a name, nil for none.
func (v *View) MemberByName(name string) *Member {
	for _, m := range v.members.from("") {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Members yields the members by node id.
func (v *View) Members() iter.Seq[*Member] {
	return func(yield func(*Member) bool) {
		for _, m := range v.members.from("") {
			if !yield(m) {
				return
			}
		}
	}
}

// Size is the number of members.
func (v *View) Size() int { return v.members.len() }

// Removed tells whether a node was a member and was removed. It never comes back.
func (v *View) Removed(node string) bool {
	_, ok := v.removed.get(node)
	return ok
}

// Load returns what is assigned to a node.
func (v *View) Load(node string) Load {
	if l, ok := v.loads.get(node); ok {
		return *l
	}
	return Load{}
}

// put returns a view with an assignment instead of another; either may be nil.
func (v *View) put(old, next *Assignment) *View {
	c := *v
	if old != nil {
		c.streams, c.ids = c.streams.without(streamKey(old.Account, old.Config.Name)), c.ids.without(idKey(old.ID))
		if key := mirrorKey(old); key != "" {
			c.mirrors = c.mirrors.without(key)
		}
		c.count(old, -1)
	}
	if next != nil {
		c.streams, c.ids = c.streams.set(streamKey(next.Account, next.Config.Name), next), c.ids.set(idKey(next.ID), next)
		if key := mirrorKey(next); key != "" {
			c.mirrors = c.mirrors.set(key, next)
		}
		c.count(next, 1)
	}
	return &c
}

// mirrorKey is where a stream is in the tree of mirrors, empty for one that mirrors none of this cluster.
func mirrorKey(a *Assignment) string {
	if m := a.Config.Mirror; m != nil && m.External == nil {
		return streamKey(streamKey(a.Account, m.Name), a.Config.Name)
	}
	return ""
}

// count adds an assignment to what is counted, or takes it off. A node that is being left counts until it is left.
func (v *View) count(a *Assignment, sign int) {
	nodes := union(a.Peers, a.Target())
	for _, node := range nodes {
		l := v.Load(node)
		l.Streams += sign
		if len(nodes) > 1 {
			l.Replicated += sign
		}
		if node == a.Preferred {
			l.Preferred += sign
		}
		sum(&l.Store, &l.Memory, &a.Config, sign)
		if l.Streams == 0 {
			v.loads = v.loads.without(node)
		} else {
			v.loads = v.loads.set(node, &l)
		}
	}
	r := v.Account(a.Account)
	r.Streams += sign
	t := &r.Tiers[tierOf(&a.Config)]
	t.Streams += sign
	sum(&t.Store, &t.Memory, &a.Config, sign)
	if r.Streams == 0 {
		v.accounts = v.accounts.without(a.Account)
	} else {
		v.accounts = v.accounts.set(a.Account, &r)
	}
}

// tierOf is the number of replicas, within what there can be.
func tierOf(cfg *config.Stream) int { return min(max(cfg.Replicas, 1), 5) }

// sum adds what a stream reserves to the total of its storage, or takes it off.
func sum(store, memory *Total, cfg *config.Stream, sign int) {
	of := store
	if cfg.Storage == config.MemoryStorage {
		of = memory
	}
	*of = of.plus(max(cfg.MaxBytes, 0), sign)
}

// MembersDiffer tells whether members have come, gone or changed since an older view.
func (v *View) MembersDiffer(old *View) bool { return v.members != old.members }

// Count counts a stream that is being placed, or takes it off; first says that it should lead it.
func (l *Load) Count(r *Request, first bool, sign int) {
	l.Streams += sign
	if r.Replicas > 1 {
		l.Replicated += sign
	}
	if first {
		l.Preferred += sign
	}
	sum(&l.Store, &l.Memory, &config.Stream{Storage: r.Storage, MaxBytes: r.MaxBytes}, sign)
}

// Add adds another load.
func (l *Load) Add(o Load) {
	l.Streams, l.Replicated, l.Preferred = l.Streams+o.Streams, l.Replicated+o.Replicated, l.Preferred+o.Preferred
	l.Store, l.Memory = l.Store.add(o.Store), l.Memory.add(o.Memory)
}
