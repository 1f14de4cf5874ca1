package transport_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

var (
	seeds = flag.Int("seeds", 6, "how many simulations to run")
	seed  = flag.Uint64("seed", 0, "run the simulation of this seed alone")
)

// TestSimulation harms the network by chance while values are proposed. When all is well again, all servers must soon have
// applied the same values in the same order, among them all that were acknowledged, with nothing proposed any more.
func TestSimulation(t *testing.T) {
	first, last := uint64(1), uint64(*seeds)
	if *seed != 0 {
		first, last = *seed, *seed
	}
	for s := first; s <= last; s++ {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			r := rand.New(rand.NewPCG(s, 7))
			tune := func(c *raft.Config) { c.MaxAppendEntries = 4 + r.IntN(60) }
			inCluster(t, 4, tune, func(t *testing.T, c *cluster) {
				(&simulation{c: c, r: r, acked: map[uint64]map[uint64]bool{}}).run(t)
			})
		})
	}
}

// simulation is a cluster to which things happen.
type simulation struct {
	c    *cluster
	r    *rand.Rand
	next uint64
	wg   sync.WaitGroup

	mu    sync.Mutex
	acked map[uint64]map[uint64]bool // by group
}

func (s *simulation) run(t *testing.T) {
	s.c.elected(10 * time.Second)
	for range 40 {
		s.harm()
		for range s.r.IntN(50) {
			s.propose()
		}
		after(time.Duration(s.r.ExpFloat64() * float64(2*time.Second)))
	}
	s.c.net.HealAll()
	s.c.elected(20 * time.Second)
	s.wg.Wait()
	s.c.wait("all servers have applied the same", 15*time.Second, s.same)
	for id, values := range s.acked {
		got, _ := s.c.servers["aaa"].groups[id].fsm.state()
		for _, v := range got {
			delete(values, v)
		}
		if len(values) > 0 {
			t.Errorf("group %d has lost %d values that were acknowledged", id, len(values))
		}
	}
}

// same reports whether all servers have applied the same, and all of it.
func (s *simulation) same() bool {
	for id := range uint64(s.c.groups) {
		want, _ := s.c.servers["aaa"].groups[id].fsm.state()
		leader := s.c.leader(id)
		if leader == nil || !s.c.has(id, want, s.c.names...) {
			return false
		}
		for _, server := range s.c.servers {
			if server.groups[id].raft.AppliedIndex() < leader.groups[id].raft.CommitIndex() {
				return false
			}
		}
	}
	return true
}

// propose has somebody who leads a group, or believes so, propose a value.
func (s *simulation) propose() {
	id, value := uint64(s.r.IntN(s.c.groups)), s.next
	s.next++
	leader := s.c.leader(id)
	if leader == nil {
		return
	}
	s.wg.Go(func() {
		if leader.groups[id].propose(value) != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.acked[id] == nil {
			s.acked[id] = map[uint64]bool{}
		}
		s.acked[id][value] = true
	})
}

// harm lets something happen to the network.
func (s *simulation) harm() {
	a, b := s.c.names[s.r.IntN(3)], s.c.names[s.r.IntN(3)]
	if a == b {
		return
	}
	switch s.r.IntN(8) {
	case 0, 1:
		s.c.net.Break(a, b)
	case 2:
		s.c.net.Cut(a, b)
	case 3:
		s.c.net.Freeze(a, b)
	case 4:
		s.c.net.Isolate(a)
	case 5:
		s.c.net.Delay(a, b, time.Duration(s.r.IntN(150))*time.Millisecond)
	default:
		s.c.net.HealAll()
	}
}
