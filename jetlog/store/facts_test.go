package store_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"runnel/jetlog/command"
	"runnel/jetlog/rescue"
	"runnel/jetlog/segment"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// manySubjects is how many subjects the stream of scattered has.
const manySubjects = 40 * 7

func manySubject(i int) string { return fmt.Sprintf("S.%d", i) }

// scattered writes a store with a stream in many files, each with subjects of its own and one that all have.
func scattered(t *testing.T) (store.Config, *store.Store) {
	t.Helper()
	cfg := store.Config{
		Dir: filepath.Join(t.TempDir(), "store"), LogSegmentBytes: 1 << 16, LogBytes: 1 << 20, ScrubBytes: -1,
		SegmentBytes: 1 << 12,
	}
	s := open(t, cfg)
	stream := create(t, s, unlimited("S"))
	for i := range manySubjects {
		propose(t, stream, &command.Publish{Time: 1, Subject: manySubject(i), Payload: make([]byte, 60)})
		if i%7 == 6 {
			propose(t, stream, &command.Publish{Time: 1, Subject: "S.all", Payload: make([]byte, 60)})
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cfg, s
}

// checkScattered compares the state of each subject with what it should be; deleted ones have nothing.
func checkScattered(t *testing.T, stream *store.Stream, deleted map[int]bool) {
	t.Helper()
	for i := range manySubjects {
		want, seq := uint64(1), uint64(i+i/7+1)
		if deleted[i] {
			want, seq = 0, 0
		}
		if got, err := stream.Subject(manySubject(i)); err != nil || got.Count != want || got.Last != seq {
			t.Fatalf("subject %d: got %+v, %v, want %d at %d", i, got, err, want, seq)
		}
	}
	if n, err := stream.CountSubjects(t.Context()); err != nil || n != manySubjects+1-len(deleted) {
		t.Fatalf("%d subjects, %v, want %d", n, err, manySubjects+1-len(deleted))
	}
	if got, err := stream.Subject("S.all"); err != nil || got.Count != manySubjects/7 || got.First != 8 {
		t.Fatalf("the subject of all files: got %+v, %v", got, err)
	}
}

// TestFactsMove has more files than are asked at once for a subject. Their facts go into a few files, from where
// all that is asked is answered, before and after the store is opened again.
func TestFactsMove(t *testing.T) {
	cfg, s := scattered(t)
	stream := s.Stream("A", "S")
	known := func() bool {
		// What these read is in memory then.
		if seq, err := stream.LastOf([]string{manySubject(3)}, 1<<60); err != nil || seq != 4 {
			t.Fatal(seq, err)
		}
		if _, err := stream.Load(4); err != nil {
			t.Fatal(err)
		}
		_, known := stream.PeekLast(manySubject(3))
		return known
	}
	if known() {
		t.Error("all files were asked at once")
	}
	deleted := map[int]bool{5: true, 100: true}
	for i := range deleted {
		propose(t, stream, &command.Delete{Time: 1, Sequence: uint64(i + i/7 + 1)})
	}
	checkScattered(t, stream, deleted)
	for range 2 {
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := s.Compact(); err != nil {
			t.Fatal(err)
		}
		checkScattered(t, stream, deleted)
		if !known() {
			t.Error("too many files are asked for a subject")
		}
		closeStore(t, s)
		s = open(t, cfg)
		stream = s.Stream("A", "S")
		checkScattered(t, stream, deleted)
		deleted[200] = true
		propose(t, stream, &command.Delete{Time: 1, Sequence: 200 + 200/7 + 1})
	}
	propose(t, stream, &command.Purge{Time: 1, Sequence: 150})
	if got, err := stream.Subject(manySubject(3)); err != nil || got.Count != 0 {
		t.Errorf("a purged subject has %+v, %v", got, err)
	}
	if got, err := stream.Subject(manySubject(250)); err != nil || got.Count != 1 {
		t.Errorf("another has %+v, %v", got, err)
	}
	closeStore(t, s)
}

// TestRepairOfFacts damages the files that have facts alone: repair finds all subjects in the messages again.
func TestRepairOfFacts(t *testing.T) {
	cfg, s := scattered(t)
	if err := s.Compact(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	names, err := filepath.Glob(filepath.Join(cfg.Dir, "segments", "*"))
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for _, name := range names {
		f, err := segment.Open(vfs.Disk{}, name, segment.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Extents()) == 0 {
			damaged++
			flip(t, name, 60)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if damaged == 0 {
		t.Fatal("no file has facts alone")
	}
	result, err := rescue.Repair(cfg, "A", "S")
	if err != nil || result.LostMessages > 0 || len(result.Damage) != damaged {
		t.Fatalf("repaired: %+v, %v; %d files were damaged", result, err, damaged)
	}
	s = open(t, cfg)
	checkScattered(t, s.Stream("A", "S"), nil)
	closeStore(t, s)
	if found, err := rescue.Check(cfg); err != nil || len(found.Problems) > 0 {
		t.Errorf("check: %+v, %v", found, err)
	}
}
