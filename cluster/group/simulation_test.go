package group_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/group"
)

var (
	seeds = flag.Uint64("seeds", 2, "how many seeds a simulation runs")
	from  = flag.Uint64("from", 1, "the first seed")
)

// simulation does things to a cluster while clients propose.
type simulation struct {
	*cluster
	rand    *rand.Rand
	voters  int // nodes that are members from birth
	done    chan struct{}
	clients sync.WaitGroup
}

// TestSimulation has power cuts, cuts of the network in one and both directions, flushes, elections and hand-overs happen to three and
// five replicas, and then has the checker look at what was promised meanwhile.
func TestSimulation(t *testing.T) {
	for _, n := range []int{3, 5} {
		for seed := *from; seed < *from+*seeds; seed++ {
			t.Run(fmt.Sprintf("%d nodes, seed %d", n, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { simulate(t, n, seed, 40) })
			})
		}
	}
}

func simulate(t *testing.T, n int, seed uint64, events int) {
	s := &simulation{
		cluster: newCluster(t, n, seed), rand: rand.New(rand.NewPCG(seed, 3)),
		voters: n, done: make(chan struct{}),
	}
	defer s.close()
	s.check.disks = s.cluster.voters(n)
	for i := range 4 {
		s.clients.Add(1)
		go s.client(seed*100 + uint64(i))
	}
	for range events {
		<-time.After(time.Duration(s.rand.IntN(1500)) * time.Millisecond)
		s.event()
	}
	close(s.done)
	s.net.heal()
	for _, n := range s.nodes {
		if n.group() == nil {
			n.start()
		}
	}
	s.clients.Wait()
	s.settle()
	installs := 0
	for _, n := range s.nodes {
		installs += n.machine.installs
	}
	t.Logf("%d acked, %d refused, %d unknown, %d terms, %d checkpoints since the last starts", len(s.check.sequence), len(s.check.refused), len(s.check.unknown), len(s.check.leaders), installs)
}

// client proposes to whoever leads, without waiting for answers now and then.
func (s *simulation) client(seed uint64) {
	defer s.clients.Done()
	r := rand.New(rand.NewPCG(seed, 4))
	for {
		select {
		case <-s.done:
			return
		case <-time.After(time.Duration(r.IntN(100)) * time.Millisecond):
		}
		for range 1 + r.IntN(5) {
			n := s.nodes[r.IntN(s.voters)]
			g := n.group()
			if g == nil {
				continue
			}
			size := 8
			if r.IntN(300) == 0 {
				size = r.IntN(300 << 10)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			p := &proposal{id: s.ids.Add(1), size: size, check: s.check}
			if err := g.Propose(ctx, p); err != nil && !errors.Is(err, group.ErrNotLeader) && !errors.Is(err, context.DeadlineExceeded) {
				s.check.errorf("propose: %v", err)
			} else if err != nil {
				s.check.answered(p.id, 0, group.ErrNotLeader)
			}
			cancel()
		}
	}
}

// event does one thing to the cluster.
func (s *simulation) event() {
	n := s.nodes[s.rand.IntN(s.voters)]
	o := s.nodes[s.rand.IntN(s.voters)]
	switch s.rand.IntN(12) {
	case 0, 1:
		// Everything may crash: what is acked is on the disks of a majority.
		if n.group() != nil {
			n.crash()
		}
	case 2, 3, 4:
		for _, n := range s.nodes {
			if n.group() == nil {
				n.start()
			}
		}
	case 5:
		s.net.cut(n.name, o.name)
	case 6:
		s.net.isolate(n.name, s.names()...)
	case 7, 8:
		s.net.heal()
	case 9:
		if g := n.group(); g != nil {
			n.machine.flush()
		}
	case 10:
		if g := n.group(); g != nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = g.StepDown(ctx, "")
			cancel()
		}
	case 11:
		if g := n.group(); g != nil {
			_ = g.Campaign()
		}
	}
}
