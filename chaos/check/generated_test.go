package check_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

// seeds is how many random histories each test makes.
const seeds = 20

// storedMutations are those that every stream that keeps what it has must not survive.
var storedMutations = []mutation{
	{"drop everywhere", dropEverywhere},
	{"drop at a node", dropAtNode},
	{"exchange", exchange},
	{"copy", copyToEnd},
	{"invent", invent},
	{"fork", forkNode},
}

// checkWorlds wants no finding for what the world does, and a violation for each mutation of that.
func checkWorlds(t *testing.T, make func(w *world) []history.Operation, checker func([]history.Operation) []check.Finding, mutations []mutation) {
	t.Helper()
	tried := map[string]int{}
	for seed := range uint64(seeds) {
		ops := make(newWorld(seed))
		for _, f := range checker(ops) {
			t.Errorf("seed %d: a correct server has the finding %s", seed, f.String())
			for _, o := range f.Operations {
				t.Logf("   %+v", o)
			}
		}
		for _, m := range mutations {
			rng := rand.New(rand.NewPCG(seed, 1))
			broken, ok := m.do(rng, slices.Clone(ops))
			if !ok {
				continue
			}
			tried[m.name]++
			found := checker(broken)
			if !slices.ContainsFunc(found, func(f check.Finding) bool { return f.Violation() }) {
				t.Errorf("seed %d: %q was not found", seed, m.name)
			}
		}
	}
	for _, m := range mutations {
		if tried[m.name] < seeds/3 {
			t.Errorf("%q could be tried in %d of %d histories only", m.name, tried[m.name], seeds)
		}
	}
}

func TestGeneratedLog(t *testing.T) {
	checkWorlds(t, func(w *world) []history.Operation {
		w.publishers(4, 25, 3, w.store)
		w.readers()
		return w.finish()
	}, func(ops []history.Operation) []check.Finding {
		_, found := check.Log(ops, "S")
		return append(found, check.Readers(ops, check.ReadersConfig{Stream: "S"})...)
	}, append(slices.Clone(storedMutations),
		mutation{"ack of another sequence", edit(isAcked, func(o *history.Operation) { o.Sequence++ })},
		mutation{"refusal of what is stored", refuseOne},
		mutation{"reader goes back", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			i := pick(rng, ops, func(o history.Operation) bool { return o.Kind == history.Read })
			return slices.Insert(ops, i+1, ops[i]), true
		}},
		mutation{"reader leaves out", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			i := pick(rng, ops, func(o history.Operation) bool { return o.Kind == history.Read && o.Sequence < 5 })
			return slices.Delete(ops, i, i+1), true
		}},
		mutation{"reader sees another", edit(func(o history.Operation) bool { return o.Kind == history.Read },
			func(o *history.Operation) { o.Value = "1-1x" })},
	))
}

// isAcked is true for publishes that were acknowledged.
func isAcked(o history.Operation) bool { return o.Kind == history.Publish && o.Result == history.OK }

// sentOnce are the values that were sent a single time.
func sentOnce(ops []history.Operation) map[string]bool {
	once := map[string]bool{}
	for _, o := range ops {
		if o.Kind == history.Publish {
			_, again := once[o.Value]
			once[o.Value] = !again
		}
	}
	return once
}

// refuseOne makes a refusal of an ack.
func refuseOne(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
	once := sentOnce(ops)
	i := pick(rng, ops, func(o history.Operation) bool { return isAcked(o) && once[o.Value] })
	if i < 0 {
		return nil, false
	}
	ops[i].Result = history.Failed
	return ops, true
}

// readers are three processes that read the log as it grows, each at its pace.
func (w *world) readers() {
	for p := 50; p < 53; p++ {
		next := uint64(1)
		w.loop(p, 1, 80, func(_ int, again func()) {
			for n := w.rng.IntN(4); n > 0 && next <= w.last; n-- {
				m := w.stored[next]
				w.note(history.Operation{Process: p, Kind: history.Read, Key: m.key, Value: m.value, Sequence: next})
				next++
			}
			again()
		})
	}
}

