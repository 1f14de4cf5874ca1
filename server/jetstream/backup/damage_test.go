package backup_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"runnel/server/jetstream/backup"
)

// readFile reads a golden backup whole.
func readFile(file string) (*whole, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f)
}

// entry makes an entry of version 2.
func entry(name string, seq uint64, header, payload string) []byte {
	b := binary.AppendUvarint(nil, uint64(len(name)))
	b = binary.AppendVarint(b, 1)
	b = binary.AppendUvarint(b, seq)
	b = binary.AppendUvarint(b, uint64(len(header)))
	b = binary.AppendUvarint(b, uint64(len(payload)))
	return append(b, name+header+payload...)
}

// prefix makes the beginning of an entry with lengths that need not be true.
func prefix(name, seq, header, payload uint64) []byte {
	b := binary.AppendUvarint(nil, name)
	b = binary.AppendVarint(b, 1)
	b = binary.AppendUvarint(b, seq)
	b = binary.AppendUvarint(b, header)
	return binary.AppendUvarint(b, payload)
}

func TestDamagedEntries(t *testing.T) {
	var (
		magic    = []byte("NATSARC1")
		state    = entry("state.json", 0, "", `{"messages":1,"first_seq":1,"last_seq":1}`)
		one      = entry("state.json", 0, "", `{"consumer_count":1}`)
		consumer = entry("consumers/c", 0, "", `{"config":{"name":"c"},"state":{}}`)
		message  = entry("a", 1, "", "x")
		end      = make([]byte, 5)
	)
	type parts [][]byte
	tests := []struct {
		name  string
		parts parts
		want  error
		text  string
	}{
		{"whole", parts{magic, one, consumer, message, end}, nil, ""},
		{"nothing", parts{}, backup.ErrFormat, ""},
		{"something else", parts{[]byte("hello, world")}, backup.ErrFormat, "hello"},
		{"half a magic", parts{magic[:5]}, backup.ErrFormat, ""},
		{"only the magic", parts{magic}, backup.ErrDamaged, "beginning of an entry"},
		{"no state", parts{magic, end}, backup.ErrDamaged, "no state"},
		{"no end", parts{magic, state, message}, backup.ErrDamaged, "unexpected EOF"},
		{"half an end", parts{magic, state, message, end[:3]}, backup.ErrDamaged, "unexpected EOF"},
		{"more after the end", parts{magic, state, end, end}, backup.ErrDamaged, "something follows"},
		{"cut in a name", parts{magic, state, message[:5]}, backup.ErrDamaged, "name of an entry"},
		{"cut in a payload", parts{magic, state, message[:6]}, backup.ErrDamaged, `content of "a"`},
		{"message before the state", parts{magic, message}, backup.ErrDamaged, "before the state"},
		{"consumer before the state", parts{magic, consumer}, backup.ErrDamaged, "where it belongs"},
		{"consumer after a message", parts{magic, state, message, consumer, end}, backup.ErrDamaged, "where it belongs"},
		{"consumer too many", parts{magic, one, consumer, consumer, end}, backup.ErrDamaged, "where it belongs"},
		{"consumer too few", parts{magic, one, end}, backup.ErrDamaged, "not all consumers"},
		{"message instead of a consumer", parts{magic, one, message, end}, backup.ErrDamaged, "last consumer"},
		{"negative consumers", parts{magic, entry("state.json", 0, "", `{"consumer_count":-1}`), message, end}, backup.ErrDamaged, "last consumer"},
		{"two states", parts{magic, state, state, end}, backup.ErrDamaged, "where it belongs"},
		{"state is no JSON", parts{magic, entry("state.json", 0, "", "{")}, backup.ErrDamaged, "state.json"},
		{"state with a first beyond the last", parts{magic, entry("state.json", 0, "", `{"first_seq":9,"last_seq":7}`)}, backup.ErrDamaged, "beyond"},
		{"state with a negative number", parts{magic, entry("state.json", 0, "", `{"messages":-1}`)}, backup.ErrDamaged, "state.json"},
		{"consumer is no JSON", parts{magic, one, entry("consumers/c", 0, "", "[]")}, backup.ErrDamaged, `consumer "c"`},
		{"consumer with another name", parts{magic, one, entry("consumers/d", 0, "", `{"config":{"name":"c"}}`)}, backup.ErrDamaged, `the name "c"`},
		{"consumer without a name", parts{magic, one, entry("consumers/", 0, "", `{}`)}, backup.ErrDamaged, `consumer ""`},
		{"something new", parts{magic, state, entry("schedules.json", 0, "", "{}")}, backup.ErrVersion, "newer"},
		{"sequence twice", parts{magic, state, message, message}, backup.ErrDamaged, "1 comes after message 1"},
		{"sequence goes back", parts{magic, state, entry("a", 2, "", ""), message}, backup.ErrDamaged, "1 comes after message 2"},
		{"no subject", parts{magic, state, entry("", 1, "", "x")}, backup.ErrDamaged, "subject"},
		{"subject with a blank", parts{magic, state, entry("a b", 1, "", "x")}, backup.ErrDamaged, "subject"},
		{"subject with an empty token", parts{magic, state, entry("a..b", 1, "", "x")}, backup.ErrDamaged, "subject"},
		{"header is none", parts{magic, state, entry("a", 1, "hello", "x")}, backup.ErrDamaged, "header"},
		{"large name", parts{magic, state, prefix(1<<17, 1, 0, 0)}, backup.ErrTooLarge, ""},
		{"large header", parts{magic, state, prefix(1, 1, 1<<40, 0)}, backup.ErrTooLarge, ""},
		{"large payload", parts{magic, state, prefix(1, 1, 0, 1<<63)}, backup.ErrTooLarge, ""},
		{"lengths that overflow", parts{magic, state, prefix(1, 1, 1<<26, 1<<64-1)}, backup.ErrTooLarge, ""},
		{"large state", parts{magic, prefix(10, 0, 0, 1<<27)}, backup.ErrTooLarge, ""},
		{"a number of eleven bytes", parts{magic, state, bytes.Repeat([]byte{0xff}, 11)}, backup.ErrDamaged, "overflow"},
		{"a length that is not there", parts{magic, state, prefix(1, 1, 0, 1<<26), []byte("a and little more")}, backup.ErrDamaged, `content of "a"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := read(compressed(t, test.parts...))
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %q, want %q in it", err, test.text)
			}
		})
	}
}

func TestConsumersAreSettled(t *testing.T) {
	text := `{"config":{"durable_name":"c","pause_until":"0001-01-01T00:00:00Z"},
		"state":{"delivered":{"consumer_seq":1,"stream_seq":4},"ack_floor":{"consumer_seq":2,"stream_seq":5},
		"pending":{"5":{"Sequence":1,"Timestamp":1},"6":{"Sequence":2,"Timestamp":1}}}}`
	b, err := read(compressed(t, []byte("NATSARC1"), entry("state.json", 0, "", `{"consumer_count":1}`), entry("consumers/c", 0, "", text), make([]byte, 5)))
	if err != nil {
		t.Fatal(err)
	}
	c := b.Consumers[0]
	if c.Config.Name != "c" || c.Config.PauseUntil != nil {
		t.Errorf("got name %q, paused until %v, want c and never", c.Config.Name, c.Config.PauseUntil)
	}
	if want := (backup.Position{Consumer: 2, Stream: 5}); c.State.Delivered != want || len(c.State.Pending) != 0 {
		t.Errorf("got delivered %+v and pending %v, want %+v and none", c.State.Delivered, c.State.Pending, want)
	}
}

// TestEveryCut cuts every golden backup at every length: each is damaged, and none is read as if it were whole.
func TestEveryCut(t *testing.T) {
	for _, file := range goldens(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n := range data {
			_, err := read(bytes.NewReader(data[:n]))
			if !errors.Is(err, backup.ErrDamaged) && !errors.Is(err, backup.ErrFormat) {
				t.Fatalf("%s, the first %d of %d bytes: got %v", file, n, len(data), err)
			}
		}
	}
}

// TestEveryFlip changes a bit in every byte: whatever the checksum covers is found.
func TestEveryFlip(t *testing.T) {
	for _, file := range goldens(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := describe(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			data[i] ^= 0x10
			if got, err := describe(bytes.NewReader(data)); err == nil && got != want {
				t.Errorf("%s: with byte %d changed it reads\n%s\nwant\n%s", file, i, got, want)
			}
			data[i] ^= 0x10
		}
	}
}

// failing gives the beginning and then an error.
func failing(data []byte, err error) io.Reader {
	return io.MultiReader(bytes.NewReader(data), iotest.ErrReader(err))
}

func TestReadErrorsAreNotDamage(t *testing.T) {
	data, err := os.ReadFile("testdata/2.15-consumers.arc.s2")
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("disk gone")
	for _, n := range []int{0, 5, len(data) / 2, len(data)} {
		_, err := read(failing(data[:n], gone))
		if !errors.Is(err, gone) || errors.Is(err, backup.ErrDamaged) || errors.Is(err, backup.ErrFormat) {
			t.Errorf("after %d bytes: got %v, want only %v", n, err, gone)
		}
	}
}

// TestErrorsAreFinal asks on after an error and after the end.
func TestErrorsAreFinal(t *testing.T) {
	r, err := backup.NewReader(compressed(t, []byte("NATSARC1"), entry("state.json", 0, "", "{}")))
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		_, err = r.Next()
	}
	if !errors.Is(err, backup.ErrDamaged) {
		t.Errorf("got %v, want %v", err, backup.ErrDamaged)
	}
}

func FuzzReader(f *testing.F) {
	for _, file := range goldens(f) {
		f.Add(content(f, strings.TrimPrefix(file, "testdata/")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := read(compressed(t, data))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := b.write(&out); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if _, err := read(&out); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}
