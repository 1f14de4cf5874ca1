package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runnel/jetlog/command"
	"runnel/jetlog/manifest"
	"runnel/jetlog/rescue"
	"runnel/jetlog/segment"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// filled returns a closed store on a real disk with two streams, A in files and in the log, B only there.
func filled(t *testing.T) store.Config {
	t.Helper()
	cfg := small(vfs.Disk{})
	cfg.Dir = filepath.Join(t.TempDir(), "store")
	s := open(t, cfg)
	for _, name := range []string{"A", "B"} {
		stream := create(t, s, unlimited(name))
		for i := range 50 {
			propose(t, stream, &command.Publish{Time: 1, Subject: name + ".x", Payload: fmt.Appendf(nil, "%s payload %d", name, i)})
		}
		propose(t, stream, &command.Delete{Time: 1, Sequence: 7})
		if name == "A" {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			propose(t, stream, &command.Publish{Time: 1, Subject: "A.y"})
		}
	}
	closeStore(t, s)
	return cfg
}

// files returns the contents of all files below a folder, by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCheckChangesNothing(t *testing.T) {
	cfg := filled(t)
	before := files(t, cfg.Dir)
	found, err := rescue.Check(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Problems) > 0 || len(found.Streams) != 2 || found.Files != 1 {
		t.Errorf("found %+v", found)
	}
	a := found.Streams[0]
	if a.Published != 51 || a.Messages != 50 || a.Removed["delete"] != 1 {
		t.Errorf("stream A: %+v", a)
	}
	after := files(t, cfg.Dir)
	if len(after) != len(before) {
		t.Errorf("%d files, before %d", len(after), len(before))
	}
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s has changed", name)
		}
	}
	if _, err := json.Marshal(found); err != nil {
		t.Error(err)
	}
}

// flip inverts a bit of a file.
func flip(t *testing.T, name string, offset int64) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if offset < 0 {
		offset += int64(len(b))
	}
	b[offset] ^= 4
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func one(t *testing.T, cfg store.Config, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(cfg.Dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	return names[0]
}

// TestFlippedBits damages each kind of file, and wants the damage told with its place: by Check, and by
// the stream that is concerned, while the other goes on.
func TestFlippedBits(t *testing.T) {
	t.Run("block", func(t *testing.T) {
		cfg := filled(t)
		name := one(t, cfg, "segments/*.segment")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		flip(t, name, int64(strings.Index(string(b), "A payload 30")))
		found, err := rescue.Check(cfg)
		if err != nil || len(found.Problems) == 0 || !strings.Contains(strings.Join(found.Problems, " "), filepath.Base(name)) {
			t.Errorf("found %+v, %v", found, err)
		}
		s := open(t, cfg)
		ended, end := context.WithCancel(t.Context())
		end()
		if s.Stream("A", "A").Scrub(ended); s.Stream("A", "A").Harm() != nil {
			t.Errorf("scrub of A that was to end before: %v", s.Stream("A", "A").Harm())
		}
		if s.Stream("A", "A").Scrub(t.Context()); s.Stream("A", "A").Harm() == nil {
			t.Error("scrub of A finds nothing")
		}
		var damage *store.StreamDamage
		if _, err := s.Stream("A", "A").Load(31); !errors.As(err, &damage) || damage.File != name || damage.First > 31 || damage.Last < 31 {
			t.Errorf("message 31: %v", err)
		}
		var corruption *segment.Corruption
		if err := s.Scrub(); !errors.As(err, &corruption) || corruption.File != name {
			t.Errorf("scrub: %v", err)
		}
		before := len(s.Damage())
		if _, err := s.Stream("A", "A").Load(31); err == nil || len(s.Damage()) != before {
			t.Errorf("read again: %v, and damage is remembered again: %v", err, s.Damage())
		}
		if s.Stream("A", "A").Harm() == nil || s.Stream("A", "A").Err() != nil || s.Stream("A", "B").Harm() != nil {
			t.Errorf("harm of A: %v, of B: %v; A is halted by %v", s.Stream("A", "A").Harm(), s.Stream("A", "B").Harm(), s.Stream("A", "A").Err())
		}
		if len(s.Damage()) < 2 {
			t.Errorf("damage that is remembered: %v", s.Damage())
		}
		if m, err := s.Stream("A", "B").Load(31); err != nil || m.Sequence != 31 {
			t.Errorf("the other stream: %+v, %v", m, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		salvage(t, cfg, "A", 0)
	})
	t.Run("footer", func(t *testing.T) {
		cfg := filled(t)
		flip(t, one(t, cfg, "segments/*.segment"), -20)
		halts(t, cfg, "A")
		salvage(t, cfg, "A", 49)
	})
	t.Run("file is missing", func(t *testing.T) {
		cfg := filled(t)
		if err := os.Remove(one(t, cfg, "segments/*.segment")); err != nil {
			t.Fatal(err)
		}
		halts(t, cfg, "A")
		salvage(t, cfg, "A", 0)
	})
	t.Run("log", func(t *testing.T) {
		cfg := filled(t)
		for name, content := range files(t, filepath.Join(cfg.Dir, "wal")) {
			if i := strings.Index(content, "B payload 20"); i > 0 {
				flip(t, name, int64(i))
			}
		}
		halts(t, cfg, "B")
		salvage(t, cfg, "B", 19)
	})
	t.Run("manifest", func(t *testing.T) {
		cfg := filled(t)
		flip(t, one(t, cfg, "manifest-*"), 60)
		var damage *manifest.Damage
		if _, _, err := store.Open(cfg); !errors.As(err, &damage) {
			t.Errorf("open: %v", err)
		}
		if _, err := rescue.Check(cfg); !errors.As(err, &damage) {
			t.Errorf("check: %v", err)
		}
	})
}

// halts opens the store and wants that one stream does not start and the others do.
func halts(t *testing.T, cfg store.Config, name string) {
	t.Helper()
	s, report, err := store.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(report.Halted) != 1 || report.Halted[0].Name() != name {
		t.Fatalf("halted: %v", report.Halted)
	}
	stream := report.Halted[0]
	var damage *store.StreamDamage
	if err := stream.Err(); !errors.As(err, &damage) || damage.File == "" || damage.Name != name {
		t.Errorf("why %s is halted: %v", name, err)
	}
	if _, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: "A.x"}); !errors.Is(err, store.ErrHalted) {
		t.Errorf("publish: %v", err)
	}
	for _, other := range s.Streams() {
		if other != stream {
			propose(t, other, &command.Publish{Time: 2, Subject: other.Name() + ".x"})
		}
	}
	found, err := rescue.Check(store.Config{FS: cfg.FS, Dir: cfg.Dir})
	if !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("check of an open store: %+v, %v", found, err)
	}
}

func salvage(t *testing.T, cfg store.Config, stream string, atLeast int) {
	t.Helper()
	n, last := 0, uint64(0)
	result, err := rescue.Salvage(cfg, "A", stream, func(m rescue.Message) error {
		if m.Sequence <= last || stream == "A" && m.Sequence == 7 {
			t.Errorf("message %d behind %d", m.Sequence, last)
		}
		n, last = n+1, m.Sequence
		return nil
	})
	if err != nil || n < atLeast || uint64(n) != result.Messages {
		t.Fatalf("%d messages, want at least %d: %+v, %v", n, atLeast, result, err)
	}
	if len(result.Damage) == 0 {
		t.Errorf("no damage is told: %+v", result)
	}
	if atLeast == 0 && len(result.Lost) == 0 {
		t.Errorf("no lost sequences are told: %+v", result)
	}
}
