package meta_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta"
	"runnel/cluster/meta/metatest"
	"runnel/cluster/meta/state"
	"runnel/jetlog/vfs"
)

// folder returns a file system with one directory.
func folder(t *testing.T) *vfs.Memory {
	t.Helper()
	disk := vfs.NewMemory()
	if err := errors.Join(disk.MkdirAll("/d"), disk.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return disk
}

// content returns what is in a file.
func content(t *testing.T, disk vfs.FS, name string) []byte {
	t.Helper()
	f, err := disk.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return b
}

// put replaces a file.
func put(t *testing.T, disk vfs.FS, name string, b []byte) {
	t.Helper()
	f, err := disk.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(b, 0)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestNodeID(t *testing.T) {
	disk := folder(t)
	node, err := meta.NodeID(disk, "/d")
	if err != nil || len(node) != 8 {
		t.Fatalf("got %q, %v", node, err)
	}
	if again, err := meta.NodeID(disk.PowerCut(vfs.Lose), "/d"); again != node || err != nil {
		t.Errorf("after a power cut it is %q, %v, want %q", again, err, node)
	}
	if other, err := meta.NodeID(folder(t), "/d"); other == node || err != nil {
		t.Errorf("another server has the same: %q, %v", other, err)
	}
	for _, damaged := range []string{"", "abc", "abcdefg/", "abcdefghi"} {
		put(t, disk, "/d/node", []byte(damaged))
		if got, err := meta.NodeID(disk, "/d"); err == nil {
			t.Errorf("%q is taken for the node id %q", damaged, got)
		}
	}
	fault := vfs.NewFault(folder(t))
	fault.Fail(vfs.Rule{Kinds: vfs.OpSync})
	if got, err := meta.NodeID(fault, "/d"); err == nil {
		t.Errorf("%q was not kept", got)
	}
}

// write writes a snapshot.
func write(t *testing.T, s raft.SnapshotStore, index uint64, text string) {
	t.Helper()
	c := raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "a"}, {ID: "b", Address: "b", Suffrage: raft.Nonvoter}}}
	sink, err := s.Create(1, index, 3, c, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sink.Close(), sink.Cancel(), sink.Close()); err != nil {
		t.Fatal(err)
	}
}

// read returns the last snapshot.
func read(t *testing.T, s raft.SnapshotStore) (*raft.SnapshotMeta, string) {
	t.Helper()
	all, err := s.List()
	if err != nil || len(all) != 1 {
		t.Fatalf("%d snapshots, %v", len(all), err)
	}
	m, r, err := s.Open(all[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil || m.Size != int64(len(b)) {
		t.Fatalf("%d bytes, %v, want %d", len(b), err, m.Size)
	}
	return m, string(b)
}

func TestSnapshotFile(t *testing.T) {
	disk := folder(t)
	s := meta.Snapshots(disk, "/d")
	if all, err := s.List(); len(all) != 0 || err != nil {
		t.Fatalf("%d snapshots, %v", len(all), err)
	}
	write(t, s, 5, "five")
	m, text := read(t, meta.Snapshots(disk.PowerCut(vfs.Lose), "/d"))
	if text != "five" || m.Index != 5 || m.Term != 3 || m.ConfigurationIndex != 2 || len(m.Configuration.Servers) != 2 || m.Configuration.Servers[1].Suffrage != raft.Nonvoter {
		t.Errorf("got %q, %+v", text, m)
	}
	sink, err := s.Create(1, 6, 3, raft.Configuration{}, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sink.Cancel(), sink.Close()); err != nil {
		t.Fatal(err)
	}
	if _, text := read(t, s); text != "five" {
		t.Errorf("one that was cancelled is there: %q", text)
	}
	write(t, s, 9, "nine")
	if _, text := read(t, s); text != "nine" {
		t.Errorf("got %q", text)
	}
	if _, _, err := s.Open(m.ID); err == nil {
		t.Error("the one before is still there")
	}
	if _, err := s.Create(0, 1, 1, raft.Configuration{}, 0, nil); err == nil {
		t.Error("a snapshot of an old kind is made")
	}
}

// TestSnapshotCrashes takes the power before each operation: there is the old one or the new one.
func TestSnapshotCrashes(t *testing.T) {
	for at := 0; ; at++ {
		disk := folder(t)
		write(t, meta.Snapshots(disk, "/d"), 1, "old")
		var after *vfs.Memory
		n := 0
		write(t, meta.Snapshots(vfs.NewRecorder(disk, func(vfs.Op) {
			if n == at {
				after = disk.PowerCut(vfs.Random(uint64(at)))
			}
			n++
		}), "/d"), 2, "new")
		if after == nil {
			if at < 5 {
				t.Errorf("there are only %d operations", at)
			}
			return
		}
		if _, text := read(t, meta.Snapshots(after, "/d")); text != "old" && text != "new" {
			t.Errorf("before operation %d: got %q", at, text)
		}
	}
}

func TestDamagedSnapshot(t *testing.T) {
	disk := folder(t)
	s := meta.Snapshots(disk, "/d")
	write(t, s, 5, "five")
	good := content(t, disk, "/d/snapshot")
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 4
		put(t, disk, "/d/snapshot", bad)
		if _, err := s.List(); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Fatalf("byte %d is changed: got %v", i, err)
		}
	}
	for n := range good {
		if _, err := meta.SplitSnapshot(good[:n]); err == nil {
			t.Fatalf("%d bytes are taken for all", n)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add([]byte("RNLMETA1\x00\x00\x00\x02{}state\x00\x00\x00\x00"))
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = meta.SplitSnapshot(b) })
}

