package segment_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

// fill writes a file of messages with 128 bytes of payload whose subjects are given by name.
func fill(b *testing.B, fs vfs.FS, name string, c segment.WriterConfig, messages int, subject func(i int) string) segment.Summary {
	b.Helper()
	w, err := segment.Create(fs, name, c)
	ok(b, err)
	payload := bytes.Repeat([]byte("a message of 16b"), 8)
	for i := range messages {
		binary.LittleEndian.PutUint64(payload, uint64(i)*0x9e3779b97f4a7c15)
		m := segment.Message{
			Sequence: uint64(i + 1), Time: 1_700_000_000_000_000_000 + int64(i)*1000, Subject: subject(i), Payload: payload,
			Bytes: uint64(158 + len(subject(i))),
		}
		if err := w.Add(7, m); err != nil { // ok would cost more than Add
			b.Fatal(err)
		}
	}
	s, err := w.Finish()
	ok(b, err)
	return s
}

// table31 returns a function that gives message i one of n subjects of 31 bytes.
func table31(n int) func(i int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("orders.europe.customer.%08d", uint32(i)*2654435761%100_000_000)
	}
	return func(i int) string { return names[i*7919%n] }
}

const benchMessages = 400_000 // about 64 MiB

func BenchmarkWrite(b *testing.B) {
	k, err := segment.NewKey(make([]byte, segment.KeyBytes))
	ok(b, err)
	cases := []struct {
		name     string
		subjects int
		config   segment.WriterConfig
	}{
		{"1 subject", 1, segment.WriterConfig{}},
		{"1000 subjects", 1000, segment.WriterConfig{}},
		{"distinct subjects", benchMessages, segment.WriterConfig{}},
		{"s2", 1000, segment.WriterConfig{Compress: true}},
		{"chacha20", 1000, segment.WriterConfig{Key: k}},
		{"aes", 1000, segment.WriterConfig{Key: k, Cipher: segment.AES256GCM}},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			names := table31(c.subjects)
			fs, dir := vfs.Disk{}, b.TempDir()
			var s segment.Summary
			for b.Loop() {
				s = fill(b, unsynced{fs}, dir+"/"+fileName, c.config, benchMessages, names)
			}
			b.SetBytes(benchMessages * 128)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchMessages, "ns/message")
			b.ReportMetric(float64(s.Bytes)/benchMessages, "B/message")
		})
	}
}

// unsynced is a disk whose syncs do nothing, so that what is measured is work.
type unsynced struct{ vfs.FS }

type unsyncedFile struct{ vfs.File }

func (u unsynced) Create(name string) (vfs.File, error) {
	f, err := u.FS.Create(name)
	return unsyncedFile{f}, err
}

func (unsyncedFile) SyncData() error { return nil }

// benchSegment opens a file of benchMessages messages with so many subjects.
func benchSegment(b *testing.B, subjects int, cache int64) *segment.Segment {
	b.Helper()
	name := b.TempDir() + "/" + fileName
	fill(b, vfs.Disk{}, name, segment.WriterConfig{}, benchMessages, table31(subjects))
	c := segment.Config{}
	if cache > 0 {
		c.Cache = segment.NewCache(cache)
	}
	s, err := segment.Open(vfs.Disk{}, name, c)
	ok(b, err)
	b.Cleanup(func() { s.Close() })
	return s
}

func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct {
		name  string
		cache int64
		next  func(r *rand.Rand, i uint64) uint64
	}{
		{"in order, cached", 128 << 20, func(_ *rand.Rand, i uint64) uint64 { return 1 + i%benchMessages }},
		{"at random, cached", 256 << 20, func(r *rand.Rand, _ uint64) uint64 { return 1 + r.Uint64N(benchMessages) }},
		{"at random, no cache", 0, func(r *rand.Rand, _ uint64) uint64 { return 1 + r.Uint64N(benchMessages) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, r := benchSegment(b, 1000, c.cache), rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			i := uint64(0)
			for b.Loop() {
				_, found, err := s.Load(7, c.next(r, i))
				if err != nil || !found {
					b.Fatal(found, err)
				}
				i++
			}
		})
	}
}

func BenchmarkMessages(b *testing.B) {
	s := benchSegment(b, 1000, 0)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range s.Messages(7, 0) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchMessages, "ns/message")
}

