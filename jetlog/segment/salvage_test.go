package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

// place names a message.
type place struct{ stream, sequence uint64 }

// found salvages a file and returns which messages there are; each is what was written.
func found(t *testing.T, d *data, content []byte) map[place]bool {
	t.Helper()
	got := map[place]bool{}
	for _, m := range salvage(t, content) {
		if want, _ := d.load(m.Stream, m.Sequence); !same(m.Message, want) {
			t.Fatalf("got %v, want %v", m.Message, want)
		}
		at := place{m.Stream, m.Sequence}
		if got[at] {
			t.Fatalf("%v is there twice", at)
		}
		got[at] = true
	}
	return got
}

// all is every message.
func (d *data) all() map[place]bool {
	list := map[place]bool{}
	for _, stream := range d.streams {
		for _, m := range d.messages[stream] {
			list[place{stream, m.Sequence}] = true
		}
	}
	return list
}

// TestSalvageLeavesOutOneBlock damages every byte of a file. A byte of a block costs the messages of that
// block, the same ones whichever byte it is; any other byte costs none. Together the blocks have each message
// once.
func TestSalvageLeavesOutOneBlock(t *testing.T) {
	d := small()
	for name, c := range map[string]segment.WriterConfig{
		"plain":      {BlockBytes: 512},
		"compressed": {BlockBytes: 1024, Compress: true},
		"sealed":     {BlockBytes: 1024, Key: key(t, 1), Cipher: segment.AES256GCM},
	} {
		t.Run(name, func(t *testing.T) {
			content := d.file(t, c)
			chunks := segment.Chunks(content)
			seen := map[place]bool{}
			for i, chunk := range chunks {
				lost := damagedChunk(t, d, content, chunk)
				switch chunk.Kind {
				case "heads":
					if bodies := damagedChunk(t, d, content, chunks[i+1]); !slices.Equal(lost, bodies) || len(lost) == 0 {
						t.Errorf("block at %d: damaged heads cost %v, damaged bodies %v", chunk.Start, lost, bodies)
					}
					for _, at := range lost {
						if seen[at] {
							t.Errorf("%v is lost with two blocks", at)
						}
						seen[at] = true
					}
				case "bodies":
				default:
					if len(lost) > 0 {
						t.Errorf("damage of %s costs %v", chunk.Kind, lost)
					}
				}
			}
			if len(seen) != len(d.all()) {
				t.Errorf("the blocks have %d messages, want %d", len(seen), len(d.all()))
			}
		})
	}
}

// damagedChunk returns which messages are not found when a byte of the chunk is wrong: the same, whichever of
// several it is.
func damagedChunk(t *testing.T, d *data, content []byte, c segment.Chunk) (lost []place) {
	t.Helper()
	for i, at := range []int{c.Start, c.Start + 4, c.Start + 8, c.Start + 12, c.Start + segment.EnvelopeBytes, c.End - 1} {
		if at >= c.End { // an empty chunk
			continue
		}
		damaged := bytes.Clone(content)
		damaged[at] ^= 0x11
		got := found(t, d, damaged)
		var missing []place
		for _, stream := range d.streams {
			for _, m := range d.messages[stream] {
				if at := (place{stream, m.Sequence}); !got[at] {
					missing = append(missing, at)
				}
			}
		}
		if i > 0 && !slices.Equal(missing, lost) {
			t.Errorf("byte %d of %s: %v are lost, by another byte %v", at, c.Kind, missing, lost)
		}
		lost = missing
	}
	return lost
}

