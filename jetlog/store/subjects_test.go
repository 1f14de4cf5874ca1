package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/vfs"
)

// TestSubjects walks the subjects of streams whose messages are in memory, in files, in both, and partly gone, and
// compares with what one look under the lock finds.
func TestSubjects(t *testing.T) {
	for _, storage := range []config.Storage{config.FileStorage, config.MemoryStorage} {
		t.Run(fmt.Sprint(storage), func(t *testing.T) {
			s := open(t, small(vfs.NewMemory()))
			defer closeStore(t, s)
			cfg := unlimited("s")
			cfg.Storage = storage
			stream := create(t, s, cfg)
			random := rand.New(rand.NewPCG(3, 4))
			var last uint64
			for step := range 60 {
				for range random.IntN(100) {
					name := fmt.Sprintf("s.%d.%d", random.IntN(2), random.IntN(300))
					last = propose(t, stream, &command.Publish{Time: 1, Subject: name}).Sequence
				}
				switch random.IntN(5) {
				case 0:
					propose(t, stream, &command.Purge{Time: 1, Filter: fmt.Sprintf("s.*.%d", random.IntN(300))})
				case 1:
					propose(t, stream, &command.Purge{Time: 1, Sequence: last / 2})
				case 2:
					for range 50 {
						propose(t, stream, &command.Delete{Time: 1, Sequence: 1 + random.Uint64N(last+1)})
					}
				case 3:
					if err := s.Flush(); err != nil {
						t.Fatal(err)
					}
				}
				for _, filter := range []jetlog.Filter{nil, {"s.1.>"}, {"s.0.7"}, {"s.*.3", "s.0.*"}} {
					compareSubjects(t, step, stream, filter)
				}
			}
		})
	}
}

// subjectWalker is a *store.Stream.
type subjectWalker interface {
	View(do func(*jetlog.Stream, jetlog.Messages) error) error
	Subjects(ctx context.Context, filter jetlog.Filter, yield func(string, jetlog.SubjectState) bool) error
	CountSubjects(ctx context.Context) (int, error)
	SubjectCount() (int, bool)
}

func compareSubjects(t *testing.T, step int, stream subjectWalker, filter jetlog.Filter) {
	t.Helper()
	want, got := map[string]jetlog.SubjectState{}, map[string]jetlog.SubjectState{}
	err := stream.View(func(_ *jetlog.Stream, m jetlog.Messages) error {
		clear(want)
		return m.Subjects(filter, func(name string, state jetlog.SubjectState) bool { want[name] = state; return true })
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	err = stream.Subjects(t.Context(), filter, func(name string, state jetlog.SubjectState) bool {
		names, got[name] = append(names, name), state
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) || !slices.IsSorted(names) || len(names) != len(want) {
		t.Fatalf("step %d, filter %v: got %v, want %v", step, filter, got, want)
	}
	if filter != nil {
		return
	}
	n, err := stream.CountSubjects(t.Context())
	if err != nil || n != len(want) {
		t.Fatalf("step %d: counted %d, want %d (%v)", step, n, len(want), err)
	}
	if n, known := stream.SubjectCount(); known && n != len(want) {
		t.Fatalf("step %d: known %d, want %d", step, n, len(want))
	}
}

// TestSubjectsEnd ends a walk by its context, and by who is walked with.
func TestSubjectsEnd(t *testing.T) {
	s := open(t, small(vfs.NewMemory()))
	defer closeStore(t, s)
	stream := create(t, s, unlimited("s"))
	for i := range 1000 {
		propose(t, stream, &command.Publish{Time: 1, Subject: fmt.Sprintf("s.%d", i)})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := stream.CountSubjects(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	seen := 0
	if err := stream.Subjects(t.Context(), nil, func(string, jetlog.SubjectState) bool { seen++; return seen < 7 }); err != nil || seen != 7 {
		t.Errorf("%d subjects, %v", seen, err)
	}
}