func TestGeneratedDedup(t *testing.T) {
	checkWorlds(t, func(w *world) []history.Operation {
		known := map[string]uint64{}
		w.publishers(4, 20, 3, func(o *history.Operation) {
			if s, ok := known[o.Value]; ok {
				o.Sequence = s
				return
			}
			w.store(o)
			known[o.Value] = o.Sequence
		})
		return w.finish()
	}, func(ops []history.Operation) []check.Finding {
		_, found := check.Log(ops, "S")
		return append(found, check.Dedup(ops, check.DedupConfig{Stream: "S", Window: time.Hour})...)
	}, append(slices.Clone(storedMutations),
		mutation{"ack of another sequence", edit(isAcked, func(o *history.Operation) { o.Sequence += 500 })},
	))
}

func TestGeneratedQueue(t *testing.T) {
	cfg := check.QueueConfig{Stream: "S", DeadLetters: "D", Grace: 10 * time.Second, Poison: poison}
	checkWorlds(t, func(w *world) []history.Operation {
		w.publishers(3, 15, 1, w.store)
		dead := map[uint64]message{}
		w.workers(dead)
		w.run()
		w.drain("D", w.last, dead)
		return w.finish()
	}, func(ops []history.Operation) []check.Finding { return check.DeadLetters(ops, cfg) }, []mutation{
		{"drop", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			once, acked := sentOnce(ops), map[string]bool{}
			for _, o := range ops {
				if isAcked(o) {
					acked[o.Value] = once[o.Value]
				}
			}
			for _, o := range ops {
				if o.Kind == history.Ack {
					delete(acked, o.Value) // it may be done
				}
			}
			i := pick(rng, ops, func(o history.Operation) bool { return o.Kind == history.Final && acked[o.Value] })
			if i < 0 {
				return nil, false
			}
			value := ops[i].Value
			return slices.DeleteFunc(ops, func(o history.Operation) bool { return o.Kind == history.Final && o.Value == value }), true
		}},
		{"resurrect", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			i := pick(rng, ops, func(o history.Operation) bool { return o.Kind == history.Ack && o.Result == history.OK })
			o := ops[i]
			o.Kind, o.Node, o.Consumer, o.Start, o.End = history.Final, "n2", "", time.Hour, time.Hour
			return append(ops, o), true
		}},
		{"deliver again", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			i := pick(rng, ops, func(o history.Operation) bool { return o.Kind == history.Ack && o.Result == history.OK })
			o := ops[i]
			o.Kind, o.Start, o.End = history.Fetch, o.End+11*time.Second, o.End+11*time.Second
			return append(ops, o), true
		}},
		{"dead twice", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			i := pick(rng, ops, func(o history.Operation) bool { return o.Kind == history.Final && o.Stream == "D" })
			if i < 0 {
				return nil, false
			}
			o := ops[i]
			o.Sequence += 1000
			return append(ops, o), true
		}},
		{"invent", invent},
	})
}

// poison are the values that no worker can process.
func poison(value string) bool { return strings.HasSuffix(value, "3") }

// workers take messages of the queue until it is empty. Those that they cannot process they give back, and the
// third time these go to the dead letters.
func (w *world) workers(dead map[uint64]message) {
	given := map[uint64]int{}
	inHand := map[uint64]bool{}
	w.loop(20, 3, 150, func(p int, again func()) {
		s, ok := w.oldest(inHand)
		if !ok {
			again()
			return
		}
		inHand[s] = true
		m := w.stored[s]
		o := history.Operation{Process: p, Kind: history.Fetch, Value: m.value, Sequence: s}
		w.note(o)
		o.Kind = history.Ack
		apply := func(*history.Operation) { delete(w.stored, s) }
		if poison(m.value) {
			o.Kind = history.Nak
			apply = func(*history.Operation) {
				if given[s]++; given[s] == 3 {
					dead[s] = m
					delete(w.stored, s)
				}
			}
		}
		w.request(o, apply, func(history.Operation) {
			w.after(4*time.Second, func() { delete(inHand, s) }) // the ack wait
			again()
		})
	})
	// In the end poison must have been given up: whoever comes last does it.
	w.after(time.Hour, func() {
		for s, m := range w.stored {
			if poison(m.value) {
				dead[s] = m
				delete(w.stored, s)
			}
		}
	})
}

