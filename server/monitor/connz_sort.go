package monitor

import (
	"cmp"
	"slices"
	"time"
)

// connSort is an order of connections. Ties are broken by cid, lowest first.
type connSort struct {
	name       string
	closedOnly bool // needs what only closed connections have
	compare    func(a, b *Connection, at time.Time) int
}

// apply sorts in place; at is the moment up to which open connections count.
func (s connSort) apply(conns []*Connection, at time.Time) {
	slices.SortFunc(conns, func(a, b *Connection) int {
		return cmp.Or(s.compare(a, b, at), cmp.Compare(a.CID, b.CID))
	})
}

// sorts lists the orders: figures with the largest first, the newest activity and stop first; cid, start,
// uptime and reason rise.
func sorts() []connSort {
	most := func(figure func(*Connection) int64) func(a, b *Connection, at time.Time) int {
		return func(a, b *Connection, _ time.Time) int { return cmp.Compare(figure(b), figure(a)) }
	}
	return []connSort{
		{"cid", false, func(_, _ *Connection, _ time.Time) int { return 0 }},
		{"start", false, func(a, b *Connection, _ time.Time) int { return a.Start.Compare(b.Start) }},
		{"subs", false, most(func(c *Connection) int64 { return int64(c.Subscriptions) })},
		{"pending", false, most(func(c *Connection) int64 { return c.PendingBytes })},
		{"msgs_to", false, most(func(c *Connection) int64 { return c.Traffic.OutMsgs })},
		{"msgs_from", false, most(func(c *Connection) int64 { return c.Traffic.InMsgs })},
		{"bytes_to", false, most(func(c *Connection) int64 { return c.Traffic.OutBytes })},
		{"bytes_from", false, most(func(c *Connection) int64 { return c.Traffic.InBytes })},
		{"last", false, func(a, b *Connection, _ time.Time) int { return b.LastActivity.Compare(a.LastActivity) }},
		{"idle", false, func(a, b *Connection, at time.Time) int { return cmp.Compare(b.idle(at), a.idle(at)) }},
		{"uptime", false, func(a, b *Connection, at time.Time) int { return cmp.Compare(a.uptime(at), b.uptime(at)) }},
		{"stop", true, func(a, b *Connection, _ time.Time) int { return b.Stop.Compare(a.Stop) }},
		{"reason", true, func(a, b *Connection, _ time.Time) int { return cmp.Compare(a.Reason, b.Reason) }},
		{"rtt", false, most(func(c *Connection) int64 { return int64(c.RTT) })},
	}
}

func sortNames() []string {
	var names []string
	for _, s := range sorts() {
		names = append(names, s.name)
	}
	return names
}

// sortOrder finds the order of that name; stop and reason exist for closed connections only.
func sortOrder(name string, state ConnState) (connSort, error) {
	if name == "" {
		name = "cid"
	}
	for _, s := range sorts() {
		if s.name != name {
			continue
		}
		if s.closedOnly && state != ConnClosed {
			return connSort{}, badRequest("sort %s is only for closed connections: it needs state closed", name)
		}
		return s, nil
	}
	return connSort{}, badRequest("bad value %q for sort", name)
}