// TestSalvageOfAPart cuts a file at every length: the messages found are the first, and become more.
func TestSalvageOfAPart(t *testing.T) {
	d := small()
	content := d.file(t, segment.WriterConfig{BlockBytes: 512})
	var whole []segment.Salvaged
	for _, stream := range d.streams {
		for _, m := range d.messages[stream] {
			whole = append(whole, segment.Salvaged{Stream: stream, Message: m})
		}
	}
	before := 0
	for n := segment.HeaderBytes; n <= len(content); n++ {
		got := salvage(t, content[:n])
		if len(got) < before || len(got) > len(whole) {
			t.Fatalf("%d bytes: %d messages, a byte less gave %d", n, len(got), before)
		}
		if len(got) > before && !same(got, whole[:len(got)]) {
			t.Fatalf("%d bytes: the messages are not the first %d", n, len(got))
		}
		before = len(got)
	}
	if before != len(whole) {
		t.Errorf("the whole file gives %d messages, want %d", before, len(whole))
	}
}

// TestSalvageOfPatches overwrites long stretches, as a disk does that loses sectors: all blocks that no
// stretch touches are found.
func TestSalvageOfPatches(t *testing.T) {
	d := random(newRandom(11), shape{streams: 3, messages: 600, subjects: 20, payload: 60, gaps: true})
	content := d.file(t, segment.WriterConfig{BlockBytes: 700})
	chunks := segment.Chunks(content)
	blocks := map[int]segment.Chunk{} // by where they start, from the start of the heads to the end of the bodies
	for i, c := range chunks {
		if c.Kind == "heads" {
			blocks[c.Start] = segment.Chunk{Start: c.Start, End: chunks[i+1].End}
		}
	}
	for _, stretch := range []int{1, 64, 512, 4096} {
		for _, fill := range []byte{0, 0xff, 1} { // 1 looks like the start of heads
			damaged := bytes.Clone(content)
			hurt := map[int]bool{}
			for start := segment.HeaderBytes + 100; start+stretch < len(content); start += 5*stretch + 900 {
				for i := range stretch {
					damaged[start+i] = fill
				}
				for at, b := range blocks {
					if b.Start < start+stretch && start < b.End && !bytes.Equal(damaged[b.Start:b.End], content[b.Start:b.End]) {
						hurt[at] = true
					}
				}
			}
			want := 0
			for at, b := range blocks {
				if !hurt[at] {
					n, _, err := segment.WalkBlock(chunkContent(content, b.Start), bodiesOf(content, b.Start), 0)
					ok(t, err)
					want += n
				}
			}
			if got := len(found(t, d, damaged)); got != want {
				t.Errorf("stretches of %d with %#x: %d messages are found, want %d", stretch, fill, got, want)
			}
		}
	}
}

// chunkContent returns the content of the plain chunk that starts at a place.
func chunkContent(file []byte, start int) []byte {
	for _, c := range segment.Chunks(file) {
		if c.Start == start {
			return file[c.Start+segment.EnvelopeBytes : c.End]
		}
	}
	return nil
}

// bodiesOf returns the bodies of the block whose heads start at a place.
func bodiesOf(file []byte, start int) []byte {
	chunks := segment.Chunks(file)
	i := slices.IndexFunc(chunks, func(c segment.Chunk) bool { return c.Start == start })
	return chunkContent(file, chunks[i+1].Start)
}

// TestSalvageOfAFileInAFile has another segment file as the payload of a message: its messages are not those of
// the file, even where the search comes through that payload.
func TestSalvageOfAFileInAFile(t *testing.T) {
	inner := small().file(t, segment.WriterConfig{BlockBytes: 256})
	d := &data{streams: []uint64{70}, messages: map[uint64][]segment.Message{70: {
		{Sequence: 1, Subject: "a", Payload: []byte("before"), Bytes: 10},
		{Sequence: 2, Subject: "a", Payload: inner, Bytes: 10},
		{Sequence: 3, Subject: "a", Payload: []byte("after"), Bytes: 10},
	}}}
	content := d.file(t, segment.WriterConfig{BlockBytes: 64})
	if got := found(t, d, content); len(got) != 3 {
		t.Errorf("got %v", got)
	}
	for _, c := range segment.Chunks(content) {
		if c.End-c.Start > len(inner) { // the bodies of the second message
			content[c.Start] = 0
		}
	}
	if got := found(t, d, content); len(got) != 2 || got[place{70, 2}] {
		t.Errorf("with the block of the file damaged: got %v", got)
	}
}

