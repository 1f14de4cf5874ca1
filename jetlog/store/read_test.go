package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// readAll reads a stream from a sequence on, so many messages and bytes a call.
func readAll(t testing.TB, s *store.Stream, from uint64, filter jetlog.Filter, messages, bytes int) (all []uint64) {
	t.Helper()
	for {
		n := 0
		next, err := s.Read(from, filter, messages, bytes, func(m *jetlog.Message) bool {
			n++
			all = append(all, m.Sequence)
			if m.Sequence < from || !filter.Matches(m.Subject) || string(m.Payload) != payloadOf(m.Sequence) {
				t.Errorf("read from %d: %+v", from, m)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if want := s.State().Last + 1; next != max(want, from) {
				t.Errorf("the end of a read from %d is %d, want %d", from, next, want)
			}
			return all
		}
		if n > messages || next <= all[len(all)-1] {
			t.Fatalf("%d messages up to %d, next is %d", n, all[len(all)-1], next)
		}
		from = next
	}
}

// oneByOne is what readAll has to find.
func oneByOne(t testing.TB, s *store.Stream, from uint64, filter jetlog.Filter) (all []uint64) {
	t.Helper()
	seq, err := s.NextOf(filter, from)
	for ; err == nil && seq != 0; seq, err = s.NextOf(filter, seq+1) {
		all = append(all, seq)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func payloadOf(seq uint64) string { return fmt.Sprintf("payload of %d", seq) }

// layered returns a stream with messages in several files, in a table, and with holes everywhere.
func layered(t testing.TB, s *store.Store, random *rand.Rand) *store.Stream {
	t.Helper()
	stream := create(t, s, unlimited("S"))
	for i := range 2000 {
		subject := fmt.Sprintf("S.%d.%d", random.IntN(3), random.IntN(40))
		r := propose(t, stream, &command.Publish{Time: int64(i), Subject: subject, Payload: []byte(payloadOf(uint64(i + 1)))})
		if random.IntN(3) == 0 {
			propose(t, stream, &command.Delete{Time: int64(i), Sequence: 1 + random.Uint64N(r.Sequence)})
		}
		if random.IntN(400) == 0 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(1500) == 0 {
			if err := s.Compact(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return stream
}

func TestRead(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := open(t, small(vfs.NewMemory()))
		stream := layered(t, s, random)
		for range 2 { // once more when all is in files
			for _, filter := range []jetlog.Filter{
				nil, {">"}, {"S.1.17"}, {"S.2.*"}, {"S.*.3"}, {"S.1.>", "S.*.5"}, {"S.0.1", "S.0.2"}, {"S.9"}, {"x"},
			} {
				for _, from := range []uint64{0, 1, 777, 1999, 2000, 2001, 5000} {
					want := oneByOne(t, stream, from, filter)
					messages, bytes := 1+random.IntN(600), 1+random.IntN(20_000)
					if got := readAll(t, stream, from, filter, messages, bytes); !slices.Equal(got, want) {
						t.Errorf("seed %d: %q from %d, %d messages a call: %v, want %v", seed, filter, from, messages, got, want)
					}
				}
			}
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		closeStore(t, s)
	}
}

func TestReadInMemory(t *testing.T) {
	s := open(t, small(vfs.NewMemory()))
	cfg := unlimited("S")
	cfg.Storage = config.MemoryStorage
	stream := create(t, s, cfg)
	for i := range 700 {
		propose(t, stream, &command.Publish{Time: 1, Subject: fmt.Sprintf("S.%d", i%5), Payload: []byte(payloadOf(uint64(i + 1)))})
	}
	if got, want := readAll(t, stream, 3, jetlog.Filter{"S.*"}, 300, 1<<20), oneByOne(t, stream, 3, nil); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	closeStore(t, s)
}

func TestReadStops(t *testing.T) {
	s := open(t, small(vfs.NewMemory()))
	stream := create(t, s, unlimited("S"))
	for i := range 100 {
		propose(t, stream, &command.Publish{Time: 1, Subject: "S.a", Payload: []byte(payloadOf(uint64(i + 1)))})
	}
	for _, where := range []string{"table", "file"} {
		for _, c := range []struct {
			name                   string
			messages, bytes, stop  int
			wantMessages, wantNext int
		}{
			{"messages", 10, 1 << 20, 100, 10, 11},
			{"bytes, the last one included", 100, 30, 100, 3, 4},
			{"the caller", 100, 1 << 20, 7, 7, 8},
			{"nothing wanted", 0, 1 << 20, 7, 0, 1},
			{"no bytes wanted", 10, 0, 7, 0, 1},
			{"the end", 1000, 1 << 20, 1000, 100, 101},
		} {
			n := 0
			next, err := stream.Read(1, nil, c.messages, c.bytes, func(*jetlog.Message) bool {
				n++
				return n < c.stop
			})
			if err != nil || n != c.wantMessages || next != uint64(c.wantNext) {
				t.Errorf("%s, %s: %d messages, next %d, %v; want %d, %d", where, c.name, n, next, err, c.wantMessages, c.wantNext)
			}
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	if _, err := stream.Read(1, nil, 10, 10, func(*jetlog.Message) bool { return true }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("read from a closed store: %v", err)
	}
	if _, err := stream.Load(1); !errors.Is(err, store.ErrClosed) {
		t.Errorf("load from a closed store: %v", err)
	}
	if got := s.Damage(); len(got) > 0 {
		t.Errorf("damage: %v", got)
	}
}

func TestReadWhileAllChanges(t *testing.T) {
	s := open(t, small(vfs.NewMemory()))
	stream := create(t, s, unlimited("S"))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 6000 {
			c := command.Command(&command.Publish{Time: 1, Subject: "S.a", Payload: []byte(payloadOf(uint64(i + 1)))})
			if _, err := stream.Propose(context.Background(), c); err != nil {
				t.Error(err)
			}
			// Even sequences go, odd ones stay.
			if i%2 == 1 {
				if _, err := stream.Propose(context.Background(), &command.Delete{Time: 1, Sequence: 2 * (1 + random.Uint64N(uint64(i+1)/2))}); err != nil {
					t.Error(err)
				}
			}
			if i%500 == 499 {
				if err := errors.Join(s.Flush(), s.Compact()); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	gone := map[uint64]bool{}
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		default:
		}
		seen := map[uint64]bool{}
		last := uint64(0)
		next, err := stream.Read(1, nil, 1<<30, 1<<30, func(m *jetlog.Message) bool {
			if m.Sequence <= last || string(m.Payload) != payloadOf(m.Sequence) || gone[m.Sequence] {
				t.Errorf("after %d: %+v", last, m)
			}
			last, seen[m.Sequence] = m.Sequence, true
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		for seq := uint64(1); seq < next; seq++ {
			switch {
			case seen[seq]:
			case seq%2 == 1:
				t.Fatalf("message %d is missing", seq)
			default:
				gone[seq] = true
			}
		}
	}
	closeStore(t, s)
}
