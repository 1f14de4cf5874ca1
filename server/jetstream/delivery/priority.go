package delivery

import (
	"crypto/rand"
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// pin is the client that a priority group belongs to. The applied state has it too; this is ahead of it.
type pin struct {
	id    string // empty for nobody
	since int64
	used  int64 // when a request last carried the id
}

// pinHeader tells a client that the group belongs to it.
const pinHeader = "Nats-Pin-Id"

// newTicket returns a random name.
func newTicket() string { return rand.Text()[:22] }

// ranked reports whether requests are served by their priority.
func (s *settings) ranked() bool { return s.priority == config.PriorityPrioritized }

// pins reports whether one client at a time is served.
func (s *settings) pins() bool { return s.priority == config.PriorityPinned }

// misfit returns why a request does not fit the priority groups of the consumer, empty if it does.
func (s *settings) misfit(q *api.PullRequest) string {
	switch {
	case q.Priority < 0 || q.Priority > api.MaxPriority:
		return api.PriorityRange
	case (q.MinPending != 0 || q.MinAckPending != 0) && s.priority != config.PriorityOverflow:
		return api.NotOverflow
	case q.ID != "" && !s.pins():
		return api.NotPinned
	case s.priority == config.PriorityNone:
		return ""
	case q.Group == "":
		return api.GroupMissing
	case !slices.Contains(s.groups, q.Group):
		return api.GroupUnknown
	}
	return ""
}

// eligible reports whether a request may be served, as far as priority groups go.
func (t *turn) eligible(r *pull) bool {
	if r.left == 0 || r.ends != api.StatusNone {
		return false
	}
	switch t.set.priority {
	case config.PriorityOverflow:
		return t.overflows(r)
	case config.PriorityPinned:
		p := t.c.pin
		return p == nil || p.id == "" || r.id == p.id
	}
	return true
}

// overflows reports whether there is as much as a request asks for before it is served.
func (t *turn) overflows(r *pull) bool {
	if r.minPending == 0 && r.minAckPending == 0 || !t.applied.exists {
		return true
	}
	waiting := t.pending()
	answers := uint64(t.applied.ackPending) + t.ahead()
	return r.minPending > 0 && waiting >= uint64(r.minPending) || r.minAckPending > 0 && answers >= uint64(r.minAckPending)
}

// mayPin reports whether a request carries the right id, or none.
func (t *turn) mayPin(q *api.PullRequest) bool {
	if q.ID == "" {
		return true
	}
	p := t.c.pin
	if p == nil || p.id != q.ID {
		return false
	}
	p.used = t.ns
	return true
}

// seePin takes over which client is pinned, when the applied state was read for the first time, or anew.
func (c *consumer) seePin(set *settings, a *jetlog.Consumer, now int64) {
	if !set.pins() {
		c.pin = nil
		return
	}
	if c.pin == nil {
		id, since := a.Pinned(set.groups[0])
		c.pin = &pin{id: id, since: since, used: now}
	}
}

// pinTo pins the client of a request that gets a message, if nobody is pinned.
func (t *turn) pinTo(r *pull) {
	if t.set.pins() && t.c.pin != nil && t.c.pin.id == "" {
		r.id = t.w.pool.cfg.Ticket()
		t.setPin(r.id)
		t.events().Pinned(t.c.stream, t.c.name, t.set.groups[0], r.id)
	}
}

// setPin gives the group to a client, with an empty id to nobody.
func (t *turn) setPin(id string) {
	t.c.pin.id, t.c.pin.since, t.c.pin.used = id, t.ns, t.ns
	f := flight{command: &command.Pin{Time: t.ns, Consumer: t.c.name, Group: t.set.groups[0], ID: id}, epoch: t.c.epoch}
	t.launch(&f)
}

// mindPin takes the group from a client that is gone, or that somebody has asked to be unpinned.
func (t *turn) mindPin(unpin string) {
	p := t.c.pin
	if p == nil || p.id == "" {
		return
	}
	reason := ""
	switch {
	case unpin != "":
		reason = "admin"
	case jetlog.Later(p.used, t.set.pinned) <= t.ns:
		reason = "timeout"
	default:
		t.mustBy(jetlog.Later(p.used, t.set.pinned))
		return
	}
	t.session.waiting.keep(func(r *pull) bool {
		if r.id != p.id {
			return true
		}
		return !t.endPull(r, api.StatusWrongPin)
	})
	t.setPin("")
	t.events().Unpinned(t.c.stream, t.c.name, t.set.groups[0], reason)
}

// hasGroup reports whether the consumer pins clients of a priority group.
func (c *consumer) hasGroup(group string) bool {
	s := c.settings.Load()
	return s != nil && s.pins() && slices.Contains(s.groups, group)
}