// TestSalvageStops ends a search early, and looks for files that are not there or have no start.
func TestSalvageStops(t *testing.T) {
	content := small().file(t, segment.WriterConfig{BlockBytes: 256})
	n := 0
	for _, err := range segment.Salvage(memory(t, content), fileName, nil) {
		ok(t, err)
		if n++; n == 7 {
			break
		}
	}
	if n != 7 {
		t.Errorf("got %d messages", n)
	}
	last := func(fs vfs.FS, keys ...*segment.Key) (n int, last error) {
		for _, err := range segment.Salvage(fs, fileName, keys) {
			n, last = n+1, err
		}
		return n, last
	}
	if n, err := last(vfs.NewMemory()); n != 1 || err == nil {
		t.Errorf("no file: got %d, %v", n, err)
	}
	for _, size := range []int{0, 1, segment.HeaderBytes - 1} {
		n, err := last(memory(t, content[:size]))
		if c := corruption(t, err, len(content), fmt.Sprintf("%d bytes", size)); n != 1 || c.Offset != 0 {
			t.Errorf("%d bytes: got %d, %+v", size, n, c)
		}
	}
	sealed := memory(t, small().file(t, segment.WriterConfig{Key: key(t, 1)}))
	if n, err := last(sealed, key(t, 2)); n != 1 || !errors.Is(err, segment.ErrKey) {
		t.Errorf("another key: got %d, %v", n, err)
	}
}

// TestBodiesTooMany has bytes between or behind headers and payloads that belong to no message: all
// checksums are right and every message is read, but Verify tells.
func TestBodiesTooMany(t *testing.T) {
	const messages = 40
	for at := 1; at <= messages; at++ {
		w, fs := create(t, segment.WriterConfig{BlockBytes: 1 << 20})
		for i := range messages {
			if i == at {
				segment.AddBodies(w, "junk")
			}
			ok(t, w.Add(5, segment.Message{Sequence: uint64(i + 1), Subject: "s", Payload: []byte{byte(i)}, Bytes: 9}))
		}
		if at == messages {
			segment.AddBodies(w, "junk")
		}
		summary, err := w.Finish()
		ok(t, err)
		s := open(t, fs, segment.Config{})
		c := corruption(t, s.Verify(), int(summary.Bytes), fmt.Sprintf("junk before message %d", at))
		if c.Stream != 5 || c.First != 1 || c.Last != messages {
			t.Errorf("junk before message %d: got %+v", at, c)
		}
		if at == messages {
			m, there, err := s.Load(5, messages)
			if err != nil || !there || !bytes.Equal(m.Payload, []byte{messages - 1}) {
				t.Errorf("the last message is %v, %v, %v", m, there, err)
			}
		}
	}
}

// TestBodiesBegin has a block whose first entry says that its payload does not begin where the bodies do.
func TestBodiesBegin(t *testing.T) {
	d := &data{streams: []uint64{5}, messages: map[uint64][]segment.Message{5: {{Sequence: 1, Subject: "s", Payload: []byte("abcd"), Bytes: 9}}}}
	content := d.file(t, segment.WriterConfig{})
	heads := segment.Chunks(content)[0]
	last := content[heads.End-2 : heads.End]
	if last[0] != 2*4 || last[1] != 4 { // what it counts for besides subject and payload, and the length of that
		t.Fatalf("the entry ends with %d", last)
	}
	last[0], last[1] = 2*7, 1
	content[heads.Start+segment.EnvelopeBytes+32+4] = 3 // where the bodies of the first group begin
	segment.Repair(content)
	s := open(t, memory(t, content), segment.Config{})
	m, there, err := s.Load(5, 1)
	if err != nil || !there || string(m.Payload) != "d" || m.Bytes != 9 {
		t.Fatalf("the message is %+v, %v, %v", m, there, err)
	}
	corruption(t, s.Verify(), len(content), "bytes before the first payload")
}
