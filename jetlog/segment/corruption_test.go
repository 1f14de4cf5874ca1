package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

// small is data of which a file with small blocks has every kind of chunk.
func small() *data {
	d := &data{streams: []uint64{3, 8}, messages: map[uint64][]segment.Message{}}
	for i := range uint64(150) { // far apart, so that the postings of a.b need a chunk
		m := segment.Message{Sequence: 1 + 17*i, Time: int64(100 * i), Subject: "a.b", Payload: []byte{byte(i)}, Bytes: 34}
		if i%25 == 7 {
			m.Subject = fmt.Sprintf("a.%d", i)
		}
		d.messages[3] = append(d.messages[3], m)
	}
	for i := range uint64(12) {
		d.messages[8] = append(d.messages[8], segment.Message{
			Sequence: 10 + i, Time: int64(1000 + i), Subject: fmt.Sprintf("other.%d.x", i%5), Header: []byte("NATS/1.0\r\n\r\n"),
			Payload: bytes.Repeat([]byte("zz"), 20), Bytes: 99, Expires: int64(i * 7000),
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	d.tables = []table{{stream: 3, kind: 0, facts: randomFacts(r, 9)}, {stream: 8, kind: 1, facts: randomFacts(r, 3)}}
	return d
}

// file returns the bytes of the file written for small data.
func (d *data) file(t testing.TB, c segment.WriterConfig) []byte {
	t.Helper()
	fs := vfs.NewMemory()
	s := d.write(t, fs, c)
	f, err := fs.Open(fileName)
	ok(t, err)
	b := make([]byte, s.Bytes)
	_, err = f.ReadAt(b, 0)
	ok(t, err)
	return b
}

// memory returns a file system with one file.
func memory(t testing.TB, content []byte) *vfs.Memory {
	t.Helper()
	fs := vfs.NewMemory()
	f, err := fs.Create(fileName)
	ok(t, err)
	_, err = f.WriteAt(content, 0)
	ok(t, err)
	return fs
}

func TestSmallHasEveryKind(t *testing.T) {
	kinds := map[string]bool{}
	for _, c := range segment.Chunks(small().file(t, segment.WriterConfig{BlockBytes: 256})) {
		kinds[c.Kind] = true
	}
	if len(kinds) != 8 {
		t.Errorf("got chunks of the kinds %v, want all 8", kinds)
	}
}

// corruption checks that err is a *Corruption that names the file and a place in it.
func corruption(t *testing.T, err error, size int, about string) *segment.Corruption {
	t.Helper()
	var c *segment.Corruption
	if !errors.As(err, &c) {
		t.Fatalf("%s: got error %v, want a Corruption", about, err)
	}
	if c.File != fileName || c.Offset < 0 || c.Offset > int64(size) || !strings.Contains(err.Error(), fileName) {
		t.Fatalf("%s: %v does not name the place", about, err)
	}
	return c
}

// TestFlips flips one bit of every byte. Every answer must be right or a Corruption, and Verify must find it. A
// third of the questions is asked each time, so that all are asked for every few bytes.
func TestFlips(t *testing.T) {
	d := small()
	for name, c := range map[string]segment.WriterConfig{
		"plain":             {BlockBytes: 256},
		"compressed sealed": {BlockBytes: 2048, Compress: true, Key: key(t, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			list := d.queries(rand.New(rand.NewPCG(3, 3)), 1)
			content := d.file(t, c)
			fs := vfs.NewFault(memory(t, content))
			config := segment.Config{Keys: []*segment.Key{key(t, 1)}}
			for at := range content {
				fs.Heal()
				fs.Flip(fileName, int64(at), 1<<(at%8))
				flipped(t, fs, config, list, at, len(content))
			}
		})
	}
}

func flipped(t *testing.T, fs vfs.FS, c segment.Config, list []query, at, size int) {
	t.Helper()
	about := fmt.Sprintf("byte %d of %d flipped", at, size)
	s, err := segment.Open(fs, fileName, c)
	if err != nil {
		corruption(t, err, size, about)
		return
	}
	defer s.Close()
	for i, q := range list {
		if i%3 != at%3 {
			continue
		}
		got, err := q.ask(s)
		if err != nil {
			c := corruption(t, err, size, about+": "+q.name)
			if c.Stream == 0 || c.Offset > int64(at) {
				t.Fatalf("%s: %s: error %v names no stream, or another place", about, q.name, err)
			}
		} else if !same(got, q.want) {
			t.Fatalf("%s: %s: got %v, want %v", about, q.name, got, q.want)
		}
	}
	corruption(t, s.Verify(), size, about+": Verify")
}

func TestDamagedBlockNamesItsSequences(t *testing.T) {
	d := small()
	content := d.file(t, segment.WriterConfig{BlockBytes: 256})
	fs := vfs.NewFault(memory(t, content))
	s := open(t, fs, segment.Config{})
	for _, kind := range []string{"heads", "bodies"} {
		fs.Heal()
		n := 0
		for _, c := range segment.Chunks(content) {
			if n++; c.Kind == kind && n > 4 {
				fs.Flip(fileName, int64(c.End-1), 1)
				break
			}
		}
		lost := &segment.Corruption{}
		var got []uint64
		for m, err := range s.Messages(3, 0) {
			if err != nil {
				lost = corruption(t, err, len(content), "Messages")
				continue
			}
			got = append(got, m.Sequence)
		}
		if lost.Stream != 3 || lost.First == 0 || lost.Last < lost.First {
			t.Fatalf("%s: the damage is %+v, want it to name sequences", kind, lost)
		}
		for _, m := range d.messages[3] {
			inside := m.Sequence >= lost.First && m.Sequence <= lost.Last
			if !inside && (len(got) == 0 || got[0] != m.Sequence) {
				t.Fatalf("%s: message %d is not damaged and was not found", kind, m.Sequence)
			}
			if !inside {
				got = got[1:]
			}
			_, found, err := s.Load(3, m.Sequence)
			if inside == (err == nil && found) {
				t.Errorf("%s: Load(%d): %v, %v", kind, m.Sequence, found, err)
			}
		}
	}
}

// TestVerifyLooksAtTheDisk damages a file whose every chunk is in memory.
func TestVerifyLooksAtTheDisk(t *testing.T) {
	d := small()
	content := d.file(t, segment.WriterConfig{BlockBytes: 256})
	fs := vfs.NewFault(memory(t, content))
	s := open(t, fs, segment.Config{Cache: segment.NewCache(1 << 20)})
	list := d.queries(newRandom(3), 30)
	check(t, s, list)
	ok(t, s.Verify())
	for at := 0; at < len(content); at += 7 {
		fs.Heal()
		fs.Flip(fileName, int64(at), 0x10)
		corruption(t, s.Verify(), len(content), fmt.Sprintf("byte %d flipped", at))
	}
}

func TestTruncations(t *testing.T) {
	content := small().file(t, segment.WriterConfig{BlockBytes: 256})
	for n := range content {
		_, err := segment.Open(memory(t, content[:n]), fileName, segment.Config{})
		corruption(t, err, len(content), fmt.Sprintf("cut to %d of %d bytes", n, len(content)))
	}
	_, err := segment.Open(memory(t, append(content, 0)), fileName, segment.Config{})
	corruption(t, err, len(content), "one byte more")
}

// TestMisplaced exchanges two chunks of the same length: their content is right, their place is not.
func TestMisplaced(t *testing.T) {
	content := small().file(t, segment.WriterConfig{BlockBytes: 64})
	chunks := segment.Chunks(content)
	for i, a := range chunks {
		for _, b := range chunks[i+1:] {
			if a.End-a.Start != b.End-b.Start || a.Kind != b.Kind || a.Kind != "heads" {
				continue
			}
			swapped := bytes.Clone(content)
			copy(swapped[a.Start:a.End], content[b.Start:b.End])
			copy(swapped[b.Start:b.End], content[a.Start:a.End])
			s := open(t, memory(t, swapped), segment.Config{})
			corruption(t, s.Verify(), len(content), "chunks exchanged")
			return
		}
	}
	t.Fatal("no two chunks have the same length")
}

// TestForeign puts a block into another file with the same data, at the same place.
func TestForeign(t *testing.T) {
	d, c := small(), segment.WriterConfig{BlockBytes: 256}
	one, two := d.file(t, c), d.file(t, c)
	chunk := segment.Chunks(one)[0]
	copy(two[chunk.Start:chunk.End], one[chunk.Start:chunk.End])
	s := open(t, memory(t, two), segment.Config{})
	_, _, err := s.Load(3, 1)
	corruption(t, err, len(two), "a block of another file")
}

// TestTampered changes a sealed file and makes its checksums right.
func TestTampered(t *testing.T) {
	d := small()
	config := segment.Config{Keys: []*segment.Key{key(t, 1)}}
	for _, cipher := range []segment.Cipher{segment.ChaCha20Poly1305, segment.AES256GCM} {
		content := d.file(t, segment.WriterConfig{BlockBytes: 256, Key: key(t, 1), Cipher: cipher})
		for _, c := range segment.Chunks(content) {
			for _, at := range []int{c.Start + segment.EnvelopeBytes, c.End - 1} {
				tampered := bytes.Clone(content)
				tampered[at] ^= 4
				segment.Repair(tampered)
				s, err := segment.Open(memory(t, tampered), fileName, config)
				if err == nil {
					err = s.Verify()
					ok(t, s.Close())
				}
				if !errors.Is(err, segment.ErrSeal) {
					t.Errorf("byte %d of a chunk of %s changed: got error %v, want %v", at, c.Kind, err, segment.ErrSeal)
				}
			}
		}
	}
}

// TestLies flips one bit of every byte and makes all checksums right. What then passes Verify must be a file that
// agrees with itself: its messages and facts are others, but every question about them is answered rightly.
func TestLies(t *testing.T) {
	content := small().file(t, segment.WriterConfig{BlockBytes: 256})
	valid := 0
	for at := segment.HeaderBytes; at < len(content)-segment.TrailerBytes; at += 2 {
		lie := bytes.Clone(content)
		lie[at] ^= 1 << (at / 2 % 8)
		segment.Repair(lie)
		s, err := segment.Open(memory(t, lie), fileName, segment.Config{})
		if err != nil {
			continue
		}
		if s.Verify() == nil {
			valid++
			check(t, s, told(t, s).queries(newRandom(uint64(at)), 3))
		}
		ok(t, s.Close())
	}
	if valid < 100 {
		t.Errorf("%d changed files are valid: the payloads alone are more", valid)
	}
}

// told returns what a file says that it has.
func told(t testing.TB, s *segment.Segment) *data {
	t.Helper()
	d := &data{messages: map[uint64][]segment.Message{}}
	for _, e := range s.Extents() {
		d.streams = append(d.streams, e.Stream)
		for m, err := range s.Messages(e.Stream, 0) {
			ok(t, err)
			d.messages[e.Stream] = append(d.messages[e.Stream], m)
		}
	}
	for _, x := range s.Summary().Facts {
		facts := table{stream: x.Stream, kind: x.Kind}
		for f, err := range s.Facts(x.Stream, x.Kind) {
			ok(t, err)
			facts.facts = append(facts.facts, f)
		}
		d.tables = append(d.tables, facts)
	}
	return d
}

func TestJunk(t *testing.T) {
	w, m := create(t, segment.WriterConfig{})
	ok(t, w.Add(1, segment.Message{Sequence: 1, Subject: "a"}))
	segment.AddJunk(w)
	s, err := w.Finish()
	ok(t, err)
	corruption(t, open(t, m, segment.Config{}).Verify(), int(s.Bytes), "a chunk that belongs to nothing")
}

func TestNewer(t *testing.T) {
	content := small().file(t, segment.WriterConfig{})
	content[len(content)-segment.TrailerBytes+6]++
	segment.Repair(content)
	_, err := segment.Open(memory(t, content), fileName, segment.Config{})
	if !errors.Is(err, segment.ErrNewer) {
		t.Errorf("got error %v, want %v", err, segment.ErrNewer)
	}
}

// TestReadErrors lets the disk fail: that is no Corruption.
func TestReadErrors(t *testing.T) {
	d := small()
	fs := vfs.NewFault(memory(t, d.file(t, segment.WriterConfig{BlockBytes: 256})))
	list := d.queries(rand.New(rand.NewPCG(3, 4)), 1)
	fs.Fail(vfs.Rule{Kinds: vfs.OpReadAt})
	_, err := segment.Open(fs, fileName, segment.Config{})
	notDamage(t, "Open", err)
	for _, q := range list {
		fs.Heal()
		s := open(t, fs, segment.Config{})
		fs.Fail(vfs.Rule{Kinds: vfs.OpReadAt, Times: -1})
		got, err := q.ask(s)
		if err != nil {
			notDamage(t, q.name, err)
		} else if !same(got, q.want) {
			t.Errorf("%s: got %v without an error, want %v", q.name, got, q.want)
		}
	}
}

func notDamage(t *testing.T, what string, err error) {
	t.Helper()
	var c *segment.Corruption
	if !errors.Is(err, syscall.EIO) || errors.As(err, &c) {
		t.Errorf("%s: got error %v, want EIO and no Corruption", what, err)
	}
}

func TestSalvage(t *testing.T) {
	d := small()
	for name, c := range map[string]segment.WriterConfig{
		"plain":  {BlockBytes: 256},
		"sealed": {BlockBytes: 256, Compress: true, Key: key(t, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			content := d.file(t, c)
			chunks := segment.Chunks(content)
			salvaged(t, d, content, 0)
			cut := chunks[len(chunks)-1].Start
			salvaged(t, d, content[:cut], 0)
			content[0] = 0 // the header; what is needed is in the trailer too
			salvaged(t, d, content, 0)
			content[chunks[2].Start+20] ^= 1 // heads
			content[chunks[5].End-1] ^= 1    // bodies
			salvaged(t, d, content, 2)
			if n := len(salvage(t, content[:cut])); n != 0 {
				t.Errorf("salvaged %d messages without header and trailer, want 0", n)
			}
		})
	}
}

// salvage returns what is found.
func salvage(t *testing.T, content []byte) (list []segment.Salvaged) {
	t.Helper()
	for m, err := range segment.Salvage(memory(t, content), fileName, []*segment.Key{key(t, 1)}) {
		if err != nil {
			corruption(t, err, len(content), "Salvage")
			break
		}
		list = append(list, m)
	}
	return list
}

// salvaged checks that all is found but for some blocks.
func salvaged(t *testing.T, d *data, content []byte, blocks int) {
	t.Helper()
	got, want := salvage(t, content), len(d.messages[3])+len(d.messages[8])
	if missing := want - len(got); missing < blocks || missing > blocks*40 || blocks == 0 && missing != 0 {
		t.Errorf("%d of %d messages are missing where %d blocks are damaged", missing, want, blocks)
	}
	for _, m := range got {
		if want, _ := d.load(m.Stream, m.Sequence); !same(m.Message, want) {
			t.Errorf("got %v, want %v", m.Message, want)
		}
	}
}
