package workload_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"runnel/chaos/history"
	"runnel/chaos/workload"
)

func TestWatchdog(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name string
		play func(*workload.Dog)
		want []history.Operation // Start, End and Result count
	}{
		{"answers come", func(d *workload.Dog) {
			for at := range 30 * s / s {
				d.Begin(at * s)
				d.Answer(at * s)
				d.Look(at*s, 0, true)
			}
		}, nil},
		{"answers end, and come again", func(d *workload.Dog) {
			d.Answer(5 * s)
			d.Fail(10 * s)
			d.Look(14*s, 0, true)
			d.Look(16*s, 0, true)
			d.Look(20*s, 0, true)
			d.Answer(21 * s)
			d.Look(22*s, 0, true)
		}, []history.Operation{{Start: 5 * s, End: 22 * s, Result: history.Unknown}}},
		{"a call hangs", func(d *workload.Dog) {
			d.Answer(1 * s)
			d.Begin(2 * s)
			d.Look(12*s, 0, true)
			d.Answer(13 * s)
			d.Look(14*s, 0, true)
		}, []history.Operation{{Start: 1 * s, End: 14 * s, Result: history.Failed}}},
		{"the server is not there", func(d *workload.Dog) {
			d.Answer(1 * s)
			d.Look(30*s, 0, false)
		}, nil},
		{"the server is there again, and the client has its time", func(d *workload.Dog) {
			d.Answer(1 * s)
			d.Look(30*s, 25*s, true)
			d.Answer(34 * s)
			d.Look(36*s, 25*s, true)
		}, nil},
		{"the server is there again, and the client does not come", func(d *workload.Dog) {
			d.Answer(1 * s)
			d.Look(30*s, 25*s, true)
			d.Look(35*s, 25*s, true)
			d.Look(40*s, 25*s, false)
		}, []history.Operation{{Start: 25 * s, End: 40 * s, Result: history.Unknown}}},
		{"the client has gone", func(d *workload.Dog) {
			d.Answer(1 * s)
			d.Look(12*s, 0, true)
			d.Leave()
			d.Look(13*s, 0, true)
			d.Look(40*s, 0, true)
		}, []history.Operation{{Start: 1 * s, End: 13 * s, Result: history.Unknown}}},
	} {
		m := &memory{}
		c.play(workload.NewDog(workload.Config{Recorder: m, Patience: 10 * s, CallTimeout: 2 * s}))
		if len(m.ops) != len(c.want) {
			t.Errorf("%s: got %+v, want %d stalls", c.name, m.ops, len(c.want))
			continue
		}
		for i, want := range c.want {
			got := m.ops[i]
			if got.Start != want.Start || got.End != want.End || got.Result != want.Result || got.Kind != history.Stall || got.Process != 7 || got.Node != "n1" || got.Value == "" {
				t.Errorf("%s: got %+v, want a stall from %v to %v, %v", c.name, got, want.Start, want.End, want.Result)
			}
		}
	}
}

// clock is a recorder with the time of the machine, and a channel that is closed at the first stall.
type clock struct {
	begin   time.Time
	stalled chan struct{}
	once    sync.Once
}

func (c *clock) Now() time.Duration { return time.Since(c.begin) }

func (c *clock) Record(o history.Operation) {
	if o.Kind == history.Stall {
		c.once.Do(func() { close(c.stalled) })
	}
}

// A server that has no stream answers pings and nothing else.
func TestServerThatAnswersOnlyPings(t *testing.T) {
	cfg := config(alone(t))
	c := &clock{begin: time.Now(), stalled: make(chan struct{})}
	cfg.Recorder, cfg.Patience = c, 300*time.Millisecond
	w, err := workload.New("W1", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	go func() {
		select {
		case <-c.stalled:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := w.Run(ctx); err != nil { // without Setup
		t.Fatal(err)
	}
	select {
	case <-c.stalled:
	default:
		t.Error("clients to which nothing is answered are not noticed")
	}
}
