package mesh_test

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 12, "how many simulations to run")
	seed  = flag.Uint64("seed", 0, "run the simulation of this seed alone")
)

// TestSimulation lets servers come, go, crash and lose sight of one another by chance. When all is well again, every pair must
// have found together, with exactly the links that belong to it.
func TestSimulation(t *testing.T) {
	first, last := uint64(1), uint64(*seeds)
	if *seed != 0 {
		first, last = *seed, *seed
	}
	for s := first; s <= last; s++ {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) { simulate(t, n, rand.New(rand.NewPCG(s, 1))) })
		})
	}
}

// simulation is a cluster to which things happen.
type simulation struct {
	t       *testing.T
	n       *network
	r       *rand.Rand
	hosts   []string
	servers map[string]*server
	logs    *logs // all that was said, for failures
	starts  int
}

func simulate(t *testing.T, n *network, r *rand.Rand) {
	s := &simulation{t: t, n: n, r: r, hosts: []string{"a", "b", "c", "d", "e"}[:3+r.IntN(3)], servers: map[string]*server{}, logs: new(logs)}
	n.delay = []time.Duration{0, time.Millisecond, 60 * time.Millisecond}[r.IntN(3)]
	for _, h := range s.hosts {
		s.open(h)
		after(time.Duration(r.IntN(2)) * time.Duration(r.IntN(500)) * time.Millisecond)
	}
	for range 30 {
		s.step()
		after(time.Duration(r.ExpFloat64() * float64(3*time.Second)))
	}
	n.heal()
	var all []*server
	for _, h := range s.hosts {
		if s.servers[h] == nil {
			s.open(h)
		}
		all = append(all, s.servers[h])
	}
	after(3 * time.Minute)
	dials := n.dialled()
	after(10 * time.Minute)
	if got := n.dialled() - dials; got != 0 {
		t.Errorf("%d connections were dialled after all was well", got)
	}
	wantMesh(t, usual(), all...)
	for i, a := range all {
		for _, b := range all[i+1:] {
			if got := len(n.between(a.name, b.name)); got != 5 {
				t.Errorf("%s and %s have %d connections, want 5", a.name, b.name, got)
			}
			if !t.Failed() {
				wantPaired(t, a, b)
			}
		}
	}
	for _, a := range all {
		a.close()
	}
	if t.Failed() {
		t.Logf("the story:\n%s", s.logs.text())
	}
}

// open starts a server on a host. All know the first host, some others too.
func (s *simulation) open(host string) {
	s.starts++
	list := []string{s.hosts[0] + ":1"}
	if s.r.IntN(2) == 0 {
		list = append(list, s.hosts[s.r.IntN(len(s.hosts))]+":1")
	}
	cfg := config(s.n, host, list...)
	cfg.PingInterval = 5 * time.Second
	if s.r.IntN(3) == 0 { // a new identity
		cfg.Self.ID = fmt.Sprintf("ID-%s-%d-%d", host, s.r.IntN(100), s.starts)
	}
	cfg.Logger = slog.New(slog.NewTextHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug})).With("on", host)
	s.servers[host] = start(s.t, cfg)
}

// step lets something happen.
func (s *simulation) step() {
	a, b := s.hosts[s.r.IntN(len(s.hosts))], s.hosts[s.r.IntN(len(s.hosts))]
	switch s.r.IntN(10) {
	case 0, 1:
		s.n.cutOne(s.r, a, b)
	case 2:
		s.n.split(a, b)
	case 3:
		s.n.heal()
	case 4:
		s.n.freeze(a, b)
	case 5:
		s.n.slow(a, b, time.Duration(s.r.IntN(200))*time.Millisecond)
	case 6:
		if srv := s.servers[a]; srv != nil {
			if list := srv.mesh.Links(); len(list) > 0 {
				list[s.r.IntN(len(list))].CloseWith(errors.New("closed by its user"))
			}
		}
	case 9:
		s.n.lose(a, b, nil)
	case 7:
		s.stop(a, false)
	case 8:
		s.stop(a, true)
	}
}

// stop ends a server, in order or so that the others hear nothing of it, or starts it again.
func (s *simulation) stop(host string, crash bool) {
	srv := s.servers[host]
	if srv == nil {
		s.open(host)
		return
	}
	if crash {
		for _, c := range s.n.between(host, "") {
			c.in.freeze()
			c.out.freeze()
		}
	}
	srv.close()
	delete(s.servers, host)
}