// oldest is the first message that nobody has in hand.
func (w *world) oldest(inHand map[uint64]bool) (uint64, bool) {
	for s := uint64(1); s <= w.last; s++ {
		if _, ok := w.stored[s]; ok && !inHand[s] {
			return s, true
		}
	}
	return 0, false
}

func TestGeneratedRegisters(t *testing.T) {
	isRead := func(o history.Operation) bool { return o.Kind == history.Get && o.Sequence > 0 }
	checkWorlds(t, func(w *world) []history.Operation {
		latest := map[string]uint64{}
		look := func(key string, at uint64, o *history.Operation) {
			o.Key, o.Sequence, o.Value = key, at, w.stored[at].value
		}
		w.loop(1, 4, 25, func(p int, again func()) {
			key := fmt.Sprintf("r%d", w.rng.IntN(2))
			read := history.Operation{Process: p, Kind: history.Get, Key: key}
			apply := func(o *history.Operation) { look(key, latest[key], o) }
			if w.rng.IntN(2) == 0 {
				read.Kind = history.StaleGet
			}
			w.request(read, apply, func(got history.Operation) {
				o := history.Operation{Process: p, Kind: history.Swap, Key: key, Value: w.value(p), Expected: got.Sequence}
				w.request(o, func(o *history.Operation) {
					if latest[key] != o.Expected {
						refuse(o)
						return
					}
					w.store(o)
					latest[key] = o.Sequence
				}, func(history.Operation) { again() })
			})
		})
		return w.finish()
	}, func(ops []history.Operation) []check.Finding {
		return check.Registers(ops, check.RegistersConfig{Stream: "S", Refusals: true})
	}, []mutation{
		{"drop at a node", dropAtNode},
		{"exchange", exchange},
		{"invent", invent},
		{"fork", forkNode},
		{"another answer", edit(func(o history.Operation) bool { return o.Kind == history.Swap && o.Result == history.OK },
			func(o *history.Operation) { o.Result = history.Failed })},
		{"a read from before", edit(func(o history.Operation) bool { return isRead(o) && o.Start > time.Second },
			func(o *history.Operation) { o.Sequence, o.Value = 0, "" })},
		{"a swap of an old revision", edit(func(o history.Operation) bool {
			return o.Kind == history.Swap && o.Result == history.OK && o.Expected > 0
		},
			func(o *history.Operation) { o.Expected = 0 })},
	})
}

func TestGeneratedBucket(t *testing.T) {
	checkWorlds(t, func(w *world) []history.Operation {
		latest := map[string]uint64{}
		w.loop(1, 3, 25, func(p int, again func()) {
			o := history.Operation{Process: p, Kind: history.Put, Key: fmt.Sprintf("k%d", w.rng.IntN(4))}
			if w.rng.IntN(4) > 0 {
				o.Value = w.value(p)
			}
			w.request(o, func(o *history.Operation) {
				delete(w.stored, latest[o.Key])
				w.store(o)
				latest[o.Key] = o.Sequence
			}, func(history.Operation) { again() })
		})
		w.watchers()
		return w.finish()
	}, func(ops []history.Operation) []check.Finding { return check.Bucket(ops, "S") }, []mutation{
		{"drop at a node", dropAtNode},
		{"exchange", exchange},
		{"invent", invent},
		{"fork", forkNode},
		{"watcher is told twice", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			i := pick(rng, ops, func(o history.Operation) bool { return o.Kind == history.Watch })
			return slices.Insert(ops, i+1, ops[i]), true
		}},
		{"watcher misses the end", func(_ *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			last := 0
			for i, o := range ops {
				if o.Kind == history.Watch && o.Process == 60 && o.Value != "" && o.Sequence >= ops[last].Sequence {
					last = i
				}
			}
			key, sequence := ops[last].Key, ops[last].Sequence
			for _, o := range ops {
				if isFinal(o) && o.Key == key && o.Sequence > sequence {
					return nil, false // it was replaced, so that nobody has to know it
				}
			}
			return slices.DeleteFunc(ops, func(o history.Operation) bool { return o.Process == 60 && o.Key == key }), true
		}},
	})
}

