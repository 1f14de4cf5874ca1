package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// deleting is answers that do something before the first.
type deleting struct {
	answers
	first func()
}

func (d *deleting) Answer(i int, r jetlog.Result, err error) {
	if i == 0 {
		d.first()
	}
	d.answers.Answer(i, r, err)
}

// A stream in memory that is deleted while a pack is carried out fails what is left of it.
func TestDeleteDuringPackInMemory(t *testing.T) {
	s := open(t, small(vfs.NewMemory()))
	c := unlimited("M")
	c.Storage = config.MemoryStorage
	stream := create(t, s, c)
	d := &deleting{answers: *newAnswers(), first: func() {
		if err := s.Delete(stream); err != nil {
			t.Error(err)
		}
	}}
	p := []command.Publish{{Time: 1, Subject: "M.a"}, {Time: 1, Subject: "M.a"}}
	if err := stream.StartAll(context.Background(), p, d); err != nil {
		t.Fatal(err)
	}
	if err := d.errs[1]; err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v, want a result, or that there is no stream", err)
	}
	closeStore(t, s)
}

// With a context that has ended a stream in memory does not wait for who looks at it.
func TestNoWaitInMemory(t *testing.T) {
	s := open(t, small(vfs.NewMemory()))
	c := unlimited("M")
	c.Storage = config.MemoryStorage
	stream := create(t, s, c)
	ended, end := context.WithCancel(context.Background())
	end()
	looking, enough := make(chan struct{}), make(chan struct{})
	go func() {
		_ = stream.View(func(*jetlog.Stream, jetlog.Messages) error {
			close(looking)
			<-enough
			return nil
		})
	}()
	<-looking
	got := make(chan error, 1)
	go func() {
		got <- stream.StartAll(ended, []command.Publish{{Time: 1, Subject: "M.a"}}, newAnswers())
	}()
	select {
	case err := <-got:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	case <-time.After(3 * time.Second):
		t.Error("StartAll waits for a look")
	}
	close(enough)
	closeStore(t, s)
}

// A store whose log fails while it is closed ends all the same.
func TestCloseWithFailingLog(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMemory())
	s := open(t, small(fault))
	stream := create(t, s, unlimited("S"))
	release := make(chan struct{})
	blocked := make(chan struct{})
	a := &deleting{answers: *newAnswers(), first: func() { close(blocked); <-release }}
	if err := stream.StartAll(context.Background(), []command.Publish{{Time: 1, Subject: "S.a"}}, a); err != nil {
		t.Fatal(err)
	}
	<-blocked // who applies waits: with help it is the writer
	b := newAnswers()
	if err := stream.StartAll(context.Background(), []command.Publish{{Time: 1, Subject: "S.a"}}, b); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = s.Close(); close(done) }()
	for { // until Close has come to the log, which takes nothing more then
		err := stream.Start(context.Background(), &command.Expire{Time: 1}, func(jetlog.Result, error) {})
		if errors.Is(err, store.ErrClosed) {
			break
		}
	}
	fault.Fail(vfs.Rule{Kinds: vfs.OpsAll, Times: -1})
	close(release)
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("Close hangs")
	}
}

// gatedDisk is a disk on which syncs of the log wait while it is shut.
type gatedDisk struct {
	vfs.FS
	shut        atomic.Bool
	waits, goOn chan struct{}
}

func (d *gatedDisk) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || filepath.Dir(name) == "" {
		return f, err
	}
	return gatedFile{f, d}, nil
}

func (d *gatedDisk) Create(name string) (vfs.File, error) {
	f, err := d.FS.Create(name)
	return d.wrap(name, f, err)
}

func (d *gatedDisk) OpenReadWrite(name string) (vfs.File, error) {
	f, err := d.FS.OpenReadWrite(name)
	return d.wrap(name, f, err)
}

type gatedFile struct {
	vfs.File
	disk *gatedDisk
}

func (f gatedFile) SyncData() error {
	if f.disk.shut.Load() {
		f.disk.waits <- struct{}{}
		<-f.disk.goOn
	}
	return f.File.SyncData()
}

// Who looks at one stream for long does not hold up those of other shards: the goroutine that writes the log waits for nobody.
func TestWriterWaitsForNoReader(t *testing.T) {
	disk := &gatedDisk{FS: vfs.NewMemory(), waits: make(chan struct{}), goOn: make(chan struct{})}
	cfg := small(disk)
	cfg.Shards = 2
	s := open(t, cfg)
	var streams []*store.Stream
	for _, n := range []string{"A", "B", "C", "D"} {
		streams = append(streams, create(t, s, unlimited(n)))
	}
	x, z, y := streams[0], streams[1], streams[2] // x and y share a shard
	enough := make(chan struct{})
	start := func(to *store.Stream, first func()) {
		a := &deleting{answers: *newAnswers(), first: first}
		if err := to.StartAll(context.Background(), []command.Publish{{Time: 1, Subject: to.Name() + ".a"}}, a); err != nil {
			t.Fatal(err)
		}
	}
	begun := make(chan struct{})
	disk.shut.Store(true)
	start(streams[3], func() {}) // what comes behind it waits, and goes together
	<-disk.waits
	start(y, func() {
		looking := make(chan struct{})
		go func() {
			_ = x.View(func(*jetlog.Stream, jetlog.Messages) error { close(looking); <-enough; return nil })
		}()
		<-looking
		close(begun)
	})
	start(x, func() {})
	disk.shut.Store(false)
	close(disk.goOn)
	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if _, err := z.Propose(ctx, &command.Publish{Time: 1, Subject: z.Name() + ".a"}); err != nil {
		t.Errorf("a stream of another shard: %v", err)
	}
	close(enough)
	closeStore(t, s)
}
