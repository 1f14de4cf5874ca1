package store_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// checkPeek: whatever is known at once is what Load says, and it returns how much is.
func checkPeek(t *testing.T, stream *store.Stream, subjects []string) (known int) {
	t.Helper()
	for seq := uint64(0); seq < stream.State().Last+2; seq++ {
		got, ok := stream.Peek(seq)
		if !ok {
			continue
		}
		known++
		if want, err := stream.Load(seq); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("message %d is %+v, want %+v, %v", seq, got, want, err)
		}
	}
	for _, subject := range subjects {
		got, ok := stream.PeekLast(subject)
		if !ok {
			continue
		}
		known++
		seq, err := stream.LastOf(jetlog.Filter{subject}, ^uint64(0))
		if err != nil || got.Sequence != seq || seq != 0 && (got.Subject != subject || string(got.Payload) != payloadOf(seq)) {
			t.Errorf("the last of %s is %+v, want message %d, %v", subject, got, seq, err)
		}
	}
	return known
}

// layeredSubjects are those of layered, and some of which there is nothing.
func layeredSubjects() (all []string) {
	for i := range 4 {
		for j := range 41 {
			all = append(all, fmt.Sprintf("S.%d.%d", i, j))
		}
	}
	return all
}

// TestPeek: with files and what has gone from them, before and after everything is in files.
func TestPeek(t *testing.T) {
	for seed := range uint64(4) {
		disk := vfs.NewMemory()
		s := open(t, small(disk))
		stream := layered(t, s, rand.New(rand.NewPCG(seed, 2)))
		subjects := layeredSubjects()
		if checkPeek(t, stream, subjects) == 0 {
			t.Errorf("seed %d: nothing is known at once", seed)
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		checkPeek(t, stream, subjects)
		closeStore(t, s)
	}
}

// TestPeekCold: what only a file has is not known until somebody has read it.
func TestPeekCold(t *testing.T) {
	disk := vfs.NewMemory()
	s := open(t, small(disk))
	stream := create(t, s, unlimited("S"))
	for i := range 3 {
		publishOne(t, stream, i)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	s = open(t, small(disk))
	defer closeStore(t, s)
	stream = s.Streams()[0]
	if m, known := stream.Peek(2); known {
		t.Fatalf("got %+v, which nobody has read", m)
	}
	if _, err := stream.Load(2); err != nil {
		t.Fatal(err)
	}
	if m, known := stream.Peek(2); !known || m.Sequence != 2 {
		t.Errorf("got %+v, %v after it was read", m, known)
	}
}

// TestPeekInMemory: a stream in memory knows everything.
func TestPeekInMemory(t *testing.T) {
	s := open(t, small(vfs.NewMemory()))
	defer closeStore(t, s)
	cfg := unlimited("S")
	cfg.Storage = config.MemoryStorage
	stream := create(t, s, cfg)
	for i := range 10 {
		publishOne(t, stream, i)
	}
	if got, want := checkPeek(t, stream, []string{"S.1", "S.9", "x"}), 12+3; got != want {
		t.Errorf("%d answers are known, want %d", got, want)
	}
}
