package workload

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"
)

// holding is what a replica has of a stream to which nothing is added any more. As each replica goes the way that all go, through the same
// changes, two that hold the same in this sense are at the same place, but for coincidences.
type holding struct {
	first uint64 // the sequence of its first message; 0 if there is none
	count uint64 // messages
	last  bool   // it has the last one that the leader knows
}

// agree waits until all replicas of a stream show the same: a leader knows what they have, not what of it they have carried out. It takes a
// quarter of the time that there is at most. One that cannot be asked all that time is one that does not show the same.
func (l *load) agree(ctx context.Context, r rest) error {
	if len(r.nodes) < 2 {
		return nil
	}
	limited, cancel := half(ctx)
	defer cancel()
	limited, cancel = half(limited)
	defer cancel()
	start := l.now()
	shown := make(map[string]holding)
	for {
		for i := range l.cfg.Nodes {
			err := l.alone(i, func(c *client) error {
				if !c.connected(limited) || !slices.Contains(r.nodes, c.at()) {
					return nil
				}
				d := &drain{client: c, rest: r}
				h, err := d.holding(limited)
				if err == nil {
					shown[c.at()] = h
				}
				return nil // it may be able to say so next time
			})
			if err != nil {
				return err
			}
		}
		if all := slices.Collect(maps.Values(shown)); len(all) == len(r.nodes) && !slices.ContainsFunc(all, func(h holding) bool { return h != all[0] }) {
			return nil
		}
		if !pause(limited, settlePause) {
			err := fmt.Errorf("the replicas of %s do not come to show the same: %+v", r.stream, shown)
			l.stalled("agree "+r.stream, start, err)
			return err
		}
	}
}

// holding asks a server what it has.
func (d *drain) holding(ctx context.Context) (h holding, err error) {
	limited, cancel := context.WithTimeout(ctx, d.load.cfg.CallTimeout)
	defer cancel()
	h.count, err = d.get(limited, directGet{Sequence: 1, Batch: 1}, func(sequence uint64, _ *nats.Msg) { h.first = sequence })
	if err != nil || h.first == 0 {
		return h, err
	}
	h.count++
	_, err = d.get(limited, directGet{Sequence: d.last, Batch: 1}, func(sequence uint64, _ *nats.Msg) { h.last = sequence == d.last })
	return h, err
}
