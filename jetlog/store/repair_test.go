package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/rescue"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// worn writes a store with a stream in three files, of which the middle one has sequences 41 to 80, a few more
// in the log, and a consumer that waits for some of all.
func worn(t *testing.T) store.Config {
	t.Helper()
	cfg := store.Config{Dir: filepath.Join(t.TempDir(), "store"), LogSegmentBytes: 1 << 16, LogBytes: 1 << 20, ScrubBytes: -1}
	s := open(t, cfg)
	c := unlimited("W")
	c.MaxPerSubject = 30
	c.DuplicateWindow = 1 << 40
	stream, other := create(t, s, c), create(t, s, unlimited("O"))
	propose(t, stream, &command.ConsumerCreate{Time: 1, Config: config.Consumer{
		Name: "c", Ack: config.AckExplicit, AckWait: 1 << 40, MaxAckPending: 1000, MaxDeliver: -1,
	}})
	for i := range 130 {
		propose(t, stream, &command.Publish{
			Time: int64(i), Subject: fmt.Sprintf("W.%d", i%5), Payload: fmt.Appendf(nil, "W payload %03d", i+1),
			Header: fmt.Appendf(nil, "NATS/1.0\r\nNats-Msg-Id: %d\r\n\r\n", i+1),
		})
		if i%40 == 39 {
			publish(t, other, 2)
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var deliver command.Deliver
	_ = stream.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		deliver = command.Deliver{Time: 200, Consumer: "c", Incarnation: state.Consumer("c").Incarnation(), From: 1}
		return nil
	})
	for seq := range uint64(60) {
		deliver.Messages = append(deliver.Messages, command.Delivery{Sequence: seq + 1})
	}
	if r := propose(t, stream, &deliver); r.Code != 0 {
		t.Fatalf("deliver: %+v", r)
	}
	propose(t, stream, &command.Delete{Time: 201, Sequence: 42})
	closeStore(t, s)
	return cfg
}

// TestRepair damages one of three files in several ways: the stream opens again with what is left, counts what
// is lost, and goes on.
func TestRepair(t *testing.T) {
	for name, damage := range map[string]struct {
		do          func(t *testing.T, path string)
		least, most uint64 // that may be lost
		aside       bool
	}{
		"block":      {func(t *testing.T, path string) { flipAt(t, path, "W payload 050") }, 1, 40, true},
		"footer":     {func(t *testing.T, path string) { flip(t, path, -20) }, 0, 0, true},
		"dictionary": {func(t *testing.T, path string) { flip(t, path, -200) }, 0, 40, true},
		"missing": {func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, 40, 40, false},
		"empty": {func(t *testing.T, path string) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		}, 40, 40, true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := worn(t)
			path := files3(t, cfg)[1]
			damage.do(t, path)
			result, err := rescue.Repair(cfg, "A", "W")
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Damage) == 0 || result.LostMessages < damage.least || result.LostMessages > damage.most {
				t.Errorf("repaired: %+v", result)
			}
			// The other stream had something in the file, too.
			if _, err := rescue.Repair(cfg, "A", "O"); err != nil {
				t.Fatal(err)
			}
			if aside, _ := filepath.Glob(filepath.Join(cfg.Dir, "set-aside", "*")); (len(aside) == 1) != damage.aside {
				t.Errorf("set aside: %v", aside)
			}
			repaired(t, cfg, result)
		})
	}
}

// files3 are the segment files, in their order.
func files3(t *testing.T, cfg store.Config) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(cfg.Dir, "segments", "*"))
	if err != nil || len(names) != 3 {
		t.Fatal(names, err)
	}
	return names
}

// flipAt inverts a bit where some text stands.
func flipAt(t *testing.T, path, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, path, int64(bytes.Index(b, []byte(text))))
}

