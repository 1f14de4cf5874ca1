package state

import (
	"bytes"
	"encoding/json"
	"slices"

	"runnel/jetlog/config"
)

// apply makes a stream.
func (c *CreateStream) apply(m *Machine) Result {
	v := m.next
	if old := v.Stream(c.Account, c.Config.Name); old != nil {
		if c.New || !SameConfig(&old.Config, &c.Config) {
			return refuse(StreamNameExists, "")
		}
		return Result{Stream: old, Existing: true}
	}
	if c.Config.Name == "" || c.Account == "" {
		return refuse(config.BadRequest, "")
	}
	if m.overlaps(c.Account, c.Config.Name, c.Config.Subjects) {
		return refuse(SubjectOverlap, "")
	}
	if code := v.within(c.Limits, c.Account, &c.Config, nil); code != 0 {
		return refuse(code, "")
	}
	if r := v.suitable(c.Peers, c.Config.Replicas); r.Code != 0 {
		return r
	}
	a := &Assignment{
		ID: v.nextID, Account: c.Account, Config: c.Config, Created: c.Created,
		Group: groupName(v.clusterID, v.nextID, &c.Config), Peers: c.Peers, Preferred: c.Peers[0], Version: 1,
		Birth: Birth{Peers: c.Peers},
	}
	if code := v.room(nil, a); code != 0 {
		return refuse(code, "")
	}
	v.nextID++
	m.put(nil, a)
	return Result{Stream: a}
}

// room tells whether a server would have to reserve more for a stream than it has, 0 if not. The old assignment is nil for a new stream.
func (v *View) room(old, next *Assignment) config.Code {
	for _, node := range next.Target() {
		member, l := v.Member(node), v.Load(node)
		if old != nil && slices.Contains(union(old.Peers, old.Target()), node) {
			if next.Config.MaxBytes <= old.Config.MaxBytes {
				continue // it has that already
			}
			sum(&l.Store, &l.Memory, &old.Config, -1)
		}
		sum(&l.Store, &l.Memory, &next.Config, 1)
		switch {
		case member == nil || next.Config.MaxBytes <= 0:
		case next.Config.Storage == config.MemoryStorage && l.Memory.exceeds(member.MaxMemoryBytes):
			return InsufficientMemory
		case next.Config.Storage != config.MemoryStorage && l.Store.exceeds(member.MaxStoreBytes):
			return InsufficientStorage
		}
	}
	return 0
}

// suitable refuses servers that are not members, or not as many as needed.
func (v *View) suitable(peers []string, replicas int) Result {
	if len(peers) == 0 || len(peers) != max(replicas, 1) || !distinct(peers) {
		return refuse(NoSuitablePeers, noPeers)
	}
	for _, node := range peers {
		if v.Member(node) == nil {
			return refuse(NoSuitablePeers, noPeers+": a server has left")
		}
	}
	return Result{}
}

// apply changes a stream's configuration, and begins to change its servers if that is asked for.
func (c *UpdateStream) apply(m *Machine) Result {
	v := m.next
	old := v.Stream(c.Account, c.Config.Name)
	if old == nil {
		return refuse(StreamNotFound, "")
	}
	if err := config.CheckUpdate(&old.Config, &c.Config); err != nil {
		return refused(err)
	}
	if m.overlaps(c.Account, c.Config.Name, c.Config.Subjects) {
		return refuse(SubjectOverlap, "")
	}
	if code := v.within(c.Limits, c.Account, &c.Config, old); code != 0 {
		return refuse(code, "")
	}
	next := old.clone()
	next.Config = c.Config
	next.Version++
	if next.Birth.Config == nil {
		next.Birth.Config = &old.Config
	}
	if Relocates(&old.Config, &c.Config) {
		if old.Desired != nil || c.Version != old.Version {
			return refuse(ReconfigurationRunning, "")
		}
		if r := v.suitable(c.Peers, c.Config.Replicas); r.Code != 0 {
			return r
		}
		v.aim(old, next, c.Peers, c.Time)
	}
	if code := v.room(old, next); code != 0 {
		return refuse(code, "")
	}
	m.put(old, next)
	return Result{Stream: next}
}

// aim lets a stream go to other servers. If it is on its way already, it takes another direction, and its origin remains.
func (v *View) aim(old, next *Assignment, peers []string, time int64) {
	group := old.Group
	if next.Config.Replicas != old.Config.Replicas {
		group = groupName(v.clusterID, old.ID, &next.Config)
	}
	if !slices.Contains(peers, next.Preferred) {
		next.Preferred = peers[0]
	}
	if old.Desired == nil && sameNodes(old.Peers, peers) {
		next.Group = group
		return
	}
	d := &Desired{Group: group, Peers: peers, Since: time, Origin: Origin{old.Config.Replicas, old.Config.Placement, old.Group, old.Peers}}
	if old.Desired != nil {
		d.Origin, d.Since, d.Cancelled, d.Group = old.Desired.Origin, old.Desired.Since, old.Desired.Cancelled, old.Desired.Group
	}
	next.Desired = d
	next.Peers = union(old.Peers, peers)
}

// apply removes a stream.
func (c *DeleteStream) apply(m *Machine) Result {
	a := m.next.Stream(c.Account, c.Name)
	if a == nil || c.ID != 0 && c.ID != a.ID {
		return refuse(StreamNotFound, "")
	}
	m.put(a, nil)
	return Result{Stream: a}
}