// TestGuard lets writes fail: nothing is written any more, and raft does not hear of a term that could not be kept, since it would
// panic.
func TestGuard(t *testing.T) {
	bad := errors.New("the disk is gone")
	for name, op := range map[string]func(meta.Store) error{
		"log":    func(s meta.Store) error { return s.StoreLog(&raft.Log{Index: 1}) },
		"logs":   func(s meta.Store) error { return s.StoreLogs([]*raft.Log{{Index: 1}}) },
		"delete": func(s meta.Store) error { return s.DeleteRange(1, 1) },
		"value":  func(s meta.Store) error { return s.Set([]byte("k"), []byte("v")) },
		"number": func(s meta.Store) error { return s.SetUint64([]byte("k"), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			var failed []error
			store := &metatest.Store{Before: func() error { return bad }}
			g := meta.Guard(store, func(err error) { failed = append(failed, err) })
			if err := op(g); !errors.Is(err, bad) {
				t.Errorf("got %v", err)
			}
			store.Before = nil
			if err := op(g); err == nil {
				t.Error("it goes on")
			}
			if err := g.SetUint64([]byte("CurrentTerm"), 5); err != nil {
				t.Errorf("the term: %v", err)
			}
			if n, _ := g.GetUint64([]byte("CurrentTerm")); n != 0 || len(failed) != 1 || !errors.Is(failed[0], bad) {
				t.Errorf("term %d was kept, told was %v", n, failed)
			}
		})
	}
	g := meta.Guard(&metatest.Store{}, func(err error) { t.Errorf("told: %v", err) })
	if err := errors.Join(g.StoreLog(&raft.Log{Index: 1}), g.Set([]byte("k"), nil), g.SetUint64([]byte("n"), 1), g.DeleteRange(1, 1)); err != nil {
		t.Error(err)
	}
}

// unreadable is a store whose entries cannot be read.
type unreadable struct {
	*metatest.Store
	err error
}

func (u unreadable) GetLog(uint64, *raft.Log) error { return u.err }

// Raft stands for raft's.
type Raft struct{ store meta.Store }

// processLogs is where raft panics if it cannot read.
func (r *Raft) processLogs() error { return r.store.GetLog(7, new(raft.Log)) }

// TestGuardOfReading lets reading fail: that is told, whoever reads gets the error, and raft, which would panic where it applies, ends.
func TestGuardOfReading(t *testing.T) {
	bad := errors.New("a bad block")
	var failed []error
	g := meta.Guard(unreadable{&metatest.Store{}, bad}, func(err error) { failed = append(failed, err) })
	if err := g.GetLog(7, new(raft.Log)); !errors.Is(err, bad) {
		t.Errorf("a reader gets %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := (&Raft{g}).processLogs()
		t.Errorf("it goes on with %v", err)
	}()
	<-done
	if len(failed) != 1 || !errors.Is(failed[0], bad) || !strings.Contains(failed[0].Error(), "entry 7") {
		t.Errorf("told was %v", failed)
	}
	g = meta.Guard(&metatest.Store{}, func(err error) { t.Errorf("told: %v", err) })
	if err := g.GetLog(7, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("an entry that is not there: got %v", err)
	}
}

func TestLogWriter(t *testing.T) {
	var b bytes.Buffer
	l := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	text := "2026-01-02T15:04:05.000Z [WARN]  raft: heartbeat timeout reached: last-leader=a\n2026-01-02T15:04:05.000Z [ERROR] raft: it failed: error=\"bad [x]\"\n2026-01-02T15:04:05.000Z [ERROR] raft: failed to heartbeat to: peer=b\nno line of a log\n"
	if n, err := meta.LogWriter(l).Write([]byte(text)); n != len(text) || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	want := `level=DEBUG msg="meta group: heartbeat timeout reached: last-leader=a"` + "\n" + `level=WARN msg="meta group: it failed: error=\"bad [x]\""` + "\n" +
		`level=DEBUG msg="meta group: failed to heartbeat to: peer=b"` + "\n"
	if b.String() != want {
		t.Errorf("got %s want %s", b.String(), want)
	}
}

// nobody is a network without others.
type nobody struct{}

func (nobody) Call(context.Context, string, string, []byte) ([]byte, error) {
	return nil, errors.New("there is nobody")
}
func (nobody) Handle(string, func(context.Context, string, []byte) ([]byte, error)) {}

// alone configures a server on the real disk that is alone.
func alone(dir string) meta.Config {
	var transport *raft.InmemTransport
	return meta.Config{
		Self: state.Member{Node: "a0000000", Name: "a", MaxStoreBytes: -1, MaxMemoryBytes: -1, Level: 1},
		FS:   vfs.Disk{}, Dir: dir, Calls: nobody{},
		Raft: func() raft.Transport {
			_, transport = raft.NewInmemTransport("a0000000")
			return transport
		},
		Campaign: func() error {
			_, other := raft.NewInmemTransport("")
			other.Connect("a0000000", transport)
			go func() {
				var r raft.TimeoutNowResponse
				_ = other.TimeoutNow("a0000000", "a0000000", &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3}}, &r)
			}()
			return nil
		},
		Connected: func() []string { return nil }, Expected: func() int { return 1 },
		Logger: slog.New(slog.DiscardHandler),
	}
}

