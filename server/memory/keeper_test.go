package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/memory"
)

// stage is a process whose memory a test decides on. Its budget has a goal of 1000 bytes.
type stage struct {
	t         *testing.T
	keeper    *memory.Keeper
	log       strings.Builder
	steps     []memory.Step
	used      atomic.Int64 // that is alive
	seen      atomic.Int64 // that the last collection has found
	collected atomic.Uint64
	relieved  atomic.Int64
	relief    func()
}

// run has f use a keeper that runs, in time that passes by itself.
func run(t *testing.T, f func(*stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t}
		s.keeper = memory.New(memory.Config{
			Budget:  memory.Budget{Bytes: 1100, GoalBytes: 1000, Origin: memory.Configured},
			Relieve: s.relieve,
			Changed: func(step memory.Step) { s.steps = append(s.steps, step) },
			Logger:  slog.New(slog.NewTextHandler(&s.log, nil)),
			Usage:   func() memory.Usage { return memory.Usage{UsedBytes: s.seen.Load(), Collections: s.collected.Load()} },
			Collect: s.collect,
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			s.keeper.Run(ctx)
			close(done)
		}()
		f(s)
		cancel()
		<-done
	})
}

func (s *stage) collect() {
	s.collected.Add(1)
	s.seen.Store(s.used.Load())
}

func (s *stage) relieve() {
	s.relieved.Add(1)
	if s.relief != nil {
		s.relief()
	}
}

// pass lets so much of a bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }

// use has so much be alive, and waits until the keeper has seen it.
func (s *stage) use(bytes int64) {
	s.used.Store(bytes)
	s.collect()
	pass(300 * time.Millisecond)
	synctest.Wait()
}

// TestSteps: each step comes and goes at its mark, with room between, so that none flutters.
func TestSteps(t *testing.T) {
	run(t, func(s *stage) {
		for _, tt := range []struct {
			used int64
			want memory.Step
		}{
			{0, memory.Calm},
			{599, memory.Calm},
			{600, memory.Tight},
			{560, memory.Tight},
			{540, memory.Calm},
			{750, memory.Slow},
			{710, memory.Slow},
			{899, memory.Slow},
			{900, memory.Stopped},
			{860, memory.Stopped},
			{849, memory.Slow},
			{650, memory.Tight},
			{2000, memory.Stopped},
			{10, memory.Calm},
		} {
			s.use(tt.used)
			if got := s.keeper.Step(); got != tt.want {
				t.Errorf("%d in use: %v, want %v", tt.used, got, tt.want)
			}
		}
		want := []memory.Step{
			memory.Tight, memory.Calm, memory.Slow, memory.Stopped, memory.Slow, memory.Tight, memory.Stopped, memory.Calm,
		}
		if !slices.Equal(s.steps, want) {
			t.Errorf("told %v, want %v", s.steps, want)
		}
		if got := s.keeper.State().Scarce; got != 2 {
			t.Errorf("scarce %d times, want 2", got)
		}
	})
}

// TestHold: nobody waits until memory is scarce; then by what he publishes, longer as long as memory grows, and less once it falls.
func TestHold(t *testing.T) {
	run(t, func(s *stage) {
		hold := func() time.Duration { return s.keeper.Hold(1 << 20) }
		if s.use(700); hold() != 0 {
			t.Errorf("tight: held for %v", hold())
		}
		s.use(750)
		first := hold()
		if first <= 0 || s.keeper.Hold(1<<10) >= first {
			t.Errorf("slow: held for %v, and for less for less: %v", first, s.keeper.Hold(1<<10))
		}
		s.use(750)
		if got := hold(); got != first {
			t.Errorf("without growth: held for %v, want %v as before", got, first)
		}
		s.use(800)
		grown := hold()
		if grown <= first {
			t.Errorf("grown: held for %v, want more than %v", grown, first)
		}
		if s.use(780); hold() >= grown {
			t.Errorf("fallen: held for %v, want less than %v", hold(), grown)
		}
		for used := int64(781); used < 820; used++ {
			s.use(used)
		}
		least := hold()
		if s.use(950); hold() != least || least > time.Minute {
			t.Errorf("used up: held for %v, before for %v, want both the longest", hold(), least)
		}
		if s.use(100); hold() != 0 {
			t.Errorf("calm again: held for %v", hold())
		}
	})
}

