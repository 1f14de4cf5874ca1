package segment_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"

	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

func TestSet(t *testing.T) {
	for seed := range uint64(60) {
		r := newRandom(seed)
		first := r.Uint64N(1000)
		last := first + r.Uint64N(5000)
		want := map[uint64]bool{}
		for range r.IntN(1 << r.IntN(12)) {
			want[first+r.Uint64N(last-first+1)] = true
		}
		var list []uint64
		for s := range want {
			list = append(list, s)
		}
		slices.Sort(list)
		shuffled := slices.Clone(list)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		shuffled = append(shuffled, last+1, first-1) // out of bounds: they are left out
		set := segment.NewSet(first, last, shuffled)
		for at := first - min(first, 3); at < last+3; at++ {
			i, _ := slices.BinarySearch(list, at)
			next, hasNext := set.Next(at)
			if hasNext != (i < len(list)) || hasNext && next != list[i] {
				t.Fatalf("seed %d: Next(%d) gives %d, %v", seed, at, next, hasNext)
			}
			j, _ := slices.BinarySearch(list, at+1)
			prev, hasPrev := set.Prev(at)
			if hasPrev != (j > 0) || hasPrev && prev != list[j-1] {
				t.Fatalf("seed %d: Prev(%d) gives %d, %v", seed, at, prev, hasPrev)
			}
			if got := set.Count(at); got != uint64(len(list)-i) {
				t.Fatalf("seed %d: Count(%d) gives %d, want %d", seed, at, got, len(list)-i)
			}
		}
	}
	if segment.NewSet(0, 1<<60, []uint64{5, 1 << 59}).Bitmap() || !segment.NewSet(1, 64, []uint64{3, 4}).Bitmap() {
		t.Error("a set is not of the smaller form")
	}
}

func TestSorted(t *testing.T) {
	for seed := range uint64(30) {
		r := newRandom(seed)
		var list []string
		for i := range 1 + r.IntN(2000) {
			list = append(list, strings.Repeat("same.", int(seed%3))+subject(r, i%700))
		}
		got := segment.Sorted(list)
		slices.Sort(list)
		if want := slices.Compact(list); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %d subjects, want %d, or another order", seed, len(got), len(want))
		}
	}
	if got := segment.Sorted([]string{"a\x00", "a", "", "a\x00\x00", "a"}); !slices.Equal(got, []string{"", "a", "a\x00", "a\x00\x00"}) {
		t.Errorf("got %q", got)
	}
}

func TestBloom(t *testing.T) {
	for _, keys := range []int{1, 10, 1000, 50_000} {
		if hits := segment.BloomHits(keys); hits > 5+keys/60 {
			t.Errorf("%d of %d keys seem to be there and are not", hits, keys)
		}
	}
}

