package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// settlePause is the pause between two looks at what replicas have.
const settlePause = 100 * time.Millisecond

// rest is a stream whose replicas agree, as far as its leader knows.
type rest struct {
	stream string
	last   uint64   // its last sequence
	nodes  []string // the servers that have a replica
}

// anywhere has a client work at the first server that answers.
func (l *load) anywhere(ctx context.Context, work func(*client) error) error {
	for i := 0; ; i++ {
		done := false
		err := l.alone(i, func(c *client) error {
			limited, cancel := c.limit(ctx)
			defer cancel()
			if !c.connected(limited) {
				return fmt.Errorf("%s does not answer", c.node.Name)
			}
			done = true
			return work(c)
		})
		if done {
			return err
		}
		if !pause(ctx, 20*time.Millisecond) {
			return errors.Join(errors.New("no server answers"), err)
		}
	}
}

// settle waits until a stream has a leader, all its replicas are current, and nothing is added to it any more. It takes half of the
// time that there is at most. If that was not enough it also returns what there is, with the servers that are current.
func (l *load) settle(ctx context.Context, stream string) (rest, error) {
	r := rest{stream: stream}
	start := l.now()
	limited, cancel := half(ctx)
	defer cancel()
	err := l.anywhere(limited, func(c *client) error {
		return c.try(limited, "wait for the replicas of "+stream, func(ctx context.Context) error {
			s, err := c.js.Stream(ctx, stream)
			if err != nil {
				return err
			}
			info := s.CachedInfo()
			before := r.last
			r.last = info.State.LastSeq
			if r.nodes, err = l.members(info); err == nil && before != r.last {
				err = fmt.Errorf("its last sequence was %d, and is %d", before, r.last)
			}
			return err
		})
	})
	if err != nil {
		l.stalled("settle "+stream, start, err)
	}
	return r, err
}

// half is half of the time until the deadline of ctx, if it has one.
func half(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}

// members are the servers with a replica of a stream that is current. It is an error if these are not all.
func (l *load) members(info *jetstream.StreamInfo) (nodes []string, err error) {
	if len(l.cfg.Nodes) == 1 {
		return []string{l.cfg.Nodes[0].Name}, nil
	}
	if info.Cluster == nil || info.Cluster.Leader == "" {
		return nil, errors.New("it has no leader")
	}
	nodes = append(nodes, info.Cluster.Leader)
	for _, p := range info.Cluster.Replicas {
		if !p.Current || p.Offline || p.Lag > 0 {
			err = fmt.Errorf("the replica at %s is %d operations behind, or away", p.Name, p.Lag)
			continue
		}
		nodes = append(nodes, p.Name)
	}
	if err == nil && len(nodes) < info.Config.Replicas {
		err = fmt.Errorf("it has %d of %d replicas", len(nodes), info.Config.Replicas)
	}
	slices.Sort(nodes)
	return nodes, err
}

// stalled records that the harness itself could not bring something about.
func (l *load) stalled(what string, start time.Duration, err error) {
	l.record(history.Operation{
		Process: l.cfg.FirstProcess, Kind: history.Stall, Value: what, Start: start, End: l.now(), Result: history.Failed, Error: textOf(err),
	})
}

// index is the place of a server among the nodes; -1 if it is none of them.
func (l *load) index(name string) int {
	return slices.IndexFunc(l.cfg.Nodes, func(n Node) bool { return n.Name == name })
}