// watchers follow the bucket, connect again now and then, and wait for the end.
func (w *world) watchers() {
	for p := 60; p < 62; p++ {
		next := uint64(1)
		tell := func() {
			for ; next <= w.last; next++ {
				if m, ok := w.stored[next]; ok {
					w.note(history.Operation{Process: p, Kind: history.Watch, Key: m.key, Value: m.value, Sequence: next})
				}
			}
		}
		w.note(history.Operation{Process: p, Kind: history.WatchStart})
		w.loop(p, 1, 60, func(_ int, again func()) {
			if w.rng.IntN(10) == 0 {
				w.note(history.Operation{Process: p, Kind: history.WatchStart})
				next = 1
			}
			tell()
			again()
		})
		w.after(time.Hour, func() {
			tell()
			w.note(history.Operation{Process: p, Kind: history.WatchEnd})
		})
	}
}

func TestGeneratedBatches(t *testing.T) {
	checkWorlds(t, func(w *world) []history.Operation {
		w.loop(1, 4, 12, func(p int, again func()) {
			id := fmt.Sprintf("batch-%s", w.value(p))
			var members []history.Operation
			for range 1 + w.rng.IntN(5) {
				o := history.Operation{Process: p, Kind: history.Add, Batch: id, Value: w.value(p), Key: "k0"}
				members = append(members, o)
				w.note(o)
			}
			if w.rng.IntN(6) == 0 {
				again() // given up
				return
			}
			commit := history.Operation{Process: p, Kind: history.Commit, Batch: id, Value: w.value(p), Key: "k0", Expected: uint64(len(members) + 1)}
			good := w.rng.IntN(6) > 0
			w.request(commit, func(o *history.Operation) {
				if !good {
					refuse(o)
					return
				}
				for _, m := range members {
					w.store(&m)
				}
				w.store(o)
			}, func(history.Operation) { again() })
		})
		return w.finish()
	}, func(ops []history.Operation) []check.Finding { return check.Batches(ops, "S") }, append(slices.Clone(storedMutations),
		mutation{"commit that was refused", edit(func(o history.Operation) bool { return o.Kind == history.Commit && o.Result == history.OK },
			func(o *history.Operation) { o.Result = history.Failed })},
	))
}

func TestGeneratedRetention(t *testing.T) {
	cfg := check.RetentionConfig{Stream: "S", MaxMessages: 40, MaxPerSubject: 8, Consumers: nil}
	checkWorlds(t, func(w *world) []history.Operation {
		keep := func(limit int, is func(message) bool) {
			left := 0
			for s := w.last; s > 0; s-- {
				m, ok := w.stored[s]
				if !ok || !is(m) {
					continue
				}
				if left++; left > limit {
					delete(w.stored, s)
				}
			}
		}
		w.publishers(4, 25, 6, func(o *history.Operation) {
			w.store(o)
			keep(cfg.MaxMessages, func(message) bool { return true })
			keep(cfg.MaxPerSubject, func(m message) bool { return m.key == o.Key })
		})
		w.loop(30, 1, 4, func(p int, again func()) {
			o := history.Operation{Process: p, Kind: history.Purge, Key: "k1"}
			w.request(o, func(o *history.Operation) { keep(0, func(m message) bool { return m.key == "k1" }) }, func(history.Operation) { again() })
		})
		return w.finish()
	}, func(ops []history.Operation) []check.Finding { return check.Retention(ops, cfg) }, []mutation{
		{"drop at a node", dropAtNode},
		{"exchange", exchange},
		{"invent", invent},
		{"resurrect", func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
			i := pick(rng, ops, func(o history.Operation) bool {
				return o.Kind == history.Publish && o.Result == history.OK && o.Sequence < 20
			})
			o := ops[i]
			o.Kind, o.Node, o.Consumer, o.Start, o.End = history.Final, "n2", "", time.Hour, time.Hour
			return append(ops, o), true
		}},
	})
}
