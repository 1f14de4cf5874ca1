package dump_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/dump"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// filled writes a store with two streams of three messages, of which one is in a file.
func filled(t *testing.T) store.Config {
	t.Helper()
	cfg := store.Config{FS: vfs.NewMemory(), Dir: "/store", LogBytes: 1 << 20, LogSegmentBytes: 64 << 10, ScrubBytes: -1, ReserveBytes: -1}
	s, _, err := store.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"A", "B"} {
		stream, err := s.Create("acc", config.Stream{Name: name, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1, MaxMessageBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		propose := func(c command.Command) {
			if _, err := stream.Propose(context.Background(), c); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			propose(&command.Publish{Time: 1, Subject: name + ".x", Payload: []byte("payload \x00 of " + name)})
		}
		propose(&command.ConsumerCreate{Time: 1, Config: config.Consumer{Name: "worker", Ack: config.AckExplicit}})
		if name == "A" {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestWrite(t *testing.T) {
	cfg := filled(t)
	for name, tt := range map[string]struct {
		stream        string
		messages      bool
		want, without []string // what is there, and what is not
	}{
		"all":        {"", false, []string{`stream 1 "A" of account "acc"`, `stream 2 "B"`, `consumer "worker": `, "state {First:1 Last:3"}, []string{"payload"}},
		"one":        {"A", true, []string{`stream 1 "A"`, `message 3 `, `"payload \x00 of A"`}, []string{`"B"`}},
		"all of all": {"", true, []string{"of A", "of B"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := dump.Write(cfg, &out, tt.stream, tt.messages); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("there is no %q in\n%s", want, out.String())
				}
			}
			for _, not := range tt.without {
				if strings.Contains(out.String(), not) {
					t.Errorf("there is %q in\n%s", not, out.String())
				}
			}
		})
	}
}

// brokenWriter fails after some bytes.
type brokenWriter struct{ left int }

var errBroken = errors.New("broken")

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errBroken
	}
	return len(b), nil
}

func TestErrors(t *testing.T) {
	cfg := filled(t)
	if err := dump.Write(cfg, io.Discard, "C", false); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dump of no stream: %v", err)
	}
	var whole strings.Builder
	if err := dump.Write(cfg, &whole, "A", true); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < whole.Len(); n += 50 {
		if err := dump.Write(cfg, &brokenWriter{n}, "A", true); !errors.Is(err, errBroken) {
			t.Errorf("dump to a writer that takes %d bytes: %v", n, err)
		}
	}
	cfg.Dir = "/none"
	if err := dump.Write(cfg, io.Discard, "", false); err == nil {
		t.Error("dump of no store")
	}
}

// TestHalted tells why a stream is halted, and goes on with others.
func TestHalted(t *testing.T) {
	cfg := filled(t)
	entries, err := cfg.FS.List("/store/segments")
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if err := cfg.FS.Remove("/store/segments/" + entries[0].Name); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := dump.Write(cfg, &out, "", true); err != nil || !strings.Contains(out.String(), "halted: ") || !strings.Contains(out.String(), "of B") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