// repaired opens the store and wants it sound: nothing but what is lost is missing.
func repaired(t *testing.T, cfg store.Config, result *rescue.Salvaged) {
	t.Helper()
	s := open(t, cfg)
	stream := s.Stream("A", "W")
	lost := func(seq uint64) bool {
		for _, r := range result.Lost {
			if r.First <= seq && seq <= r.Last {
				return true
			}
		}
		return false
	}
	_ = stream.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		if n, size := state.Lost(); n != result.LostMessages || size != result.LostBytes {
			t.Errorf("lost %d of %d bytes, want %+v", n, size, result)
		}
		return nil
	})
	found := uint64(0)
	for seq := uint64(1); seq <= 130; seq++ {
		m, err := stream.Load(seq)
		switch {
		case err != nil:
			t.Fatal(err)
		case seq == 42 || lost(seq) && m.Sequence == 0:
		case m.Sequence != seq || string(m.Payload) != fmt.Sprintf("W payload %03d", seq):
			t.Errorf("message %d: %+v", seq, m)
		default:
			found++
		}
	}
	if got := stream.State(); got.Last != 130 || got.Messages != found || found < 129-result.LostMessages {
		t.Errorf("state %+v, %d found", got, found)
	}
	for i := range 5 {
		subject := fmt.Sprintf("W.%d", i)
		state, err := stream.Subject(subject)
		n := 0
		for _, seq := range oneByOne(t, stream, 1, jetlog.Filter{subject}) {
			if m, _ := stream.Load(seq); m.Subject == subject {
				n++
			}
		}
		if err != nil || state.Count != uint64(n) {
			t.Errorf("%s: %+v, %v; want %d", subject, state, err, n)
		}
	}
	for i := range 100 { // limits work, over several flushes
		propose(t, stream, &command.Publish{Time: int64(300 + i), Subject: fmt.Sprintf("W.%d", i%5)})
		if i%30 == 0 {
			if err := errors.Join(s.Flush(), s.Compact()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := stream.Check(); err != nil {
		t.Error(err)
	}
	if d := s.Damage(); len(d) > 0 {
		t.Errorf("damage: %v", d)
	}
	closeStore(t, s)
	if all, err := rescue.Check(cfg); err != nil || len(all.Problems) > 0 || all.Streams[0].Removed["lost"] != result.LostMessages {
		t.Errorf("check: %+v, %v", all, err)
	}
}

// TestRepairRefuses leaves alone what is sound, what is not there, and what the log has lost.
func TestRepairRefuses(t *testing.T) {
	cfg := worn(t)
	before := files(t, filepath.Join(cfg.Dir, "segments"))
	result, err := rescue.Repair(cfg, "A", "W")
	if err != nil || len(result.Damage) > 0 || result.LostMessages > 0 {
		t.Errorf("repair of a sound stream: %+v, %v", result, err)
	}
	if _, err := rescue.Repair(cfg, "A", "X"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("repair of no stream: %v", err)
	}
	after := files(t, filepath.Join(cfg.Dir, "segments"))
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s has changed", name)
		}
	}
	for name, content := range files(t, filepath.Join(cfg.Dir, "wal")) {
		if i := strings.Index(content, "W payload 123"); i > 0 {
			flip(t, name, int64(i))
		}
	}
	if _, err := rescue.Repair(cfg, "A", "W"); !errors.Is(err, rescue.ErrLogDamage) {
		t.Errorf("repair of what the log has lost: %v", err)
	}
}

// TestRepairFails lets every operation of a repair fail: afterwards the stream is as before, or repaired.
func TestRepairFails(t *testing.T) {
	for n := 1; ; n++ {
		memory := vfs.NewMemory()
		cfg := small(memory)
		s := open(t, cfg)
		stream := create(t, s, unlimited("S"))
		for range 3 {
			publish(t, stream, 5)
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		closeStore(t, s)
		entries, err := memory.List(dir + "/segments")
		if err != nil || len(entries) != 3 {
			t.Fatal(entries, err)
		}
		f, err := memory.OpenReadWrite(dir + "/segments/" + entries[1].Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(50), f.Close()); err != nil {
			t.Fatal(err)
		}
		fault := vfs.NewFault(memory)
		fault.Fail(vfs.Rule{After: n - 1, Times: 1})
		cfg.FS = fault
		_, repairErr := rescue.Repair(cfg, "A", "S")
		if repairErr != nil {
			cfg.FS = memory
			if _, err := rescue.Repair(cfg, "A", "S"); err != nil {
				t.Fatalf("operation %d failed (%v), and then the repair: %v", n, repairErr, err)
			}
		}
		cfg.FS = memory
		s = open(t, cfg)
		stream = s.Stream("A", "S")
		if got := stream.State(); got.Messages != 10 || got.Last != 15 {
			t.Fatalf("operation %d failed (%v): %+v", n, repairErr, got)
		}
		if _, err := stream.Propose(context.Background(), &command.Publish{Time: 99, Subject: "S.x"}); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if repairErr == nil && n > 60 {
			return
		}
	}
}
