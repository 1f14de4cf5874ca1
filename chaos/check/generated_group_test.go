package check_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

// keyGroup is a consumer that gives each key's messages out one after the other.
type keyGroup struct {
	world   *world
	wait    time.Duration
	waiting map[string][]uint64 // by key: what is not done
	inHand  map[string]int      // by key: the number of the delivery that holds it, if any
	count   int
}

// deliver gives out the next message that is free.
func (g *keyGroup) deliver() (m message, sequence uint64, delivery int, ok bool) {
	for _, key := range slices.Sorted(maps.Keys(g.waiting)) {
		if g.inHand[key] != 0 || len(g.waiting[key]) == 0 {
			continue
		}
		g.count++
		delivery = g.count
		g.inHand[key] = delivery
		g.world.after(g.wait, func() { g.release(key, delivery) })
		sequence = g.waiting[key][0]
		return g.world.stored[sequence], sequence, delivery, true
	}
	return m, 0, 0, false
}

// release makes a key free if a delivery still holds it.
func (g *keyGroup) release(key string, delivery int) {
	if g.inHand[key] == delivery {
		delete(g.inHand, key)
	}
}

// done takes a message off its key, if it is not yet.
func (g *keyGroup) done(key string, sequence uint64) {
	if len(g.waiting[key]) > 0 && g.waiting[key][0] == sequence {
		g.waiting[key] = g.waiting[key][1:]
		delete(g.inHand, key)
	}
}

func (g *keyGroup) workers() {
	w := g.world
	w.loop(20, 4, 2000, func(p int, again func()) {
		m, s, delivery, ok := g.deliver()
		o := history.Operation{Process: p, Kind: history.Fetch, Consumer: "G", Key: m.key, Value: m.value, Sequence: s}
		w.note(o)
		if !ok {
			again()
			return
		}
		switch o.Kind = history.Ack; w.rng.IntN(8) {
		case 0:
			o.Kind = history.Nak
			w.request(o, func(*history.Operation) { g.release(m.key, delivery) }, func(history.Operation) { again() })
		case 1: // it crashes with what it has in hand, and a new one takes its place
			again()
		default:
			w.request(o, func(*history.Operation) { g.done(m.key, s) }, func(history.Operation) { again() })
		}
	})
}

func TestGeneratedGroup(t *testing.T) {
	cfg := check.GroupConfig{Stream: "S", Consumer: "G", AckWait: 2 * time.Second, Idle: 6 * time.Second, Grace: time.Second}
	confirmed := func(o history.Operation) bool { return o.Kind == history.Ack && o.Result == history.OK }
	checkWorlds(t, func(w *world) []history.Operation {
		g := &keyGroup{world: w, wait: cfg.AckWait, waiting: map[string][]uint64{}, inHand: map[string]int{}}
		w.publishers(3, 15, 3, func(o *history.Operation) {
			w.store(o)
			g.waiting[o.Key] = append(g.waiting[o.Key], o.Sequence)
		})
		g.workers()
		return w.finish()
	}, func(ops []history.Operation) []check.Finding { return check.Group(ops, cfg) }, []mutation{
		{"the next one before the ack", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			// The messages of a key that were followed by another: their acks were all sent later.
			highest := map[string]uint64{}
			for _, o := range ops {
				if o.Kind == history.Fetch {
					highest[o.Key] = max(highest[o.Key], o.Sequence)
				}
			}
			i := pick(rng, ops, func(o history.Operation) bool { return confirmed(o) && o.Sequence < highest[o.Key] })
			s := ops[i].Sequence
			for i := range ops {
				if o := &ops[i]; o.Kind == history.Ack && o.Sequence == s {
					o.Start, o.End = time.Hour, time.Hour
				}
			}
			return ops, true
		}},
		{"again after its ack", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			o := ops[pick(rng, ops, confirmed)]
			o.Kind, o.Start, o.End = history.Fetch, o.End+2*time.Second, o.End+2*time.Second
			return append(ops, o), true
		}},
		{"in two hands", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			o := ops[pick(rng, ops, func(o history.Operation) bool { return o.Kind == history.Fetch && o.Value != "" })]
			o.Process = 25
			return append(ops, o), true
		}},
		{"never again", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			i := pick(rng, ops, func(o history.Operation) bool { return isAcked(o) })
			key, s := ops[i].Key, ops[i].Sequence
			ops = slices.DeleteFunc(ops, func(o history.Operation) bool {
				return o.Consumer == "G" && o.Key == key && o.Sequence >= s
			})
			return append(ops, history.Operation{Kind: history.Fetch, Stream: "S", Consumer: "G", Result: history.OK, Start: time.Hour, End: time.Hour}), true
		}},
	})
}

func TestGeneratedMeta(t *testing.T) {
	exists := func(o history.Operation) bool { return o.Kind == history.Exists }
	checkWorlds(t, func(w *world) []history.Operation {
		streams := map[string]string{}
		w.loop(1, 3, 12, func(p int, again func()) {
			name := fmt.Sprintf("T%d", w.rng.IntN(4))
			then := func(history.Operation) { again() }
			o := history.Operation{Process: p, Stream: name, Kind: history.DeleteStream}
			switch w.rng.IntN(3) {
			case 0:
				w.request(o, func(o *history.Operation) {
					if streams[name] == "" {
						refuse(o)
					}
					delete(streams, name)
				}, then)
			case 1:
				o.Kind, o.Value = history.UpdateStream, w.value(p)
				w.request(o, func(o *history.Operation) {
					if streams[name] == "" {
						refuse(o)
						return
					}
					streams[name] = o.Value
				}, then)
			default:
				o.Kind, o.Value = history.CreateStream, w.value(p)
				w.request(o, func(o *history.Operation) {
					if streams[name] != "" {
						refuse(o)
						return
					}
					streams[name] = o.Value
				}, then)
			}
		})
		w.run()
		for _, node := range []string{"n1", "n2", "n3"} {
			for name, value := range streams {
				w.note(history.Operation{Process: 99, Kind: history.Exists, Node: node, Stream: name, Value: value})
			}
			w.note(history.Operation{Process: 99, Kind: history.Listed, Node: node})
		}
		return w.ops
	}, check.Meta, []mutation{
		{"gone at a node", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			i := pick(rng, ops, exists)
			if i < 0 {
				return nil, false
			}
			return slices.Delete(ops, i, i+1), true
		}},
		{"back to an old one", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			latest := map[string]time.Duration{}
			change := func(o history.Operation) bool {
				return o.Result == history.OK && (o.Kind == history.CreateStream || o.Kind == history.UpdateStream || o.Kind == history.DeleteStream)
			}
			for _, o := range ops {
				if change(o) {
					latest[o.Stream] = max(latest[o.Stream], o.Start)
				}
			}
			i := pick(rng, ops, func(o history.Operation) bool {
				return change(o) && o.Kind == history.CreateStream && o.End < latest[o.Stream]
			})
			if i < 0 {
				return nil, false
			}
			old := ops[i]
			ops = slices.DeleteFunc(ops, func(o history.Operation) bool { return exists(o) && o.Stream == old.Stream })
			for _, node := range []string{"n1", "n2", "n3"} {
				old.Kind, old.Node = history.Exists, node
				ops = append(ops, old)
			}
			return ops, true
		}},
	})
}
