package store_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

var (
	seeds     = flag.Int("seeds", 40, "how many random runs to compare with the oracle")
	firstSeed = flag.Uint64("seed", 1, "the first of their seeds")
)

// TestModel gives random commands to a stream and to an oracle: the same state machine over a body
// that is nothing but exact tables in memory. Between them it flushes, compacts and opens the store
// again, which must not show: every result, the hash, the snapshot and every answer of the body are
// the same.
func TestModel(t *testing.T) {
	for i := range *seeds {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runModel(t, seed, 400) })
	}
}

// twin is a stream and its oracle.
type twin struct {
	t      *testing.T
	g      *generator
	store  *store.Store
	stream *store.Stream
	fs     vfs.FS
	cfg    store.Config
}

func runModel(t *testing.T, seed uint64, steps int) {
	t.Helper()
	g := &generator{rng: rand.New(rand.NewPCG(seed, 7)), clock: int64(time.Hour), body: jetlog.NewMemory()}
	w := &twin{t: t, g: g, fs: vfs.NewMemory()}
	w.cfg = small(w.fs)
	if seed%8 == 0 {
		w.cfg.CacheBytes = 1 // every answer is read anew
	}
	if seed%2 == 0 {
		w.cfg.SegmentBytes = 1 << 11 // what files say of subjects is soon in others than their messages
	}
	w.store = open(t, w.cfg)
	w.stream = create(t, w.store, g.config())
	cfg := w.stream.Config()
	_ = w.stream.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		g.state = jetlog.New(s.ID(), cfg, s.Created())
		return nil
	})
	for step := range steps {
		c := g.command()
		where := fmt.Sprintf("seed %d, step %d: %T %+v", seed, step, c, c)
		want, err := g.state.Apply(c, g.body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.stream.Propose(context.Background(), c)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %+v, %v; want %+v", where, got, err, want)
		}
		w.disturb(step)
		if t.Failed() {
			t.Fatal(where)
		}
		if hashOf(w.stream) != g.state.Hash() {
			t.Fatalf("%s: hash %x, want %x", where, hashOf(w.stream), g.state.Hash())
		}
		if d := w.question(); d != "" {
			t.Fatalf("%s: %s", where, d)
		}
	}
	if d := w.difference(); d != "" {
		t.Fatalf("seed %d: %s", seed, d)
	}
	closeStore(t, w.store)
}

// disturb does something that must not show.
func (w *twin) disturb(step int) {
	w.t.Helper()
	if w.g.chance(5) {
		w.pack()
	}
	if w.g.chance(8) {
		if err := w.store.Flush(); err != nil {
			w.t.Fatalf("step %d: %v", step, err)
		}
	}
	if w.g.chance(4) {
		if err := w.store.Compact(); err != nil {
			w.t.Fatalf("step %d: %v", step, err)
		}
	}
	if w.g.chance(2) {
		if err := w.store.Close(); err != nil {
			w.t.Fatal(err)
		}
		w.store = open(w.t, w.cfg)
		w.stream = w.store.Stream("A", "S")
	}
}

// question asks both bodies the same and returns how the answers differ, "" if they do not.
func (w *twin) question() (difference string) {
	g := w.g
	seq, filter := g.sequence(), g.filter()
	_ = w.stream.View(func(_ *jetlog.Stream, m jetlog.Messages) error {
		difference = g.ask(seq, filter, m)
		return nil
	})
	return difference
}

func (g *generator) ask(seq uint64, filter jetlog.Filter, m jetlog.Messages) string {
	type question struct {
		name string
		ask  func(jetlog.Messages) (any, error)
	}
	subject := g.subject()
	to := seq + uint64(g.rng.IntN(50))
	at := g.clock - g.rng.Int64N(int64(5*time.Second))
	id := fmt.Append(nil, g.rng.IntN(50))
	for _, q := range []question{
		{"meta", func(m jetlog.Messages) (any, error) { return m.Meta(seq) }},
		{"load", func(m jetlog.Messages) (any, error) { return m.Load(seq) }},
		{"next", func(m jetlog.Messages) (any, error) { return m.Next(seq) }},
		{"next of", func(m jetlog.Messages) (any, error) { return m.NextOf(filter, seq) }},
		{"last of", func(m jetlog.Messages) (any, error) { return m.LastOf(filter, seq) }},
		{"count", func(m jetlog.Messages) (any, error) { return m.Count(filter, seq) }},
		{"count of all", func(m jetlog.Messages) (any, error) { return m.Count(filter, 0) }},
		{"subject", func(m jetlog.Messages) (any, error) { return m.Subject(subject) }},
		{"first after", func(m jetlog.Messages) (any, error) { return m.FirstAfter(at) }},
		{"size", func(m jetlog.Messages) (any, error) {
			messages, bytes, err := m.Size(seq, to)
			return [2]uint64{messages, bytes}, err
		}},
		{"message id", func(m jetlog.Messages) (any, error) {
			seq, time, err := m.MessageID(id)
			return [2]any{seq, time}, err
		}},
		{"subjects", func(m jetlog.Messages) (any, error) {
			var all []any
			err := m.Subjects(filter, func(s string, state jetlog.SubjectState) bool {
				all = append(all, s, state)
				return true
			})
			return all, err
		}},
	} {
		got, err := q.ask(m)
		want, _ := q.ask(g.body)
		if err != nil || !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("%s(%d..%d, %q, %q, %s): got %+v, %v; want %+v", q.name, seq, to, filter, subject, id, got, err, want)
		}
	}
	return ""
}

// difference compares the whole state and all messages.
func (w *twin) difference() (d string) {
	_ = w.stream.View(func(s *jetlog.Stream, m jetlog.Messages) error {
		d = ""
		if !bytes.Equal(s.AppendSnapshot(nil), w.g.state.AppendSnapshot(nil)) {
			d = fmt.Sprintf("snapshots differ: %+v, want %+v", s.State(), w.g.state.State())
			return nil
		}
		for seq, _ := w.g.body.Next(0); seq != 0; seq, _ = w.g.body.Next(seq + 1) {
			got, err := m.Load(seq)
			want, _ := w.g.body.Load(seq)
			if err != nil || !reflect.DeepEqual(got, want) {
				d = fmt.Sprintf("message %d: got %+v, %v; want %+v", seq, got, err, want)
				return nil
			}
		}
		return nil
	})
	return d
}