// apply lets a stream move.
func (c *MoveStream) apply(m *Machine) Result {
	v := m.next
	old := v.Stream(c.Account, c.Name)
	switch {
	case old == nil:
		return refuse(StreamNotFound, "")
	case c.From != "" && !old.On(c.From):
		return refuse(PeerNotMember, "")
	case old.Desired != nil && !c.Upkeep || old.Version != c.Version:
		return refuse(ReconfigurationRunning, "")
	case len(c.Peers) == 0 || !distinct(c.Peers):
		return refuse(PeerRemapFailed, "")
	case c.Drop && len(minus(old.Source(), []string{c.From})) == 0:
		return refuse(PeerRemapFailed, "") // the only whole replica is not dropped for an empty one
	}
	for _, node := range c.Peers {
		if v.Member(node) == nil || node == c.From {
			return refuse(PeerRemapFailed, "")
		}
	}
	next := old.clone()
	next.Version++
	v.aim(old, next, c.Peers, c.Time)
	if c.Drop {
		next.Peers = minus(next.Peers, []string{c.From})
		next.depart()
	}
	m.put(old, next)
	return Result{Stream: next}
}

// apply ends a change.
func (c *Settle) apply(m *Machine) Result {
	old := m.next.StreamByID(c.ID)
	switch {
	case old == nil:
		return refuse(StreamNotFound, "")
	case old.Desired == nil || old.Version != c.Version:
		return refuse(NoReconfiguration, "")
	}
	next := old.clone()
	next.Peers, next.Group, next.Desired = old.Desired.Peers, old.Desired.Group, nil
	next.depart()
	next.Version++
	m.put(old, next)
	return Result{Stream: next}
}

// apply turns a change around. Servers that have left the cluster meanwhile are not gone back to.
func (c *CancelChange) apply(m *Machine) Result {
	v := m.next
	old := v.Stream(c.Account, c.Name)
	switch {
	case old == nil:
		return refuse(StreamNotFound, "")
	case old.Desired == nil || old.Desired.Cancelled:
		return refuse(NoReconfiguration, "")
	}
	origin := old.Desired.Origin
	var back []string
	for _, node := range origin.Peers {
		if v.Member(node) != nil && old.On(node) {
			back = append(back, node)
		}
	}
	if len(back) == 0 {
		return refuse(NoReconfiguration, "")
	}
	next := old.clone()
	next.Version++
	next.Config.Replicas, next.Config.Placement = origin.Replicas, origin.Placement
	next.Desired.Cancelled, next.Desired.Peers, next.Desired.Group = true, back, origin.Group
	if !slices.Contains(back, next.Preferred) {
		next.Preferred = back[0]
	}
	m.put(old, next)
	return Result{Stream: next}
}

// within tells what forbids an account a stream, instead of an old one unless that is nil; 0 for nothing.
func (v *View) within(l *Limits, account string, cfg *config.Stream, old *Assignment) config.Code {
	if l == nil {
		return 0
	}
	r := v.Account(account)
	if old != nil {
		t := &r.Tiers[tierOf(&old.Config)]
		t.Streams--
		r.Streams--
		sum(&t.Store, &t.Memory, &old.Config, -1)
	}
	tier := tierOf(cfg)
	r.Tiers[tier].Streams++
	r.Streams++
	sum(&r.Tiers[tier].Store, &r.Tiers[tier].Memory, cfg, 1)
	streams := r.Streams
	store, memory := r.Bytes()
	if l.Tiered {
		streams, store, memory = r.Tiers[tier].Streams, r.Tiers[tier].Store, r.Tiers[tier].Memory
	}
	switch {
	case old == nil && l.MaxStreams >= 0 && streams > l.MaxStreams:
		return MaximumStreams
	case cfg.MaxBytes <= 0:
		return 0 // nothing is reserved
	case cfg.Storage == config.MemoryStorage && memory.exceeds(l.MaxMemoryBytes):
		return InsufficientMemory
	case cfg.Storage != config.MemoryStorage && store.exceeds(l.MaxStoreBytes):
		return InsufficientStorage
	}
	return 0
}

// Bytes is what an account has reserved on all servers together.
func (r *Reserved) Bytes() (store, memory Total) {
	for replicas, t := range r.Tiers {
		store, memory = store.add(t.Store.times(replicas)), memory.add(t.Memory.times(replicas))
	}
	return store, memory
}

// Relocates tells whether a change of configuration may change the servers of a stream.
func Relocates(old, next *config.Stream) bool {
	return old.Replicas != next.Replicas || !samePlacement(old.Placement, next.Placement)
}

// samePlacement tells whether two placements ask for the same.
func samePlacement(a, b *config.Placement) bool {
	var none config.Placement
	if a == nil {
		a = &none
	}
	if b == nil {
		b = &none
	}
	return a.Cluster == b.Cluster && slices.Equal(a.Tags, b.Tags)
}

// SameConfig tells whether two configurations, both normalised, ask for the same.
func SameConfig(a, b *config.Stream) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// sameNodes tells whether two lists without doubles have the same nodes.
func sameNodes(a, b []string) bool { return len(a) == len(b) && len(minus(a, b)) == 0 }

// refused is the result that says what an error says.
func refused(err error) Result {
	if e, ok := err.(*config.Error); ok {
		return refuse(e.Code, e.Detail)
	}
	return refuse(config.StreamInvalidConfig, err.Error())
}
