package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

// rewrite writes everything that a file has into another one, as compaction does.
func rewrite(t *testing.T, s *segment.Segment, c segment.WriterConfig) *vfs.Memory {
	t.Helper()
	w, fs := create(t, c)
	for _, e := range s.Extents() {
		for m, err := range s.Messages(e.Stream, 0) {
			ok(t, err)
			ok(t, w.Add(e.Stream, m))
		}
	}
	for _, x := range s.Summary().Facts {
		for f, err := range s.Facts(x.Stream, x.Kind) {
			ok(t, err)
			ok(t, w.AddFact(x.Stream, x.Kind, f.Hash, f.Value))
		}
	}
	_, err := w.Finish()
	ok(t, err)
	return fs
}

// TestRotation writes the same data under one key after the other, from plain to plain again. Each file needs
// its own key, among whichever others, and no other; all answers stay the same.
func TestRotation(t *testing.T) {
	d := random(newRandom(21), shape{streams: 3, messages: 300, subjects: 20, facts: 200, payload: 60, gaps: true})
	list := d.queries(newRandom(21), 10)
	steps := []segment.WriterConfig{
		{BlockBytes: 512},
		{BlockBytes: 512, Key: key(t, 1)},
		{BlockBytes: 2048, Key: key(t, 2), Cipher: segment.AES256GCM, Compress: true},
		{BlockBytes: 512, Key: key(t, 2)}, // another file with the same key
		{Key: key(t, 3), Compress: true},
		{},
	}
	var before *segment.Segment
	seen := map[segment.FileID]bool{}
	for i, c := range steps {
		fs := vfs.NewMemory()
		if before == nil {
			d.write(t, fs, c)
		} else {
			fs = rewrite(t, before, c)
		}
		keys := []*segment.Key{key(t, 1), key(t, 2), key(t, 3)}
		for n := range len(keys) + 1 {
			rotated := slices.Concat(keys[n:], keys[:n])
			s := open(t, fs, segment.Config{Keys: rotated, Cache: segment.NewCache(1 << 20)})
			check(t, s, list)
			ok(t, s.Verify())
			before = s
		}
		id, sealed := before.KeyID()
		if sealed != (c.Key != nil) || sealed && id != c.Key.ID() {
			t.Errorf("step %d: the file is sealed with %v, %v", i, id, sealed)
		}
		others := slices.DeleteFunc(keys, func(k *segment.Key) bool { return sealed && k.ID() == id })
		s, err := segment.Open(fs, fileName, segment.Config{Keys: others})
		switch {
		case !sealed:
			ok(t, err)
			ok(t, s.Close())
		case !errors.Is(err, segment.ErrKey):
			t.Errorf("step %d: without its key the file gives error %v", i, err)
		}
		if file := before.Summary().ID; seen[file] {
			t.Errorf("step %d: the id of the file is not new", i)
		} else {
			seen[file] = true
		}
	}
}

// TestKeyOfSecret sees that the same secret is the same key, that it is copied, and that two secrets differ.
func TestKeyOfSecret(t *testing.T) {
	secret := bytes.Repeat([]byte{7}, segment.KeyBytes)
	one, err := segment.NewKey(secret)
	ok(t, err)
	content := small().file(t, segment.WriterConfig{Key: one})
	secret[0] = 8
	two, err := segment.NewKey(secret)
	ok(t, err)
	if one.ID() != key(t, 7).ID() || one.ID() == two.ID() {
		t.Errorf("ids are %v, %v and %v", one.ID(), key(t, 7).ID(), two.ID())
	}
	s := open(t, memory(t, content), segment.Config{Keys: []*segment.Key{key(t, 7)}})
	ok(t, s.Verify())
	for _, n := range []int{0, 1, 16, segment.KeyBytes - 1, segment.KeyBytes + 1, 64} {
		if _, err := segment.NewKey(make([]byte, n)); err == nil {
			t.Errorf("a secret of %d bytes gives no error", n)
		}
	}
}

