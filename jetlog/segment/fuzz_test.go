package segment_test

import (
	"bytes"
	"runtime"
	"testing"

	"runnel/jetlog/segment"
)

// frugal fails if f allocates more than limit bytes.
func frugal(t *testing.T, limit uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > limit {
		t.Errorf("allocated %d bytes, want at most %d", n, limit)
	}
}

// FuzzOpen asks everything of files whose checksums are right and whose content is not. Nothing may panic,
// hang or take much memory, and a file that Verify finds nothing wrong with must answer without an error.
func FuzzOpen(f *testing.F) {
	d := small()
	for _, c := range []segment.WriterConfig{{BlockBytes: 256}, {BlockBytes: 4096}, {BlockBytes: 1024, Compress: true}} {
		f.Add(d.file(f, c))
	}
	tiny := &data{streams: []uint64{1}, messages: map[uint64][]segment.Message{1: {{Sequence: 1, Subject: "a"}}}}
	f.Add(tiny.file(f, segment.WriterConfig{}))
	f.Fuzz(func(t *testing.T, content []byte) {
		content = bytes.Clone(content)
		segment.Repair(content)
		frugal(t, 128<<20+uint64(len(content))*2000, func() {
			s, err := segment.Open(memory(t, content), fileName, segment.Config{})
			if err != nil {
				return
			}
			defer s.Close()
			valid := s.Verify() == nil
			if err := askEverything(s); err != nil && valid {
				t.Errorf("Verify finds nothing, and then: %v", err)
			}
			if valid && s.Summary().Bytes < 20_000 {
				check(t, s, told(t, s).queries(newRandom(1), 2))
			}
			for range segment.Salvage(memory(t, content), fileName, nil) {
				continue
			}
		})
	})
}

// askEverything asks what a file can be asked, and returns the last error.
func askEverything(s *segment.Segment) (last error) {
	note := func(err error) {
		if err != nil {
			last = err
		}
	}
	extents := s.Summary().Extents
	for _, e := range extents[:min(len(extents), 4)] {
		for _, sequence := range []uint64{0, e.First, e.First + (e.Last-e.First)/2, e.Last, ^uint64(0)} {
			_, _, err := s.Load(e.Stream, sequence)
			note(err)
			_, _, err = s.Meta(e.Stream, sequence)
			note(err)
			_, _, err = s.Next(e.Stream, sequence)
			note(err)
			for _, filter := range []string{">", "a.b", "a.*", "other.*.x", "b"} {
				_, _, err = s.NextOf(e.Stream, filter, sequence)
				note(err)
				_, _, err = s.LastOf(e.Stream, filter, sequence)
				note(err)
				_, err = s.CountOf(e.Stream, filter, sequence)
				note(err)
			}
		}
		_, _, err := s.FirstAt(e.Stream, e.LastTime)
		note(err)
		for _, err := range s.Subjects(e.Stream, "") {
			note(err)
		}
		for _, err := range s.Messages(e.Stream, 0) {
			note(err)
		}
	}
	tables := s.Summary().Facts
	for _, x := range tables[:min(len(tables), 4)] {
		for fact, err := range s.Facts(x.Stream, x.Kind) {
			note(err)
			_, _, err = s.Fact(x.Stream, x.Kind, fact.Hash)
			note(err)
		}
		_, _, err := s.Fact(x.Stream, x.Kind, segment.Hash{1})
		note(err)
	}
	return last
}

// content returns the chunks of a kind of a file that is neither compressed nor sealed, without envelopes.
func content(file []byte, kind string) (list [][]byte) {
	for _, c := range segment.Chunks(file) {
		if c.Kind == kind {
			list = append(list, file[c.Start+segment.EnvelopeBytes:c.End])
		}
	}
	return list
}

func FuzzBlock(f *testing.F) {
	for _, size := range []int{64, 256, 100_000} {
		file := small().file(f, segment.WriterConfig{BlockBytes: size})
		heads, bodies := content(file, "heads"), content(file, "bodies")
		for i := range heads {
			f.Add(heads[i], bodies[i], uint64(1+17*i))
		}
	}
	f.Fuzz(func(t *testing.T, heads, bodies []byte, sequence uint64) {
		frugal(t, 1<<20+4*uint64(len(heads)), func() {
			entries, _, err := segment.WalkBlock(heads, bodies, sequence)
			if entries > len(heads) {
				t.Errorf("%d bytes have %d entries (%v)", len(heads), entries, err)
			}
		})
	})
}

func FuzzDictionary(f *testing.F) {
	for _, size := range []int{64, 100_000} {
		file := small().file(f, segment.WriterConfig{BlockBytes: size})
		indexes := content(file, "subjects")
		for i, page := range content(file, "dictionary") {
			f.Add(page, indexes[i%len(indexes)], "a.b")
		}
	}
	f.Fuzz(func(t *testing.T, page, index []byte, subject string) {
		frugal(t, 8<<20+200*uint64(len(page)+len(index)), func() {
			sequences, err := segment.WalkPage(page)
			if sequences > 8*uint64(len(page)) {
				t.Errorf("%d bytes have %d sequences (%v)", len(page), sequences, err)
			}
			if err := segment.SeekIndex(index, subject); err != nil && len(index) == 0 {
				t.Skip()
			}
		})
	})
}

func FuzzFacts(f *testing.F) {
	d := small()
	d.tables[0].facts = randomFacts(newRandom(1), 700)
	file := d.file(f, segment.WriterConfig{})
	pages, indexes := content(file, "facts"), content(file, "fact index")
	for i, page := range pages {
		f.Add(page, indexes[i/3], 256, uint64(len(d.tables[0].facts)), []byte("samesame--------"))
	}
	f.Fuzz(func(t *testing.T, page, index []byte, rows int, count uint64, hash []byte) {
		var h segment.Hash
		copy(h[:], hash)
		frugal(t, 1<<20+4*uint64(len(page)+len(index)), func() {
			if err := segment.ReadFacts(page, index, max(0, rows%1000), count, h); err == nil && count > uint64(len(index))*200 {
				t.Errorf("an index of %d bytes has %d facts", len(index), count)
			}
		})
	})
}
