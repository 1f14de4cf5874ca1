// Package keys tells which keys of a consumer have a message out, what is with it, and how much waits behind it: who holds what,
// and what is blocked.
package keys

import (
	"context"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/own"
)

// patience is how long a consumer may take to find out: it reads what was delivered if its leader is new.
const patience = 2 * time.Second

// Consumer answers a call about a consumer.
func Consumer(c *own.Call) (api.Answer, error) {
	var q api.KeysRequest
	if err := c.Decode(&q); err != nil {
		return nil, err
	}
	if q.Limit <= 0 || q.Limit > api.KeysMax {
		q.Limit = api.KeysMax
	}
	ctx, cancel := context.WithTimeout(c.Context, patience)
	defer cancel()
	shown, known, err := c.Stream.Deliver.Keys(ctx, c.Consumer, q.Limit)
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, api.NewError(config.ConsumerNotFound)
	case !shown.Keyed:
		return nil, api.NewError(api.NoKeys, c.Consumer)
	}
	out := &api.Keys{
		Stream: c.Stream.Log.Name(), Consumer: c.Consumer, InFlight: shown.InFlight, Blocked: shown.Blocked, Time: c.Now, Keys: []api.KeyHold{},
	}
	err = c.Stream.Log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		a := state.Consumer(c.Consumer)
		if known = a != nil; known {
			fill(out, a, &shown)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, api.NewError(config.ConsumerNotFound)
	}
	return &api.KeysAnswer{Keys: out}, nil
}

// fill takes over what the state says.
func fill(out *api.Keys, a *jetlog.Consumer, shown *delivery.Keys) {
	metadata := a.Common().Metadata
	out.Key, out.Failed = metadata[config.MetadataKey], "skip"
	if failed := metadata[config.MetadataKeyFailed]; failed != "" {
		out.Failed = failed
	}
	out.Passed, out.Undelivered = a.Passed().Len(), a.Pending()
	due := map[uint64]bool{}
	a.Redelivery(func(seq, _ uint64) bool {
		due[seq] = true
		return true
	})
	out.Keys = out.Keys[:0] // a View may begin again
	for i := range shown.Holds {
		h := &shown.Holds[i]
		hold := api.KeyHold{
			Key: h.Key, Alone: !h.HasKey, State: api.KeyInFlight, Sequence: h.Sequence, Subject: h.Subject,
			Deliveries: a.Deliveries(h.Sequence), Behind: h.Behind, More: h.More,
		}
		switch {
		case h.Blocked:
			hold.State = api.KeyBlocked
		case a.Rests(h.Sequence):
			hold.State = api.KeyRests
		case due[h.Sequence]:
			hold.State = api.KeyDue
		}
		if at := a.Due(h.Sequence); at != 0 {
			until := time.Unix(0, at).UTC()
			hold.Until = &until
		}
		out.Keys = append(out.Keys, hold)
	}
}
