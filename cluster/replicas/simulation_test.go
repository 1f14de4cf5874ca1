package replicas_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/meta/state"
	"runnel/jetlog/command"
)

var (
	seeds = flag.Uint64("seeds", 1, "how many seeds the simulation runs")
	from  = flag.Uint64("from", 1, "the first seed")
)

// simulation has things happen to a cluster while messages are published, and remembers what was acked.
type simulation struct {
	*world
	rand *rand.Rand
	done chan struct{}
	wg   sync.WaitGroup

	mu    sync.Mutex
	acked map[uint64]map[uint64]string // by stream and sequence
	ids   []uint64
	next  int
}

// TestSimulation moves and scales streams while servers crash, lose one another and come back.
func TestSimulation(t *testing.T) {
	for seed := *from; seed < *from+*seeds; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed, 60) })
		})
	}
}

func simulate(t *testing.T, seed uint64, events int) {
	names := []string{"a", "b", "c", "d", "e"}
	s := &simulation{
		world: newWorld(t, names...), rand: rand.New(rand.NewPCG(seed, 7)), done: make(chan struct{}),
		acked: map[uint64]map[uint64]string{},
	}
	defer s.close()
	for i, replicas := range []int{1, 3, 3, 5} {
		a := s.create(fmt.Sprintf("S%d", i), s.some(replicas)...)
		s.ids = append(s.ids, a.ID)
		s.acked[a.ID] = map[uint64]string{}
	}
	for i, id := range s.ids {
		s.wg.Add(1)
		go s.publisher(id, seed*10+uint64(i))
	}
	for range events {
		<-time.After(time.Duration(s.rand.IntN(1500)) * time.Millisecond)
		s.event()
	}
	close(s.done)
	s.net.HealAll()
	for _, n := range s.nodes {
		if !n.up() {
			n.start()
		}
	}
	s.wg.Wait()
	for _, id := range s.ids {
		s.verify(id)
	}
}

// some are so many servers by chance.
func (s *simulation) some(n int) (names []string) {
	for _, i := range s.rand.Perm(len(s.nodes))[:n] {
		names = append(names, s.nodes[i].name)
	}
	return names
}

// publisher publishes to whoever leads.
func (s *simulation) publisher(id, seed uint64) {
	defer s.wg.Done()
	r := rand.New(rand.NewPCG(seed, 8))
	for {
		select {
		case <-s.done:
			return
		case <-time.After(time.Duration(r.IntN(300)) * time.Millisecond):
		}
		for _, n := range s.nodes {
			if n.leads(id) {
				s.publishOne(n, id)
			}
		}
	}
}

func (s *simulation) publishOne(n *node, id uint64) {
	life, t := n.life.Load(), n.stream(id)
	if t == nil {
		return
	}
	s.mu.Lock()
	s.next++
	payload := fmt.Sprintf("payload %d", s.next)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	result, err := t.Propose(ctx, &command.Publish{Time: 1, Subject: t.Name() + ".x", Payload: []byte(payload)})
	if err != nil || result.Code != 0 || n.life.Load() != life {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.acked[id][result.Sequence]; ok {
		s.t.Errorf("stream %d: sequence %d was acked for %q and for %q", id, result.Sequence, old, payload)
	}
	s.acked[id][result.Sequence] = payload
}

// event does one thing to the cluster.
func (s *simulation) event() {
	n, o := s.nodes[s.rand.IntN(len(s.nodes))], s.nodes[s.rand.IntN(len(s.nodes))]
	a := s.machine.View().StreamByID(s.ids[s.rand.IntN(len(s.ids))])
	switch s.rand.IntN(10) {
	case 0:
		if n.up() {
			n.crash()
		}
	case 1:
		if n.up() {
			n.stop()
		}
	case 2, 3:
		for _, n := range s.nodes {
			if !n.up() {
				n.start()
			}
		}
	case 4:
		if n != o {
			s.net.Cut(n.name, o.name)
		}
	case 5:
		s.net.Isolate(n.name)
	case 6:
		s.net.HealAll()
	case 7:
		if n.up() {
			_ = n.log.Flush()
		}
	case 8:
		s.command(&state.MoveStream{Account: a.Account, Name: a.Config.Name, Version: a.Version, Peers: s.some(len(a.Target())), Time: 1})
	case 9:
		peers := s.some([]int{1, 3, 5}[s.rand.IntN(3)])
		cfg := a.Config
		cfg.Replicas = len(peers)
		s.command(&state.UpdateStream{Account: a.Account, Config: cfg, Version: a.Version, Peers: peers})
	}
}

// verify waits until a stream is where it should be, and compares all replicas with what was acked.
func (s *simulation) verify(id uint64) {
	s.t.Helper()
	target := s.machine.View().StreamByID(id).Target()
	s.publish(id, 1)
	s.mu.Lock()
	acked := s.acked[id]
	s.mu.Unlock()
	s.settle(id, len(acked), target...)
	for _, name := range target {
		t := s.node(name).stream(id)
		for sequence, want := range acked {
			if m, err := t.Load(sequence); err != nil || string(m.Payload) != want {
				s.t.Errorf("%s: stream %d: message %d is %q, %v, and %q was acked", name, id, sequence, m.Payload, err, want)
			}
		}
	}
	s.t.Logf("stream %d: %d messages were acked", id, len(acked))
}
