package store_test

import (
	"fmt"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/vfs"
)

// segments counts the files of a store in memory.
func segments(t *testing.T, fs vfs.FS) int {
	t.Helper()
	entries, err := fs.List(dir + "/segments")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestFewFiles flushes two streams again and again: each flush makes one file, compaction makes few of
// them, and files that nobody needs go.
func TestFewFiles(t *testing.T) {
	fs := vfs.NewMemory()
	s := open(t, small(fs))
	a, b := create(t, s, unlimited("S")), create(t, s, unlimited("T"))
	for round := range 30 {
		publish(t, a, 5)
		publish(t, b, 5)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if round == 0 && segments(t, fs) != 1 {
			t.Errorf("%d files after the first flush, want one that both share", segments(t, fs))
		}
		if err := s.Compact(); err != nil {
			t.Fatal(err)
		}
	}
	if n := segments(t, fs); n > 16 {
		t.Errorf("%d files after 30 flushes", n)
	}
	propose(t, a, &command.Purge{Time: 2})
	if err := s.Delete(b); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := segments(t, fs); n != 0 {
		t.Errorf("%d files of streams that have nothing", n)
	}
	if err := s.Flush(); err != nil {
		t.Errorf("a flush of nothing: %v", err)
	}
	closeStore(t, s)
}

// TestWorkQueueNeedsNoFiles acknowledges before the flush: nothing gets to a segment.
func TestWorkQueueNeedsNoFiles(t *testing.T) {
	fs := vfs.NewMemory()
	s := open(t, small(fs))
	cfg := unlimited("S")
	cfg.Retention = config.WorkQueueRetention
	stream := create(t, s, cfg)
	propose(t, stream, &command.ConsumerCreate{Time: 1, Config: config.Consumer{Name: "c", Durable: "c", Ack: config.AckExplicit, MaxDeliver: -1, MaxAckPending: -1}})
	for i := range uint64(20) {
		publish(t, stream, 1)
		d := &command.Deliver{Time: 1, Consumer: "c", Incarnation: 1, From: i + 1, Messages: []command.Delivery{{Sequence: i + 1}}}
		propose(t, stream, d)
		propose(t, stream, &command.Ack{Time: 1, Consumer: "c", Replies: []command.Reply{{Answer: command.Done, Sequence: i + 1}}})
	}
	if got := stream.State(); got.Messages != 0 || got.Last != 20 {
		t.Fatalf("state %+v", got)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := segments(t, fs); n != 0 {
		t.Errorf("%d files", n)
	}
	closeStore(t, s)
}

// TestReads asks a stream whose messages are in files, and in memory, through its own methods.
func TestReads(t *testing.T) {
	s := open(t, small(vfs.NewMemory()))
	stream := create(t, s, unlimited("S"))
	for i := range 20 {
		propose(t, stream, &command.Publish{Time: 1<<61 + int64(i), Subject: fmt.Sprintf("S.%d", i%3)})
		if i == 12 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := s.StreamByID(stream.ID()); got != stream || stream.Account() != "A" {
		t.Errorf("stream %v of account %q", got, stream.Account())
	}
	for _, tt := range []struct {
		name string
		ask  func() (uint64, error)
		want uint64
	}{
		{"next in files", func() (uint64, error) { return stream.NextOf(jetlog.Filter{"S.1"}, 3) }, 5},
		{"next in memory", func() (uint64, error) { return stream.NextOf(jetlog.Filter{"S.1"}, 12) }, 14},
		{"next of none", func() (uint64, error) { return stream.NextOf(jetlog.Filter{"S.9"}, 1) }, 0},
		{"last in files", func() (uint64, error) { return stream.LastOf(jetlog.Filter{"S.1"}, 13) }, 11},
		{"last in memory", func() (uint64, error) { return stream.LastOf(jetlog.Filter{"S.*"}, 99) }, 20},
		{"first after", func() (uint64, error) { return stream.FirstAfter(1<<61 + 15) }, 16},
		{"count of a subject", func() (uint64, error) { x, err := stream.Subject("S.2"); return x.Count, err }, 6},
		{"meta", func() (uint64, error) { x, err := stream.Meta(7); return x.Sequence, err }, 7},
		{"meta of none", func() (uint64, error) { x, err := stream.Meta(70); return x.Sequence, err }, 0},
	} {
		if got, err := tt.ask(); err != nil || got != tt.want {
			t.Errorf("%s: %d, %v, want %d", tt.name, got, err, tt.want)
		}
	}
	closeStore(t, s)
}
