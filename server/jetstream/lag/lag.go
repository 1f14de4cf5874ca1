// Package lag tells how far consumers are behind, in seconds and messages, and how long they will take: for one consumer, and
// for those of an account that are furthest behind.
//
// Everything is found when it is asked for, where messages are delivered: at the leader of the stream. Nothing is kept for it
// but the rate at which a consumer is served, and that only of consumers that are.
package lag

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/own"
	"runnel/server/jetstream/reads"
)

// Of shows the lag of a consumer, by what is known where its messages are delivered.
func Of(stream, consumer string, s *delivery.State, now time.Time) *api.ConsumerLag {
	l := &s.Lag
	shown := &api.ConsumerLag{
		Stream: stream, Consumer: consumer, Time: now,
		Messages:    l.Messages,
		Undelivered: backlog(l.Undelivered, l.OldestUndelivered, api.SinceStored, now),
		Unacked:     backlog(uint64(l.Unacked), l.OldestUnacked, api.SinceStored, now),
		Served:      l.Served,
	}
	// Policies that count from the first delivery have it in the state. Without one the message's own time has to do, which says
	// too much of a message that came late to this consumer.
	if !l.FirstDelivered.IsZero() {
		shown.Unacked = backlog(uint64(l.Unacked), l.FirstDelivered, api.SinceDelivered, now)
	}
	for _, oldest := range []time.Time{l.OldestUndelivered, l.OldestUnacked} {
		if !oldest.IsZero() {
			shown.Seconds = max(shown.Seconds, now.Sub(oldest).Seconds())
		}
	}
	// Without a rate nobody can say how long it takes. An hour of nothing is no rate either.
	if l.Messages == 0 || l.Served > 0 {
		drain := 0.0
		if l.Messages > 0 {
			drain = float64(l.Messages) / l.Served
		}
		shown.DrainSeconds = &drain
	}
	if s.Stalled != "" {
		shown.Stalled = &api.Stalled{Reason: string(s.Stalled), Until: orNil(s.StalledUntil), Detail: s.Detail}
	}
	return shown
}

// backlog is a kind of messages, of which the oldest is as old as since says.
func backlog(messages uint64, oldest time.Time, since string, now time.Time) api.Backlog {
	b := api.Backlog{Messages: messages}
	if !oldest.IsZero() {
		b.Seconds, b.Oldest, b.Since = max(now.Sub(oldest).Seconds(), 0), orNil(oldest), since
	}
	return b
}

// orNil leaves the zero time away.
func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Consumer answers a call about one consumer.
func Consumer(c *own.Call) (api.Answer, error) {
	state, known := c.Stream.Deliver.State(c.Consumer)
	if !known {
		return nil, api.NewError(config.ConsumerNotFound)
	}
	return &api.ConsumerLagAnswer{ConsumerLag: Of(c.Stream.Log.Name(), c.Consumer, &state, c.Now)}, nil
}

// part is what a server tells of the consumers that it serves: how many there are, and those that are furthest behind.
type part struct {
	Total     int                `json:"total"`
	Consumers []*api.ConsumerLag `json:"consumers"`
}

// Account answers a call about the consumers of an account.
func Account() own.Gatherer { return own.Gatherer{Part: partOf, Join: join} }

// request reads a request, and returns it with a sound page.
func request(c *own.Call) (q api.LagRequest, err error) {
	if err := c.Decode(&q); err != nil {
		return q, err
	}
	q.Offset = max(q.Offset, 0)
	if q.Limit <= 0 || q.Limit > api.ListPage {
		q.Limit = api.ListPage
	}
	return q, nil
}

// partOf tells of the consumers of the call's streams. Those on pages behind the one that is asked for are left out.
func partOf(c *own.Call) (any, error) {
	q, err := request(c)
	if err != nil {
		return nil, err
	}
	var p part
	for _, s := range c.Streams {
		if q.Stream != "" && q.Stream != s.Log.Name() {
			continue
		}
		names, err := consumers(s)
		if err != nil {
			continue // it is going away
		}
		// One after the other, each with the state locked for a moment: whoever watches holds up nobody.
		for _, name := range names {
			if state, known := s.Deliver.State(name); known {
				p.Consumers = append(p.Consumers, Of(s.Log.Name(), name, &state, c.Now))
			}
		}
	}
	p.Total = len(p.Consumers)
	slices.SortFunc(p.Consumers, order)
	// An offset far behind the end may be any number.
	most := min(q.Offset, p.Total) + q.Limit
	p.Consumers = p.Consumers[:min(most, p.Total)]
	return &p, nil
}

// consumers returns the names of a stream's consumers that are not the server's own.
func consumers(s own.Stream) (names []string, err error) {
	err = s.Log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		for _, c := range state.Consumers() {
			if !reads.Hidden(c) {
				names = append(names, c.Name())
			}
		}
		return nil
	})
	return names, err
}

// order puts the consumer first that is further behind.
func order(a, b *api.ConsumerLag) int {
	return cmp.Or(
		cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(b.Messages, a.Messages),
		cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Consumer, b.Consumer),
	)
}

// join makes a page of what all servers have told. A stream whose leader changes meanwhile may be in two parts: then the later word counts.
func join(c *own.Call, parts []json.RawMessage, missing []string) (api.Answer, error) {
	q, err := request(c)
	if err != nil {
		return nil, err
	}
	if q.Stream != "" && !slices.Contains(c.Names, q.Stream) {
		return nil, api.NewError(api.StreamNotFound)
	}
	total, latest := 0, make(map[[2]string]*api.ConsumerLag)
	for _, text := range parts {
		var p part
		if err := json.Unmarshal(text, &p); err != nil {
			return nil, fmt.Errorf("what a server tells of lags: %w", err)
		}
		total += p.Total
		for _, l := range p.Consumers {
			key := [2]string{l.Stream, l.Consumer}
			if was := latest[key]; was != nil {
				total--
				if was.Time.After(l.Time) {
					continue
				}
			}
			latest[key] = l
		}
	}
	all := make([]*api.ConsumerLag, 0, len(latest))
	for _, l := range latest {
		all = append(all, l)
	}
	slices.SortFunc(all, order)
	from, to, page := api.Page(total, q.Offset, q.Limit)
	from, to = min(from, len(all)), min(to, len(all))
	if q.Stream != "" {
		missing = slices.DeleteFunc(missing, func(name string) bool { return name != q.Stream })
	}
	return &api.LagAnswer{Paged: page, Consumers: all[from:to], Missing: missing}, nil
}