func BenchmarkNextOf(b *testing.B) {
	rare := table31(1000)(500)
	for _, c := range []struct {
		name, filter string
		subjects     int
		cache        int64
	}{
		{"1 in 1000, literal", rare, 1000, 64 << 20},
		{"1 in 1000, wildcard", "*.europe.*." + rare[23:], 1000, 64 << 20},
		{"1 in 1000, literal, no cache", rare, 1000, 0},
		{"1 in 1000, wildcard, no cache", "*.europe.*." + rare[23:], 1000, 0},
		{"1 in 400000, wildcard, no cache", "*.europe.*." + rare[23:], benchMessages, 0},
		{"every, wildcard", "orders.*.customer.*", 1000, 64 << 20},
		{"none, literal", "orders.europe.customer.x", 1000, 64 << 20},
		{"none, wildcard", "orders.asia.>", 1000, 64 << 20},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, r := benchSegment(b, c.subjects, c.cache), rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.NextOf(7, c.filter, 1+r.Uint64N(benchMessages/2)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCountOf(b *testing.B) {
	s := benchSegment(b, 1000, 64<<20)
	b.ReportAllocs()
	for b.Loop() {
		_, err := s.CountOf(7, "orders.*.customer.*", benchMessages/2)
		ok(b, err)
	}
}

const benchFacts = 1_000_000

func factHash(i int) (h segment.Hash) {
	r := rand.NewPCG(uint64(i), 1)
	binary.LittleEndian.PutUint64(h[:], r.Uint64())
	binary.LittleEndian.PutUint64(h[8:], r.Uint64())
	return h
}

// factFile writes benchFacts facts.
func factFile(b *testing.B) (name string) {
	b.Helper()
	facts := make([]segment.Fact, benchFacts)
	for i := range facts {
		facts[i] = segment.Fact{Hash: factHash(i), Value: segment.Value{uint64(i), uint64(2 * i), 2}}
	}
	sortFacts(facts)
	name = b.TempDir() + "/" + fileName
	w, err := segment.Create(vfs.Disk{}, name, segment.WriterConfig{})
	ok(b, err)
	for _, f := range facts {
		ok(b, w.AddFact(1, 0, f.Hash, f.Value))
	}
	s, err := w.Finish()
	ok(b, err)
	b.ReportMetric(float64(s.Bytes)/benchFacts, "disk-B/fact")
	return name
}

func BenchmarkFact(b *testing.B) {
	for _, c := range []struct {
		name  string
		cache int64
		first int
	}{
		{"hit, cached", 64 << 20, 0},
		{"hit, no cache", 0, 0},
		{"miss", 0, benchFacts},
	} {
		b.Run(c.name, func(b *testing.B) {
			name := factFile(b)
			config := segment.Config{}
			if c.cache > 0 {
				config.Cache = segment.NewCache(c.cache)
			}
			before := heap()
			s, err := segment.Open(vfs.Disk{}, name, config)
			ok(b, err)
			b.Cleanup(func() { s.Close() })
			_, _, err = s.Fact(1, 0, factHash(benchFacts*3))
			ok(b, err)
			used := float64(heap()-before) / benchFacts
			hashes := make([]segment.Hash, 100_000)
			for i := range hashes {
				hashes[i] = factHash(c.first + i*7919%benchFacts)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, _, err := s.Fact(1, 0, hashes[i%len(hashes)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(used, "heap-B/fact")
		})
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkOpen(b *testing.B) {
	for _, subjects := range []int{1000, benchMessages} {
		b.Run(fmt.Sprintf("%d subjects", subjects), func(b *testing.B) {
			name := b.TempDir() + "/" + fileName
			s := fill(b, vfs.Disk{}, name, segment.WriterConfig{}, benchMessages, table31(subjects))
			b.ReportAllocs()
			for b.Loop() {
				s, err := segment.Open(vfs.Disk{}, name, segment.Config{})
				ok(b, err)
				ok(b, s.Close())
			}
			b.ReportMetric(float64(s.Bytes)/(1<<20), "MiB")
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	s := benchSegment(b, 1000, 0)
	b.ReportAllocs()
	b.SetBytes(s.Summary().Bytes)
	for b.Loop() {
		ok(b, s.Verify())
	}
}
