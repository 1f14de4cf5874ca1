// Package producers tells who numbers what it publishes to a stream, and lets a stream forget those that have gone. A stream
// forgets none by itself, since what a forgotten one publishes again would be stored again; so somebody who knows that it is gone has
// to say so, at the latest when there is no room for another one.
package producers

import (
	"strings"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/producers"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/own"
)

// ownPrefix begins the names of those in whose name the server puts messages; see jetlog.Stream.
const ownPrefix = "\n"

// List answers a call that looks at producers, page by page.
func List(c *own.Call) (api.Answer, error) {
	var q api.ProducerRequest
	if err := c.Decode(&q); err != nil {
		return nil, err
	}
	idle, err := idleOf(q.Idle)
	if err != nil {
		return nil, err
	}
	if q.Limit <= 0 || q.Limit > api.ProducerMax {
		q.Limit = api.ProducerMax
	}
	// Each page is of the table as it is when it is asked for: names are in order, so that none comes twice however it changes.
	out := &api.ProducerListAnswer{Most: producers.Most, Producers: []api.Producer{}}
	known, upTo, err := see(c, idle)
	if err != nil {
		return nil, err
	}
	found, more := find(known, &filter{after: q.After, upTo: upTo, server: q.Server, most: q.Limit})
	out.Total = known.Len()
	// A message may have gone by now: then nobody knows any more when its producer has published it.
	err = c.Stream.Log.View(func(_ *jetlog.Stream, m jetlog.Messages) error {
		out.Producers = out.Producers[:0]
		for _, p := range found {
			shown := api.Producer{Name: strings.TrimPrefix(p.Name, ownPrefix), Number: p.Number, Sequence: p.Sequence}
			meta, err := m.Meta(p.Sequence)
			if err != nil {
				return err
			}
			if meta.Sequence != 0 {
				at := api.At(meta.Time)
				shown.Time = &at
			}
			out.Producers = append(out.Producers, shown)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if more {
		out.Next = out.Producers[len(out.Producers)-1].Name
	}
	return out, nil
}

// see returns the producers that a stream knows, and up to which sequence they are idle that have published nothing for so long. The
// stream is held up only while they are copied.
func see(c *own.Call, idle time.Duration) (known *producers.Table, upTo uint64, err error) {
	err = c.Stream.Log.View(func(s *jetlog.Stream, m jetlog.Messages) (err error) {
		known, upTo = s.Producers().Clone(), s.State().Last
		if idle > 0 {
			upTo, err = lastBefore(s, m, c.Now.Add(-idle).UnixNano())
		}
		return err
	})
	return known, upTo, err
}

// idleOf reads for how long producers must have been idle, 0 for not at all.
func idleOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, api.NewError(api.ProducerUnclear, "idle is no time: "+text)
	}
	return d, nil
}

// filter says which producers are meant.
type filter struct {
	after  string          // only those with later names
	names  map[string]bool // only these, nil for all
	upTo   uint64          // only those whose last message has this sequence, or one before
	server bool
	most   int
}

// find returns the producers that a filter means, by name, and whether there are more.
func find(known *producers.Table, f *filter) (list []command.Producer, more bool) {
	for name, mark := range known.All {
		shown, server := strings.CutPrefix(name, ownPrefix)
		if server != f.server || shown <= f.after || mark.Sequence > f.upTo || f.names != nil && !f.names[shown] {
			continue
		}
		if len(list) == f.most {
			return list, true
		}
		list = append(list, command.Producer{Name: name, Mark: mark})
	}
	return list, false
}

// lastBefore returns the last sequence that was surely given before a time. Where messages have gone that is not the very last one:
// then a producer counts as idle later than it is, which does no harm.
func lastBefore(s *jetlog.Stream, m jetlog.Messages, at int64) (uint64, error) {
	state := s.State()
	if state.LastTime < at {
		return state.Last, nil
	}
	upTo := state.Last
	first, err := m.FirstAfter(at)
	if err != nil {
		return 0, err
	}
	if first != 0 {
		upTo = first - 1
	}
	return m.LastOf(nil, upTo)
}

// Forget answers a call that has producers forgotten. Those that publish at the same moment stay: they are not idle.
func Forget(c *own.Call) (api.Answer, error) {
	var q api.ProducerForgetRequest
	if err := c.Decode(&q); err != nil {
		return nil, err
	}
	idle, err := idleOf(q.Idle)
	switch {
	case err != nil:
		return nil, err
	case len(q.Producers) == 0 && idle == 0:
		return nil, api.NewError(api.ProducerUnclear, "the request has neither")
	case len(q.Producers) > 0 && idle > 0:
		return nil, api.NewError(api.ProducerUnclear, "the request has both")
	case c.Level < command.KindProducers.Level():
		return nil, api.NewError(api.LevelTooLow, "that producers are forgotten")
	}
	known, upTo, err := see(c, idle)
	if err != nil {
		return nil, err
	}
	// Who is named, and who is idle, are two ways to say it that exclude each other. Names that nobody has are passed over: they are
	// forgotten already.
	f := &filter{upTo: upTo, server: q.Server, most: api.ProducerMax}
	if len(q.Producers) > 0 {
		f.names = make(map[string]bool, len(q.Producers))
		for _, name := range q.Producers {
			f.names[name] = true
		}
	}
	forget, out := &command.Producers{Time: c.Now.UnixNano()}, &api.ProducerForgetAnswer{}
	forget.Forget, out.More = find(known, f)
	if out.Forgotten = len(forget.Forget); out.Forgotten == 0 || q.DryRun {
		return out, nil
	}
	// The command has the numbers as well as the names, since it is carried out later: who has published meanwhile is at another one,
	// and stays. The result says how many that were not.
	r, err := c.Stream.Log.Propose(c.Context, forget)
	switch {
	case err != nil:
		return nil, err
	case r.Code != 0:
		return nil, api.NewError(r.Code, r.Detail)
	}
	out.Forgotten = r.Count
	return out, nil
}