// TestSealedApart puts chunks of one sealed file into another with the same data and key, or to another
// place: each is sealed for its place in its file.
func TestSealedApart(t *testing.T) {
	d := small()
	c := segment.WriterConfig{BlockBytes: 256, Key: key(t, 1)}
	config := segment.Config{Keys: []*segment.Key{key(t, 1)}}
	one, two := d.file(t, c), d.file(t, c)
	chunks := segment.Chunks(one)
	for i, chunk := range chunks {
		mixed := bytes.Clone(one)
		copy(mixed[chunk.Start:chunk.End], two[chunk.Start:chunk.End])
		segment.Repair(mixed)
		s, err := segment.Open(memory(t, mixed), fileName, config)
		if err == nil {
			err = s.Verify()
			ok(t, s.Close())
		}
		if !errors.Is(err, segment.ErrSeal) {
			t.Errorf("chunk %d, of %s, of another file: got %v", i, chunk.Kind, err)
		}
	}
}

// TestCacheUnderLoad lets many read several files through one cache that is too small for them, while files are
// opened and closed: the cache never takes more than its bound, every answer is right, and in the end nothing
// is left.
func TestCacheUnderLoad(t *testing.T) {
	const limit = 64 << 10
	cache := segment.NewCache(limit)
	var done atomic.Bool
	var watch, readers sync.WaitGroup
	watch.Go(func() {
		for !done.Load() {
			if n := cache.Bytes(); n < 0 || n > limit {
				t.Errorf("the cache has %d bytes, want at most %d", n, limit)
				return
			}
		}
	})
	for i := range uint64(4) {
		d := random(newRandom(30+i), shape{streams: 2, messages: 400, subjects: 40, facts: 300, payload: 80, gaps: true})
		fs := memory(t, d.file(t, segment.WriterConfig{BlockBytes: 512}))
		list := d.queries(newRandom(i), 8)
		shared := open(t, fs, segment.Config{Cache: cache})
		for reader := range 2 {
			readers.Go(func() { readThrough(t, fs, cache, shared, list, reader) })
		}
		t.Cleanup(func() {
			ok(t, shared.Close())
			if i == 0 && cache.Bytes() != 0 {
				t.Errorf("the cache has %d bytes of files that are closed", cache.Bytes())
			}
		})
	}
	readers.Wait()
	done.Store(true)
	watch.Wait()
}

// readThrough asks everything of a file that others read too, and of one that it opens and closes.
func readThrough(t *testing.T, fs vfs.FS, cache *segment.Cache, shared *segment.Segment, list []query, reader int) {
	for round := range 2 {
		own, err := segment.Open(fs, fileName, segment.Config{Cache: cache})
		if err != nil {
			t.Error(err)
			return
		}
		for i, q := range list {
			s := shared
			if (i+round+reader)%2 == 0 {
				s = own
			}
			if got, err := q.ask(s); err != nil || !same(got, q.want) {
				t.Errorf("%s: got %v, %v, want %v", q.name, got, err, q.want)
				return
			}
		}
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCacheOfAnySize asks everything with caches of all sizes, which also may have no room at all.
func TestCacheOfAnySize(t *testing.T) {
	d := random(newRandom(41), shape{streams: 2, messages: 200, subjects: 20, facts: 100, payload: 40})
	fs := memory(t, d.file(t, segment.WriterConfig{BlockBytes: 256}))
	list := d.queries(newRandom(41), 6)
	for _, size := range []int64{0, 1, 1000, 4 << 10, 32 << 10, 1 << 20, 1 << 40} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			cache := segment.NewCache(size)
			s := open(t, fs, segment.Config{Cache: cache})
			check(t, s, list)
			check(t, s, list)
			if n := cache.Bytes(); n > size {
				t.Errorf("the cache has %d bytes", n)
			}
		})
	}
}
