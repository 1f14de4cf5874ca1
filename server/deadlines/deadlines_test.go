package deadlines_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/deadlines"
)

// reached collects what was due, and when.
type reached struct {
	mu   sync.Mutex // guards what follows
	keys []string
	at   []time.Duration
}

// TestDeadlines sets, changes and removes deadlines, and looks what is reached and when.
func TestDeadlines(t *testing.T) {
	tests := []struct {
		name string
		run  func(s *deadlines.Set[string, int], in func(time.Duration) time.Time)
		keys []string
		at   []time.Duration
	}{
		{"none", func(*deadlines.Set[string, int], func(time.Duration) time.Time) {}, nil, nil},
		{"one", func(s *deadlines.Set[string, int], in func(time.Duration) time.Time) {
			s.Put("a", in(time.Second), 1)
		}, []string{"a"}, []time.Duration{time.Second}},
		{"past", func(s *deadlines.Set[string, int], in func(time.Duration) time.Time) {
			s.Put("a", in(-time.Hour), 1)
		}, []string{"a"}, []time.Duration{0}},
		{"far", func(s *deadlines.Set[string, int], in func(time.Duration) time.Time) {
			s.Put("a", in(90*time.Minute), 1)
		}, []string{"a"}, []time.Duration{90 * time.Minute}},
		{"in another order", func(s *deadlines.Set[string, int], in func(time.Duration) time.Time) {
			s.Put("b", in(2*time.Second), 1)
			s.Put("a", in(time.Second), 1)
			s.Put("c", in(3*time.Second), 1)
		}, []string{"a", "b", "c"}, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}},
		{"moved back", func(s *deadlines.Set[string, int], in func(time.Duration) time.Time) {
			s.Put("a", in(time.Second), 1)
			s.Put("a", in(5*time.Second), 2)
		}, []string{"a"}, []time.Duration{5 * time.Second}},
		{"moved forward", func(s *deadlines.Set[string, int], in func(time.Duration) time.Time) {
			s.Put("a", in(5*time.Second), 1)
			s.Put("a", in(time.Second), 2)
		}, []string{"a"}, []time.Duration{time.Second}},
		{"removed", func(s *deadlines.Set[string, int], in func(time.Duration) time.Time) {
			s.Put("a", in(time.Second), 1)
			s.Put("b", in(2*time.Second), 1)
			s.Remove("a")
			s.Remove("c")
		}, []string{"b"}, []time.Duration{2 * time.Second}},
		{"stopped", func(s *deadlines.Set[string, int], in func(time.Duration) time.Time) {
			s.Put("a", in(time.Second), 1)
			s.Stop()
			s.Put("b", in(time.Second), 1)
			s.Stop()
		}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var got reached
				s := deadlines.New(func(key string, _ int) {
					got.mu.Lock()
					defer got.mu.Unlock()
					got.keys = append(got.keys, key)
					got.at = append(got.at, time.Since(begin))
				})
				tt.run(s, begin.Add)
				<-time.After(2 * time.Hour)
				synctest.Wait()
				got.mu.Lock()
				defer got.mu.Unlock()
				if !slices.Equal(got.keys, tt.keys) || !slices.Equal(got.at, tt.at) {
					t.Errorf("got %v at %v, want %v at %v", got.keys, got.at, tt.keys, tt.at)
				}
				if n := s.Len(); n != 0 {
					t.Errorf("%d deadlines are left", n)
				}
				s.Stop()
			})
		})
	}
}

// TestModel sets, changes and removes deadlines at random while time goes on, and compares with a plain table.
func TestModel(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex // guards got
			got := map[int]time.Time{}
			s := deadlines.New(func(key int, at time.Time) {
				mu.Lock()
				defer mu.Unlock()
				if _, twice := got[key]; twice {
					t.Errorf("seed %d: %d was reached twice", seed, key)
				}
				got[key] = at
			})
			defer s.Stop()
			want := map[int]time.Time{}
			for range 300 {
				key := random.IntN(20)
				switch random.IntN(5) {
				case 0:
					s.Remove(key)
					delete(want, key)
				case 1, 2, 3:
					at := time.Now().Add(time.Duration(1+random.IntN(30)) * time.Second)
					s.Put(key, at, at)
					want[key] = at
				case 4:
					<-time.After(time.Duration(random.IntN(10))*time.Second + time.Millisecond)
					synctest.Wait()
					mu.Lock()
					for key, at := range want {
						due := !at.After(time.Now())
						if g, ok := got[key]; ok != due || ok && !g.Equal(at) {
							t.Fatalf("seed %d: %d is due: %v; reached: %v, for %v instead of %v", seed, key, due, ok, g, at)
						}
						if due {
							delete(want, key)
						}
					}
					clear(got)
					mu.Unlock()
				}
			}
			if s.Len() != len(want) {
				t.Errorf("seed %d: %d deadlines, want %d", seed, s.Len(), len(want))
			}
		})
	}
}

// BenchmarkPut is a deadline that comes and goes among many.
func BenchmarkPut(b *testing.B) {
	s := deadlines.New(func(int, string) {})
	defer s.Stop()
	begin := time.Now().Add(time.Hour)
	for i := range 100_000 {
		s.Put(i, begin.Add(time.Duration(i)*time.Second), "text")
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Put(-1, begin, "text")
		s.Remove(-1)
	}
}
