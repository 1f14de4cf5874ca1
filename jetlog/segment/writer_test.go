package segment_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

func create(t *testing.T, c segment.WriterConfig) (*segment.Writer, *vfs.Memory) {
	t.Helper()
	m := vfs.NewMemory()
	w, err := segment.Create(m, fileName, c)
	ok(t, err)
	return w, m
}

func TestWriterRefuses(t *testing.T) {
	add := func(stream, sequence uint64) func(w *segment.Writer) error {
		return func(w *segment.Writer) error {
			return w.Add(stream, segment.Message{Sequence: sequence, Subject: "a"})
		}
	}
	fact := func(stream uint64, kind segment.FactKind, hash byte) func(w *segment.Writer) error {
		return func(w *segment.Writer) error { return w.AddFact(stream, kind, segment.Hash{hash}, segment.Value{}) }
	}
	tests := []struct {
		name   string
		before []func(w *segment.Writer) error
		last   func(w *segment.Writer) error
		want   error
	}{
		{"the same sequence", []func(w *segment.Writer) error{add(1, 5)}, add(1, 5), segment.ErrOrder},
		{"a lower sequence", []func(w *segment.Writer) error{add(1, 5)}, add(1, 4), segment.ErrOrder},
		{"a lower stream", []func(w *segment.Writer) error{add(2, 5)}, add(1, 6), segment.ErrOrder},
		{"a stream again", []func(w *segment.Writer) error{add(1, 5), add(2, 1)}, add(1, 6), segment.ErrOrder},
		{"a message after facts", []func(w *segment.Writer) error{fact(1, 0, 1)}, add(9, 1), segment.ErrOrder},
		{"a message of the last stream after facts", []func(w *segment.Writer) error{add(1, 1), fact(1, 0, 1)}, add(1, 2), segment.ErrOrder},
		{"the same hash", []func(w *segment.Writer) error{fact(1, 0, 1)}, fact(1, 0, 1), segment.ErrOrder},
		{"a lower hash", []func(w *segment.Writer) error{fact(1, 0, 2)}, fact(1, 0, 1), segment.ErrOrder},
		{"a lower kind", []func(w *segment.Writer) error{fact(1, 1, 2)}, fact(1, 0, 3), segment.ErrOrder},
		{"facts of a lower stream", []func(w *segment.Writer) error{fact(2, 0, 2)}, fact(1, 1, 3), segment.ErrOrder},
		{"a subject that is too long", nil, func(w *segment.Writer) error {
			return w.Add(1, segment.Message{Subject: strings.Repeat("a", segment.MaxSubjectBytes+1)})
		}, segment.ErrTooLarge},
		{"a message that is too long", nil, func(w *segment.Writer) error {
			return w.Add(1, segment.Message{Payload: make([]byte, segment.MaxMessageBytes+1)})
		}, segment.ErrTooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w, m := create(t, segment.WriterConfig{})
			for _, f := range test.before {
				ok(t, f(w))
			}
			if err := test.last(w); !errors.Is(err, test.want) {
				t.Fatalf("got error %v, want %v", err, test.want)
			}
			if err := w.Add(100, segment.Message{}); !errors.Is(err, test.want) {
				t.Errorf("then Add gives %v, want the first error", err)
			}
			if _, err := w.Finish(); !errors.Is(err, test.want) {
				t.Errorf("then Finish gives %v, want the first error", err)
			}
			ok(t, w.Abort())
			if _, err := m.Stat(fileName); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is there after Abort: %v", err)
			}
		})
	}
}

func TestFinished(t *testing.T) {
	w, m := create(t, segment.WriterConfig{})
	s, err := w.Finish() // of nothing
	ok(t, err)
	if len(s.Extents) != 0 || len(s.Facts) != 0 || s.Bytes == 0 {
		t.Errorf("got summary %+v of an empty file", s)
	}
	if err := w.Add(1, segment.Message{}); err == nil {
		t.Error("Add after Finish gives no error")
	}
	if _, err := w.Finish(); err == nil {
		t.Error("Finish after Finish gives no error")
	}
	ok(t, w.Abort()) // does nothing
	x := open(t, m, segment.Config{})
	ok(t, x.Verify())
	for range x.Messages(1, 0) {
		t.Error("an empty file has messages")
	}
}

