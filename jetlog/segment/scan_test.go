package segment_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

// checkCold asks everything of a segment that does not read: it answers right or not at all.
func checkCold(t testing.TB, s *segment.Segment, list []query) {
	t.Helper()
	for _, q := range list {
		got, err := q.ask(s)
		if errors.Is(err, segment.ErrCold) {
			continue
		}
		if err != nil || !same(got, q.want) {
			t.Fatalf("%s of what is cached: got %.500s, %v; want %.500s", q.name, fmt.Sprint(got), err, fmt.Sprint(q.want))
		}
	}
}

// scanAll goes through a stream by Scan, a few messages a visit.
func scanAll(s *segment.Segment, stream, from uint64, pattern string, visit int) (all []segment.Message, err error) {
	admits := func(subject string) bool { return selects(pattern, subject) }
	if pattern == "" {
		admits = nil
	}
	for from != 0 {
		n := 0
		before := from
		from, err = s.Scan(stream, from, admits, func(m *segment.Message) bool {
			all = append(all, *m)
			n++
			return n < visit
		})
		if err != nil {
			return nil, err
		}
		if from != 0 && from <= before {
			return nil, fmt.Errorf("a scan from %d goes on at %d", before, from)
		}
	}
	return all, nil
}

func TestScan(t *testing.T) {
	r := newRandom(3)
	d := random(r, shape{streams: 2, messages: 500, subjects: 9, payload: 40, gaps: true})
	for name, c := range variants(t) {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMemory()
			d.write(t, fs, c)
			for _, cache := range []*segment.Cache{nil, segment.NewCache(1 << 20)} {
				s := open(t, fs, segment.Config{Cache: cache, Keys: []*segment.Key{key(t, 1)}})
				for _, stream := range append([]uint64{1 << 60}, d.streams...) {
					for range 5 {
						d.checkScan(t, s, stream, r.IntN(600), 1+r.IntN(40))
					}
				}
			}
		})
	}
}

// checkScan scans from some message on, with a pattern that selects much, little, everything and nothing.
func (d *data) checkScan(t *testing.T, s *segment.Segment, stream uint64, at, visit int) {
	t.Helper()
	messages := d.messages[stream]
	from := uint64(1)
	patterns := []string{"", ">", "no.such"}
	if at < len(messages) {
		from = messages[at].Sequence
		patterns = append(patterns, messages[at].Subject)
	}
	for _, pattern := range patterns {
		want := slices.DeleteFunc(slices.Clone(messages), func(m segment.Message) bool {
			return m.Sequence < from || !selects(pattern, m.Subject)
		})
		got, err := scanAll(s, stream, from, pattern, visit)
		if err != nil || !same(got, want) {
			t.Errorf("scan of %d from %d, %q, %d a visit: %d messages, %v; want %d", stream, from, pattern, visit, len(got), err, len(want))
		}
	}
}

// TestScanFindsDamage flips every byte of a block that a scan reads.
func TestScanFindsDamage(t *testing.T) {
	d := random(newRandom(5), shape{streams: 1, messages: 20, subjects: 3, payload: 10})
	stream := d.streams[0]
	fs := vfs.NewMemory()
	d.write(t, fs, segment.WriterConfig{})
	s := open(t, fs, segment.Config{})
	want, err := scanAll(s, stream, 1, "", 100)
	ok(t, err)
	file, err := fs.OpenReadWrite(fileName)
	ok(t, err)
	damaged := 0
	size, err := file.Size()
	ok(t, err)
	for at := range size {
		b := make([]byte, 1)
		_, err := file.ReadAt(b, at)
		ok(t, err)
		_, err = file.WriteAt([]byte{b[0] ^ 4}, at)
		ok(t, err)
		got, err := scanAll(s, stream, 1, "", 100)
		var c *segment.Corruption
		switch {
		case errors.As(err, &c):
			damaged++
		case err != nil || !same(got, want):
			t.Errorf("byte %d flipped: %d messages, %v", at, len(got), err)
		}
		_, err = file.WriteAt(b, at)
		ok(t, err)
	}
	if damaged < 200 {
		t.Errorf("%d flipped bytes were noticed", damaged)
	}
	ok(t, file.Close())
}

func TestCachedReadsNothing(t *testing.T) {
	d := random(newRandom(4), shape{streams: 1, messages: 100, subjects: 5, payload: 40})
	fs := vfs.NewFault(vfs.NewMemory())
	d.write(t, fs, segment.WriterConfig{})
	s := open(t, fs, segment.Config{Cache: segment.NewCache(1 << 20)})
	cached := s.Cached()
	stream, m := d.streams[0], d.messages[d.streams[0]][50]
	if _, _, err := cached.Load(stream, m.Sequence); !errors.Is(err, segment.ErrCold) {
		t.Errorf("load of what was not read: %v", err)
	}
	if _, _, err := s.Load(stream, m.Sequence); err != nil {
		t.Fatal(err)
	}
	if got, found, err := cached.Load(stream, m.Sequence); err != nil || !found || got.Sequence != m.Sequence {
		t.Errorf("load of what was read: %+v, %v", got, err)
	}
}