// TestHashText holds the hash still: it is part of the format.
func TestHashText(t *testing.T) {
	for _, c := range []struct {
		salt uint64
		text string
		want uint64
	}{
		{0, "", 0xdc3c66b27fd948aa},
		{0, "orders", 0x6fbcd5f8299ac209},
		{1, "orders", 0x6251d90d77998059},
		{0, "orders.europe.customer.00000001", 0xe6b777a8556ecd3c},
	} {
		if got := segment.HashText(c.salt, c.text); got != c.want {
			t.Errorf("HashText(%d, %q) is %#x, want %#x", c.salt, c.text, got, c.want)
		}
	}
	seen := map[uint64]string{}
	for i := range 20_000 {
		for _, text := range []string{fmt.Sprintf("a.%d", i), fmt.Sprintf("orders.%08d.x", i), strings.Repeat("a", i%3000)} {
			h := segment.HashText(0, text)
			if other, there := seen[h]; there && other != text {
				t.Fatalf("%q and %q have the same hash", text, other)
			}
			seen[h] = text
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	d := random(newRandom(4), shape{streams: 4, messages: 2000, subjects: 50, facts: 2000, payload: 100})
	fs := vfs.NewMemory()
	d.write(t, fs, segment.WriterConfig{BlockBytes: 512})
	const limit = 200 << 10
	cache := segment.NewCache(limit)
	list := d.queries(newRandom(4), 300)
	one, err := segment.Open(fs, fileName, segment.Config{Cache: cache})
	ok(t, err)
	two, err := segment.Open(fs, fileName, segment.Config{Cache: cache})
	ok(t, err)
	check(t, one, list)
	check(t, two, list)
	if n := cache.Bytes(); n > limit || n < limit/2 {
		t.Errorf("the cache has %d bytes, want at most %d and not much less", n, limit)
	}
	ok(t, one.Close())
	ok(t, two.Close())
	ok(t, two.Close()) // again
	if _, _, err := one.Load(d.streams[0], d.messages[d.streams[0]][0].Sequence); err == nil {
		t.Error("a segment that is closed answers")
	}
	if n := cache.Bytes(); n != 0 {
		t.Errorf("the cache has %d bytes of segments that are closed", n)
	}
}

// TestCacheSavesReads counts what is read the second time.
func TestCacheSavesReads(t *testing.T) {
	d := random(newRandom(6), shape{streams: 2, messages: 500, subjects: 50, facts: 500, payload: 100, gaps: true})
	r := vfs.NewRecorder(memory(t, d.file(t, segment.WriterConfig{BlockBytes: 512})), nil)
	s := open(t, r, segment.Config{Cache: segment.NewCache(16 << 20)})
	var list []query
	for _, q := range d.queries(newRandom(6), 40) {
		if !strings.HasPrefix(q.name, "Messages") && !strings.HasPrefix(q.name, "Facts") { // these go past the cache
			list = append(list, q)
		}
	}
	check(t, s, list)
	before := len(r.Ops())
	check(t, s, list)
	if n := len(r.Ops()) - before; n != 0 {
		t.Errorf("%d reads the second time, want 0", n)
	}
}

// TestCacheKeepsWhatIsUsed uses one message again and again while all others pass.
func TestCacheKeepsWhatIsUsed(t *testing.T) {
	d := random(newRandom(9), shape{streams: 1, messages: 2000, subjects: 5, payload: 100})
	r := vfs.NewRecorder(memory(t, d.file(t, segment.WriterConfig{BlockBytes: 512})), nil)
	s := open(t, r, segment.Config{Cache: segment.NewCache(200 << 10)})
	list := d.messages[d.streams[0]]
	load := func(m segment.Message) (reads int) {
		before := len(r.Ops())
		_, _, err := s.Load(d.streams[0], m.Sequence)
		ok(t, err)
		return len(r.Ops()) - before
	}
	load(list[0])
	for i, m := range list[1:] {
		load(m)
		if n := load(list[0]); n != 0 {
			t.Fatalf("after %d others, %d reads for the message that is used all the time", i+1, n)
		}
	}
	if load(list[100]) == 0 {
		t.Error("the cache keeps all: the test needs more messages")
	}
}

// TestLargeMessagesAreAlone wants to read a small message without its large neighbours.
func TestLargeMessagesAreAlone(t *testing.T) {
	w, m := create(t, segment.WriterConfig{})
	for i := range uint64(9) {
		payload := []byte("small")
		if i%2 == 1 {
			payload = make([]byte, 300_000)
		}
		ok(t, w.Add(1, segment.Message{Sequence: i, Subject: "a", Payload: payload}))
	}
	_, err := w.Finish()
	ok(t, err)
	r := vfs.NewRecorder(m, nil)
	s := open(t, r, segment.Config{})
	for i := uint64(0); i < 9; i += 2 {
		before := len(r.Ops())
		_, found, err := s.Load(1, i)
		if err != nil || !found {
			t.Fatalf("Load(%d): %v, %v", i, found, err)
		}
		for _, op := range r.Ops()[before:] {
			if op.Bytes > 1000 {
				t.Errorf("%d bytes are read for the small message %d", op.Bytes, i)
			}
		}
	}
}

func TestExpansionIsRefused(t *testing.T) {
	zeros := make([]byte, 8<<20)
	small := s2.Encode(nil, zeros)
	if _, err := segment.Decompress(small, len(zeros)); err == nil {
		t.Errorf("%d bytes may become %d", len(small), len(zeros))
	}
	small = s2.Encode(nil, zeros[:1<<20])
	if got, err := segment.Decompress(small, 1<<20); err != nil || len(got) != 1<<20 {
		t.Errorf("a megabyte is refused: %v", err)
	}
	if _, err := segment.Decompress(small, 1<<20-1); err == nil {
		t.Error("another length than was told is not refused")
	}
}

// TestPostingsAreChecked reads pages of one subject, a, that lie about its sequences. Right are 1, 6 and 11.
func TestPostingsAreChecked(t *testing.T) {
	head := func(count, span byte) []byte { return []byte{0, 1, 'a', count, 0, span} }
	for _, c := range []struct {
		name  string
		page  []byte
		valid bool
	}{
		{"distances", append(head(3, 10), 1, 2, 4, 4), true},
		{"distances, another count", append(head(4, 10), 1, 2, 4, 4), false},
		{"distances, another last", append(head(3, 11), 1, 2, 4, 4), false},
		{"distances, too far", append(head(3, 9), 1, 2, 4, 4), false},
		{"distances, cut", append(head(3, 10), 1, 2, 4, 0x84), false},
		{"distances, too large", append(head(3, 10), 1, 11, 4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1), false},
		{"bitmap", append(head(3, 10), 2, 2, 0x21, 0x04), true},
		{"bitmap, another count", append(head(4, 10), 2, 2, 0x21, 0x04), false},
		{"bitmap, another first", append(head(3, 10), 2, 2, 0x22, 0x04), false},
		{"bitmap, another last", append(head(3, 10), 2, 2, 0x21, 0x08), false},
		{"bitmap, another length", append(head(3, 10), 2, 3, 0x21, 0x04, 0), false},
		{"an unknown form", append(head(3, 10), 3, 2, 4, 4), false},
		{"more than fits in the span", append(head(12, 10), 1, 2, 4, 4), false},
		{"no message", head(0, 0)[:5], false},
		{"no form", head(3, 10), false},
	} {
		if sequences, err := segment.WalkPage(c.page); (err == nil) != c.valid || c.valid && sequences != 3 {
			t.Errorf("%s: %d sequences, error %v", c.name, sequences, err)
		}
	}
}

// TestSharingIsBounded reads a page that claims a long subject in every few bytes.
func TestSharingIsBounded(t *testing.T) {
	page := binary.AppendUvarint([]byte{0}, 60_000)
	page = append(page, make([]byte, 60_000)...)
	page = append(page, 1, 0) // count, first
	for range 10_000 {
		page = binary.AppendUvarint(page, 60_000)
		page = append(page, 0, 1, 0)
	}
	if sequences, err := segment.WalkPage(page); err == nil || sequences > 10 {
		t.Errorf("read %d subjects of 60000 bytes from a page of %d: %v", sequences, len(page), err)
	}
}

// TestReads counts the reads of questions that filters and indexes answer.
func TestReads(t *testing.T) {
	d := random(newRandom(7), shape{streams: 1, messages: 800, subjects: 300, facts: 500, payload: 100})
	d.tables = []table{{stream: d.streams[0], kind: 1, facts: randomFacts(newRandom(7), 400)}}
	r := vfs.NewRecorder(memory(t, d.file(t, segment.WriterConfig{BlockBytes: 512})), nil)
	s := open(t, r, segment.Config{})
	stream := d.streams[0]
	for _, c := range []struct {
		name string
		want int
		ask  func() error
	}{
		{"Meta", 1, func() error { _, _, err := s.Meta(stream, d.messages[stream][70].Sequence); return err }},
		{"Load", 2, func() error { _, _, err := s.Load(stream, d.messages[stream][70].Sequence); return err }},
		{"Next", 0, func() error { _, _, err := s.Next(stream, d.messages[stream][70].Sequence); return err }},
		{"CountOf >", 0, func() error { _, err := s.CountOf(stream, ">", d.messages[stream][70].Sequence); return err }},
		{"NextOf what is not there, first", 1, func() error { _, _, err := s.NextOf(stream, "absent", 0); return err }},
		{"NextOf what is not there", 0, func() error { _, _, err := s.NextOf(stream, "absent.too", 0); return err }},
		{"NextOf a token that is not there", 0, func() error { _, _, err := s.NextOf(stream, "*.absent.>", 0); return err }},
		{"a fact that is not there, first", 1, func() error { _, _, err := s.Fact(stream, 1, segment.Hash{1}); return err }},
		{"a fact that is not there", 0, func() error { _, _, err := s.Fact(stream, 1, segment.Hash{2}); return err }},
		{"a fact", 1, func() error { _, _, err := s.Fact(stream, 1, d.tables[0].facts[0].Hash); return err }},
	} {
		before := len(r.Ops())
		ok(t, c.ask())
		if got := len(r.Ops()) - before; got != c.want {
			t.Errorf("%s: %d reads, want %d", c.name, got, c.want)
		}
	}
}

func TestConcurrent(t *testing.T) {
	d := random(newRandom(8), shape{streams: 2, messages: 300, subjects: 30, facts: 300, payload: 50, gaps: true})
	fs := memory(t, d.file(t, segment.WriterConfig{BlockBytes: 512, Compress: true}))
	s := open(t, fs, segment.Config{Cache: segment.NewCache(100 << 10)})
	list := d.queries(newRandom(8), 20)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, q := range list {
				if got, err := q.ask(s); err != nil || !same(got, q.want) {
					t.Errorf("%s: got %v, %v, want %v", q.name, got, err, q.want)
				}
			}
			if err := s.Verify(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestMemory(t *testing.T) {
	const messages = 20_000
	w, m := create(t, segment.WriterConfig{})
	for i := range uint64(messages) {
		ok(t, w.Add(1, segment.Message{Sequence: i + 1, Subject: fmt.Sprintf("orders.%08d", i), Payload: make([]byte, 100)}))
	}
	for i := range uint64(messages) {
		h := segment.Hash{0: byte(i >> 16), 1: byte(i >> 8), 2: byte(i)}
		ok(t, w.AddFact(1, 0, h, segment.Value{i}))
	}
	_, err := w.Finish()
	ok(t, err)
	s := open(t, m, segment.Config{})
	if n := s.MemoryBytes(); n > 4000 {
		t.Errorf("an open file takes %d bytes, want at most 4000", n)
	}
	_, _, err = s.Fact(1, 0, segment.Hash{})
	ok(t, err)
	if n := s.MemoryBytes(); n > 4000+messages*135/100 {
		t.Errorf("with its facts it takes %d bytes, want at most 1.35 a fact", n)
	}
	_, _, err = s.NextOf(1, "orders.*", 1)
	ok(t, err)
	if n := s.MemoryBytes(); n > 4000+messages*(135+270)/100 {
		t.Errorf("with its subjects it takes %d bytes, want at most 2.7 a subject", n)
	}
}