// TestWriteFaults lets the first operation fail, then the second and so on, until all succeed.
func TestWriteFaults(t *testing.T) {
	d := small()
	for n := 0; ; n++ {
		m := vfs.NewMemory()
		f := vfs.NewFault(m)
		f.Fail(vfs.Rule{After: n})
		w, err := segment.Create(f, fileName, segment.WriterConfig{BlockBytes: 256})
		if err == nil {
			err = d.addTo(w)
			if err == nil {
				_, err = w.Finish()
			}
			if err != nil {
				ok(t, w.Abort())
			}
		}
		if f.Failed() == 0 {
			ok(t, err)
			ok(t, open(t, m, segment.Config{}).Verify())
			return
		}
		if err == nil {
			t.Fatalf("operation %d failed and nobody was told", n)
		}
		if _, err := m.Stat(fileName); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("operation %d failed: the file is there after Abort: %v", n, err)
		}
	}
}

// TestPowerCut wants all that Finish has promised, and what was not finished to be refused.
func TestPowerCut(t *testing.T) {
	d := small()
	for seed := range uint64(50) {
		m := vfs.NewMemory()
		w, err := segment.Create(m, fileName, segment.WriterConfig{BlockBytes: 256})
		ok(t, err)
		ok(t, d.addTo(w))
		ok(t, m.SyncDir("/"))
		if s, err := segment.Open(m.PowerCut(vfs.Random(seed)), fileName, segment.Config{}); err == nil {
			t.Fatalf("a file that is not finished opens: %+v", s.Summary())
		}
		_, err = w.Finish()
		ok(t, err)
		ok(t, open(t, m.PowerCut(vfs.Random(seed)), segment.Config{}).Verify())
	}
}

func TestKeys(t *testing.T) {
	d := small()
	old, current := key(t, 1), key(t, 2)
	sealed := memory(t, d.file(t, segment.WriterConfig{Key: old, Cipher: segment.AES256GCM}))
	for name, keys := range map[string][]*segment.Key{"no key": nil, "another key": {current}, "no key at all": {nil}} {
		if _, err := segment.Open(sealed, fileName, segment.Config{Keys: keys}); !errors.Is(err, segment.ErrKey) ||
			!strings.Contains(err.Error(), old.ID().String()) {
			t.Errorf("%s: got error %v, want %v and the id of the key", name, err, segment.ErrKey)
		}
	}
	s := open(t, sealed, segment.Config{Keys: []*segment.Key{current, old}}) // after a rotation
	ok(t, s.Verify())
	if id, isSealed := s.KeyID(); id != old.ID() || !isSealed {
		t.Errorf("KeyID gives %v, %v, want %v", id, isSealed, old.ID())
	}
	s = open(t, memory(t, d.file(t, segment.WriterConfig{})), segment.Config{Keys: []*segment.Key{current}})
	if _, isSealed := s.KeyID(); isSealed {
		t.Error("a file without a key is said to be sealed")
	}
	if _, err := segment.NewKey([]byte("short")); err == nil {
		t.Error("a short key gives no error")
	}
	if _, err := segment.Create(vfs.NewMemory(), fileName, segment.WriterConfig{Key: old, Cipher: 77}); err == nil {
		t.Error("an unknown cipher gives no error")
	}
	if text := old.String() + old.GoString(); strings.Contains(text, "\x01\x01\x01") || strings.Contains(text, "1, 1, 1") {
		t.Errorf("a key tells its secret: %s", text)
	}
}

// TestSealed looks for what must not be seen.
func TestSealed(t *testing.T) {
	d := small()
	words := []string{"NATS/1.0", "zzzz", "other.", "a.b"}
	plain := d.file(t, segment.WriterConfig{})
	for _, cipher := range []segment.Cipher{0, segment.ChaCha20Poly1305, segment.AES256GCM} {
		content := d.file(t, segment.WriterConfig{Key: key(t, 1), Cipher: cipher})
		for _, w := range words {
			if !bytes.Contains(plain, []byte(w)) || bytes.Contains(content, []byte(w)) {
				t.Errorf("cipher %d: %q is in the sealed file or not in the plain one", cipher, w)
			}
		}
	}
	one, two := d.file(t, segment.WriterConfig{Key: key(t, 1)}), d.file(t, segment.WriterConfig{Key: key(t, 1)})
	for _, c := range segment.Chunks(one) {
		start := c.Start + segment.EnvelopeBytes
		if bytes.Equal(one[start:c.End], two[start:c.End]) {
			t.Errorf("a chunk of %s is sealed alike in two files", c.Kind)
		}
	}
}