// TestOnDisk forms a cluster of one on the real disk, with the log of raft-boltdb, and opens it again.
func TestOnDisk(t *testing.T) {
	dir := t.TempDir() + "/meta"
	for round := range 2 {
		m, err := meta.Open(alone(dir))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		<-m.Formed()
		for {
			r, err := m.Propose(ctx, &state.CreateStream{Account: "A", Config: stream("s", 1), New: round == 0})
			if err == nil && r.Code == 0 && r.Existing == (round == 1) {
				break
			}
			if err == nil || ctx.Err() != nil {
				t.Fatalf("round %d: %+v, %v", round, r, err)
			}
		}
		cancel()
		if err := errors.Join(m.Close(), m.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Propose(t.Context(), &state.Raise{}); !errors.Is(err, meta.ErrClosed) {
			t.Errorf("it is closed: %v", err)
		}
		if err := m.Await(t.Context(), 1<<60); !errors.Is(err, meta.ErrClosed) {
			t.Errorf("it is closed: %v", err)
		}
	}
}

// TestLogRefused: who cannot open the log is told to give the server up only if the log is damaged.
func TestLogRefused(t *testing.T) {
	for name, test := range map[string]struct {
		spoil  func(path string) error
		giveUp bool
	}{
		"damaged":        {func(path string) error { return os.WriteFile(path, make([]byte, 1<<15), 0o600) }, true},
		"cannot be read": {func(path string) error { return os.Symlink(path, path) }, false},
	} {
		dir := t.TempDir()
		if err := test.spoil(filepath.Join(dir, "log")); err != nil {
			t.Fatal(err)
		}
		m, err := meta.Open(alone(dir))
		if err == nil {
			_ = m.Close()
			t.Errorf("%s: it is opened", name)
		} else if got := strings.Contains(err.Error(), "remove its whole"); got != test.giveUp {
			t.Errorf("%s: %v; to be given up: %t, want %t", name, err, got, test.giveUp)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	open := func(change func(*meta.Config)) error {
		disk := folder(t)
		cfg := alone("/d/meta")
		cfg.FS, cfg.Store = disk, func(string) (meta.Store, error) { return &metatest.Store{}, nil }
		change(&cfg)
		m, err := meta.Open(cfg)
		if err == nil {
			_ = m.Close()
		}
		return err
	}
	for name, change := range map[string]func(*meta.Config){
		"no node":      func(c *meta.Config) { c.Self.Node = "" },
		"no name":      func(c *meta.Config) { c.Self.Name = "" },
		"no directory": func(c *meta.Config) { c.FS = failing(c.FS, vfs.OpMkdirAll) },
		"no store":     func(c *meta.Config) { c.Store = func(string) (meta.Store, error) { return nil, errors.New("no") } },
		"no formation": func(c *meta.Config) { c.FS = failing(c.FS, vfs.OpSync) },
	} {
		if err := open(change); err == nil {
			t.Errorf("%s: it is opened", name)
		}
	}
	for name, text := range map[string]string{
		"damaged":      "{",
		"newer":        `{"version":2,"node":"a0000000"}`,
		"another node": `{"version":1,"node":"b0000000"}`,
		"no cluster":   `{"version":1,"node":"a0000000","formed":true}`,
	} {
		err := open(func(c *meta.Config) {
			if err := c.FS.MkdirAll(c.Dir); err != nil {
				t.Fatal(err)
			}
			put(t, c.FS, c.Dir+"/formation", []byte(text))
		})
		if err == nil {
			t.Errorf("%s: it is opened", name)
		}
	}
}

// failing returns a file system on which an operation fails.
func failing(fs vfs.FS, kind vfs.Kind) vfs.FS {
	f := vfs.NewFault(fs)
	f.Fail(vfs.Rule{Kinds: kind})
	return f
}
