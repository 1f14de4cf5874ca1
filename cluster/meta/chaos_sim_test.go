package meta_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"runnel/cluster/meta/state"
)

// seeds is how often the chaos is repeated, each time with other chances.
var seeds = flag.Int("seeds", 4, "how many random runs of the cluster are tried")

// client creates and deletes streams of its own, and knows what must be there and what may be.
type client struct {
	w      *world
	name   string
	random *rand.Rand
	sure   map[string]bool // was answered: whether it is there
	maybe  map[string]bool // was asked for since, with an uncertain end
	acked  int
}

// run works until the context ends.
func (c *client) run(ctx context.Context) {
	for ctx.Err() == nil {
		all := c.w.all()
		if len(all) == 0 {
			pass(100 * time.Millisecond)
			continue
		}
		s := all[c.random.IntN(len(all))]
		name := fmt.Sprint(c.name, c.random.IntN(8))
		create := !c.sure[name]
		if c.maybe[name] {
			create = c.random.IntN(2) == 0
		}
		var command state.Command = &state.DeleteStream{Account: "A", Name: name}
		if create {
			command = &state.CreateStream{Account: "A", Config: stream(name, 1+2*c.random.IntN(2)), New: true}
		}
		s.mu.Lock()
		m := s.meta
		s.mu.Unlock()
		if m == nil {
			continue
		}
		began := time.Now()
		r, err := m.Propose(ctx, command)
		if took := time.Since(began); took > 5*time.Second {
			c.w.t.Errorf("an answer took %v", took)
		}
		switch {
		case err != nil:
			c.maybe[name] = true
		case r.Code == 0:
			c.acked++
			c.sure[name] = create
			delete(c.maybe, name)
		case !c.maybe[name] && r.Code != state.NoSuitablePeers:
			c.w.t.Errorf("%s of %s was refused with %d, sure was %v", map[bool]string{true: "creation", false: "deletion"}[create], name, r.Code, c.sure[name])
		}
		pass(time.Duration(1+c.random.IntN(200)) * time.Millisecond)
	}
}

// TestChaos cuts connections, takes the power from servers and replaces disks by chance, while clients create and delete streams: what was
// answered stands, and all servers have the same state in the end.
func TestChaos(t *testing.T) {
	total := 0
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			names := []string{"abc", "abcde"}[seed%2]
			inWorld(t, len(names), names, func(t *testing.T, w *world) {
				w.impatient = seed%3 != 0
				random := rand.New(rand.NewPCG(seed, 7))
				for _, name := range names {
					w.of(string(name)).start()
				}
				w.mu.Lock()
				w.luck = rand.New(rand.NewPCG(seed, 8))
				w.mu.Unlock()
				formed := seed%4 != 0 // otherwise it may take until the end
				if formed {
					w.eventually("all are together", 20*time.Second, func() bool { return w.together(names) })
				}
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				var clients []*client
				for i := range 3 {
					c := &client{w: w, name: string(rune('x' + i)), random: rand.New(rand.NewPCG(seed, uint64(i))), sure: map[string]bool{}, maybe: map[string]bool{}}
					clients = append(clients, c)
					wg.Go(func() { c.run(ctx) })
				}
				for range 25 {
					w.disturb(random, names)
					pass(time.Duration(random.IntN(3000)) * time.Millisecond)
					w.revive()
				}
				cancel()
				wg.Wait()
				w.heal()
				w.eventually("all are together", time.Minute, func() bool { return w.together(names) })
				w.oneCluster()
				w.eventually("all vote", time.Minute, func() bool { return w.voters() == names })
				w.of("a").mustCreate("last", 1)
				w.same()
				acked := 0
				for _, c := range clients {
					acked += c.acked
					for name, there := range c.sure {
						if !c.maybe[name] && (w.of("b").stream(name) != nil) != there {
							t.Errorf("%s is there: %v, answered was %v", name, !there, there)
						}
					}
				}
				t.Logf("%d changes were made", acked) // few, if the connections were cut most of the time
				total += acked
			})
		})
	}
	if total < 20**seeds {
		t.Errorf("only %d changes were made in %d runs", total, *seeds)
	}
}

// disturb lets something happen by chance.
func (w *world) disturb(random *rand.Rand, names string) {
	all := w.all()
	if len(all) == 0 {
		return
	}
	victim := all[random.IntN(len(all))]
	switch random.IntN(7) {
	case 0, 1:
		victim.mu.Lock()
		victim.crashAt = victim.ops + 1 + random.IntN(5)
		victim.mu.Unlock()
	case 2:
		n := 1 + random.IntN(len(all))
		w.split(true, all[:n], all[n:])
	case 3:
		w.split(true, []*server{victim}, w.others(victim))
	case 4: // never more disks than the votes of the others can do without
		if w.together(names) && w.voters() == names && w.leader().meta.Status().Voters == len(names) && len(w.all()) == len(names) {
			victim.wipe(fmt.Sprintf("%s%07d", victim.name, random.IntN(10_000_000))).start()
		}
	default:
		w.heal()
	}
}

// heal makes all connections again, and starts what has crashed.
func (w *world) heal() {
	w.revive()
	all := w.all()
	for _, s := range all {
		w.split(false, []*server{s}, slices.DeleteFunc(slices.Clone(all), func(o *server) bool { return o == s }))
	}
}