// Compressed data must not let a small file fill the memory, and so very regular data are left as they are.
func TestVeryRegular(t *testing.T) {
	w, m := create(t, segment.WriterConfig{Compress: true})
	large := make([]byte, 5<<20)
	ok(t, w.Add(1, segment.Message{Sequence: 1, Subject: "a", Payload: large}))
	ok(t, w.Add(1, segment.Message{Sequence: 2, Subject: "a", Payload: large[:1000]}))
	_, err := w.Finish()
	ok(t, err)
	s := open(t, m, segment.Config{})
	ok(t, s.Verify())
	msg, found, err := s.Load(1, 1)
	if err != nil || !found || !bytes.Equal(msg.Payload, large) {
		t.Errorf("the large message is not what was written: %v, %v", found, err)
	}
}

// TestExtremes writes the least and greatest of all numbers.
func TestExtremes(t *testing.T) {
	const most = math.MaxUint64
	d := &data{streams: []uint64{0, most}, messages: map[uint64][]segment.Message{}}
	for _, stream := range d.streams {
		d.messages[stream] = []segment.Message{
			{Sequence: 0, Time: math.MinInt64, Expires: math.MaxInt64, Bytes: most, Subject: "a"},
			{Sequence: 1, Time: math.MaxInt64, Expires: math.MinInt64, Bytes: 0, Subject: ""},
			{Sequence: 1 << 63, Time: 0, Expires: -1, Bytes: 1 << 63, Subject: strings.Repeat("x", 3000)},
			{Sequence: most - 1, Time: -5, Bytes: 7, Subject: "a"},
			{Sequence: most, Time: 5, Bytes: 7, Subject: "a"},
		}
		d.tables = append(d.tables, table{stream: stream, kind: 255, facts: []segment.Fact{
			{Hash: segment.Hash{}, Value: segment.Value{0, most, 5}},
			{Hash: segment.Hash(bytes.Repeat([]byte{255}, 16)), Value: segment.Value{most, 0, 5}},
		}})
	}
	for name, c := range variants(t) {
		t.Run(name, func(t *testing.T) { d.verifyWritten(t, c, d.queries(newRandom(1), 25)) })
	}
}

func TestLongestSubject(t *testing.T) {
	d := &data{streams: []uint64{1}, messages: map[uint64][]segment.Message{}}
	for i := range uint64(12) { // more than a page may hold when unfolded
		subject := strings.Repeat("x", segment.MaxSubjectBytes-2) + fmt.Sprintf("%02d", i)
		d.messages[1] = append(d.messages[1], segment.Message{Sequence: i, Subject: subject})
	}
	d.verifyWritten(t, segment.WriterConfig{}, d.queries(newRandom(1), 2))
}

func TestSmallFilesAreSmall(t *testing.T) {
	w, _ := create(t, segment.WriterConfig{})
	for stream := range uint64(100) {
		ok(t, w.Add(stream, segment.Message{Sequence: 1, Subject: "orders.new", Payload: []byte("x")}))
	}
	s, err := w.Finish()
	ok(t, err)
	if each := s.Bytes / 100; each > 250 {
		t.Errorf("a stream of one message takes %d bytes, want at most 250", each)
	}
}

var update = flag.Bool("update", false, "write the golden files of this version anew")

// TestGolden opens files as every released version has written them.
func TestGolden(t *testing.T) {
	d := small()
	for name, c := range map[string]segment.WriterConfig{
		"v1-plain":      {BlockBytes: 256},
		"v1-compressed": {BlockBytes: 2048, Compress: true},
		"v1-chacha20":   {BlockBytes: 256, Key: key(t, 1)},
		"v1-aes":        {BlockBytes: 256, Compress: true, Key: key(t, 1), Cipher: segment.AES256GCM},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".seg")
			if *update {
				ok(t, os.MkdirAll("testdata", 0o700))
				ok(t, os.WriteFile(path, d.file(t, c), 0o600))
			}
			content, err := os.ReadFile(path)
			ok(t, err)
			s := open(t, memory(t, content), segment.Config{Keys: []*segment.Key{key(t, 1)}})
			check(t, s, d.queries(newRandom(5), 20))
			ok(t, s.Verify())
		})
	}
}
