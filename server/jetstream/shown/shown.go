// Package shown is what an info shows of a consumer: what the state of its stream knows, and what only the server that
// delivers to it does.
package shown

import (
	"time"

	"runnel/jetlog"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

// Group is the group of a stream as one of its consumers shows it: with as many servers as the consumer asks for; 0 is all.
// The consumer is wherever its stream is, whatever it asks for, so those that are left out have it too. The group itself
// stays as it is; nil is nil again.
func Group(g *api.Cluster, replicas int) *api.Cluster {
	if g == nil || replicas == 0 || len(g.Replicas) < replicas {
		return g
	}
	shown := *g
	shown.Replicas = g.Replicas[:replicas-1]
	return &shown
}

// Consumer takes over into an info what the stream's state says of a consumer now. The state must not change meanwhile.
func Consumer(info *api.ConsumerInfo, c *jetlog.Consumer, now time.Time) {
	info.Created = api.At(c.Created())
	info.Delivered = position(c.Delivered(), c.LastDelivered())
	info.AckFloor = position(c.AckFloor(), c.LastAcked())
	info.AckPending = c.AckPending()
	info.Redelivered = c.Redelivered()
	if c.Common().MaxDeliver == 1 {
		info.Redelivered = 0
	}
	info.Pending = c.Pending()
	if until := api.At(c.PausedUntil()); until.After(now) {
		info.Paused, info.PauseRemaining = true, until.Sub(now)
	}
	for _, group := range c.Common().PriorityGroups {
		id, since := c.Pinned(group)
		info.PriorityGroups = append(info.PriorityGroups, api.PriorityGroup{Group: group, PinnedID: id, PinnedAt: api.At(since)})
	}
}

// position is a place in a stream as an answer has it. The time is left out while there was nothing.
func position(p jetlog.Position, at int64) api.Position {
	out := api.Position{Consumer: p.Consumer, Stream: p.Stream}
	if at != 0 {
		t := api.At(at)
		out.LastActive = &t
	}
	return out
}

// PauseUntil is the time until which the consumer of an info rests, as its configuration shows it: what is configured, or
// if it rests by a request, until when.
func PauseUntil(info *api.ConsumerInfo, configured *time.Time) *time.Time {
	if !info.Paused {
		return configured
	}
	until := info.Now.Add(info.PauseRemaining)
	return &until
}

// Live takes over into an info what is known where the consumer's messages are delivered: who waits, how far it is behind,
// and what stands in its way.
func Live(info *api.ConsumerInfo, live *delivery.State) {
	info.Waiting = live.Waiting
	info.PushBound = live.PushBound
	info.Lag = &api.Lag{
		Messages:          live.Lag.Messages,
		OldestUndelivered: orNil(live.Lag.OldestUndelivered),
		OldestUnacked:     orNil(live.Lag.OldestUnacked),
		Age:               live.Lag.Age,
		Served:            live.Lag.Served,
	}
	if live.Stalled != "" {
		info.Stalled = &api.Stalled{Reason: string(live.Stalled), Until: orNil(live.StalledUntil), Detail: live.Detail}
	}
	if live.Letters > 0 {
		info.Letters = &api.Letters{Waiting: live.Letters, Oldest: live.OldestLetter.UTC()}
	}
}

// orNil leaves the zero time away.
func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