// TestRelief: room is made as soon as memory becomes tight, and again as long as it is scarce; and what is in use is found out
// although those who are slowed down leave no garbage.
func TestRelief(t *testing.T) {
	run(t, func(s *stage) {
		s.use(500)
		if s.relieved.Load() != 0 {
			t.Error("relieved while calm")
		}
		s.relief = func() { s.used.Store(300) }
		s.use(650)
		if s.relieved.Load() != 1 || s.keeper.Step() != memory.Calm {
			t.Errorf("tight: relieved %d times, now %v", s.relieved.Load(), s.keeper.Step())
		}
		s.relief = nil
		s.use(800)
		before := s.relieved.Load()
		pass(30 * time.Second)
		if n := s.relieved.Load() - before; n < 5 || n > 7 {
			t.Errorf("scarce for 30 s: relieved %d times, want about 6", n)
		}
		s.used.Store(100) // and nothing that would have garbage collected
		pass(2 * time.Second)
		if got := s.keeper.Step(); got != memory.Calm {
			t.Errorf("what is in use has fallen by itself: %v, want calm", got)
		}
	})
}

// TestReliefTakesLong: while one goes on there is no other, and all else goes on.
func TestReliefTakesLong(t *testing.T) {
	run(t, func(s *stage) {
		s.relief = func() { pass(time.Minute) }
		s.use(800)
		pass(30 * time.Second)
		if s.relieved.Load() != 1 {
			t.Errorf("relieved %d times, want once", s.relieved.Load())
		}
		if s.use(950); s.keeper.Step() != memory.Stopped {
			t.Errorf("got %v, want stopped", s.keeper.Step())
		}
	})
}

// TestRefuse: connections are refused only when nothing else is left, and counted.
func TestRefuse(t *testing.T) {
	run(t, func(s *stage) {
		if s.use(800); s.keeper.Refuse() {
			t.Error("refused while slow")
		}
		s.use(950)
		for range 2 {
			if !s.keeper.Refuse() {
				t.Error("accepted while stopped")
			}
		}
		if s.use(10); s.keeper.Refuse() {
			t.Error("refused while calm")
		}
		if got := s.keeper.State().Refused; got != 2 {
			t.Errorf("%d refused, want 2", got)
		}
	})
}

// TestLog: one line when it begins and one when it ends, with figures.
func TestLog(t *testing.T) {
	run(t, func(s *stage) {
		for _, used := range []int64{100, 650, 760, 770, 820, 650, 100} {
			s.use(used)
		}
		lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "used=760 goal=1000 limit=1100") || !strings.Contains(lines[1], "peak=820") {
			t.Errorf("got %s", strings.Join(lines, "\n"))
		}
		for _, used := range []int64{950, 800, 100} {
			s.use(used)
		}
		if text := s.log.String(); !strings.Contains(text, "level=ERROR") || strings.Count(text, "no longer scarce") != 2 {
			t.Errorf("got %s", text)
		}
	})
}

// TestState is what monitoring reads.
func TestState(t *testing.T) {
	run(t, func(s *stage) {
		s.use(800)
		got, err := json.Marshal(s.keeper.State())
		if err != nil {
			t.Fatal(err)
		}
		since, err := json.Marshal(s.keeper.State().Since)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`{"limit":1100,"goal":1000,"from":"memory_limit","used":800,"state":"slow","since":%s,"pace":16777216,"scarce":1,"refused":0}`, since)
		if string(got) != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
}

// TestNobody: a server without a budget is never short of memory.
func TestNobody(t *testing.T) {
	var k *memory.Keeper
	k.Run(t.Context())
	if k.Step() != memory.Calm || k.State() != nil || k.Hold(1<<30) != 0 || k.Refuse() || k.Shares() != (memory.Shares{}) {
		t.Error("not calm")
	}
}

// TestRealUsage: what is kept alive is seen.
func TestRealUsage(t *testing.T) {
	k := memory.New(memory.Config{
		Budget: memory.Budget{Bytes: 8 << 30, GoalBytes: 8 << 30}, Relieve: func() {}, Changed: func(memory.Step) {},
		Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		k.Run(ctx)
		close(done)
	}()
	var kept [][]byte
	for k.State().UsedBytes < 48<<20 {
		if kept = append(kept, make([]byte, 1<<20)); len(kept) > 1024 {
			t.Fatalf("1 GiB is kept, and %d bytes are seen", k.State().UsedBytes)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
		}
	}
	if len(kept) < 16 {
		t.Errorf("48 MiB are seen with %d MiB", len(kept))
	}
	cancel()
	<-done
}
