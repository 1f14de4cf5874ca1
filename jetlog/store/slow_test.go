package store_test

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// slowDisk is a disk on which one read of a segment takes as long as the test wants.
type slowDisk struct {
	vfs.FS
	armed   atomic.Bool   // the next read waits
	reached chan struct{} // gets a value when it does
	goOn    chan struct{} // lets it go on
}

func newSlowDisk() *slowDisk {
	return &slowDisk{FS: vfs.NewMemory(), reached: make(chan struct{}), goOn: make(chan struct{})}
}

func (d *slowDisk) Open(name string) (vfs.File, error) {
	f, err := d.FS.Open(name)
	if err != nil || filepath.Ext(name) != ".segment" {
		return f, err
	}
	return slowFile{f, d}, nil
}

type slowFile struct {
	vfs.File
	disk *slowDisk
}

func (f slowFile) ReadAt(b []byte, at int64) (int, error) {
	if f.disk.armed.CompareAndSwap(true, false) {
		f.disk.reached <- struct{}{}
		<-f.disk.goOn
	}
	return f.File.ReadAt(b, at)
}

// reads are all ways to read a stream, and what they find in that of TestSlowDisk.
var reads = map[string]func(*store.Stream) (any, error){
	"load": func(s *store.Stream) (any, error) {
		m, err := s.Load(7)
		return string(m.Payload), err
	},
	"meta": func(s *store.Stream) (any, error) {
		m, err := s.Meta(7)
		return m.Subject, err
	},
	"next": func(s *store.Stream) (any, error) { return s.NextOf(jetlog.Filter{"S.2"}, 9) },
	"last": func(s *store.Stream) (any, error) { return s.LastOf(jetlog.Filter{"S.2"}, 9) },
	"subject": func(s *store.Stream) (any, error) {
		state, err := s.Subject("S.2")
		return state.First, err
	},
	"first after": func(s *store.Stream) (any, error) { return s.FirstAfter(1) },
	"view": func(s *store.Stream) (n any, err error) {
		err = s.View(func(_ *jetlog.Stream, m jetlog.Messages) error {
			n, err = m.Count(jetlog.Filter{"S.0", "S.1"}, 5)
			return err
		})
		return n, err
	},
	"read": func(s *store.Stream) (any, error) {
		sum := uint64(0)
		_, err := s.Read(5, jetlog.Filter{"S.1"}, 4, 1<<20, func(m *jetlog.Message) bool {
			sum += m.Sequence
			return true
		})
		return sum, err
	},
}

// TestSlowDisk asks for what only a file has. While the disk takes its time commands are carried out, and the
// stream can be looked at; the files are rewritten, removed even, and the answer is right.
func TestSlowDisk(t *testing.T) {
	want := map[string]any{
		"load": payloadOf(7), "meta": "S.1", "next": uint64(11), "last": uint64(8), "subject": uint64(2),
		"first after": uint64(1), "view": uint64(17), "read": uint64(7 + 10 + 13 + 16),
	}
	for name, ask := range reads {
		t.Run(name, func(t *testing.T) {
			disk := newSlowDisk()
			cfg := small(disk)
			cfg.CacheBytes = 1 // everything is read again
			s := open(t, cfg)
			stream := create(t, s, unlimited("S"))
			for i := range 30 {
				publishOne(t, stream, i)
				if i%6 == 5 {
					if err := s.Flush(); err != nil {
						t.Fatal(err)
					}
				}
			}
			disk.armed.Store(true)
			type result struct {
				answer any
				err    error
			}
			answered := make(chan result, 1)
			go func() {
				x, err := ask(stream)
				answered <- result{x, err}
			}()
			<-disk.reached
			propose(t, stream, &command.Publish{Time: 31, Subject: "S.9"})
			if got := stream.State().Last; got != 31 {
				t.Errorf("the last sequence is %d", got)
			}
			before := segments(t, disk)
			if err := s.Compact(); err != nil {
				t.Fatal(err)
			}
			disk.goOn <- struct{}{}
			if got := <-answered; got.err != nil || got.answer != want[name] {
				t.Errorf("got %v, %v; want %v", got.answer, got.err, want[name])
			}
			if after := segments(t, disk); after >= before {
				t.Errorf("%d files were made %d", before, after)
			}
			closeStore(t, s)
		})
	}
}

// publishOne publishes a message whose payload tells its sequence, on one of three subjects.
func publishOne(t *testing.T, stream *store.Stream, i int) {
	t.Helper()
	subject := "S." + string(rune('0'+(i+1)%3))
	propose(t, stream, &command.Publish{Time: int64(i + 1), Subject: subject, Payload: []byte(payloadOf(uint64(i + 1)))})
}

// TestCommandsReadSlowly lets a command read a slow disk: the stream can be looked at meanwhile.
func TestCommandsReadSlowly(t *testing.T) {
	disk := newSlowDisk()
	cfg := small(disk)
	cfg.CacheBytes = 1
	s := open(t, cfg)
	stream := create(t, s, unlimited("S"))
	for i := range 5 {
		publishOne(t, stream, i)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	disk.armed.Store(true)
	deleted := make(chan jetlog.Result)
	go func() { deleted <- propose(t, stream, &command.Delete{Time: 6, Sequence: 3}) }()
	<-disk.reached
	if got := stream.State().Messages; got != 5 {
		t.Errorf("%d messages", got)
	}
	disk.goOn <- struct{}{}
	if r := <-deleted; r.Removed != 1 {
		t.Errorf("delete: %+v", r)
	}
	if m, err := stream.Load(3); err != nil || m.Sequence != 0 {
		t.Errorf("message 3 was deleted: %+v, %v", m, err)
	}
	closeStore(t, s)
}

// TestCloseWhileReading closes a store under a reader, who gets his answer or ErrClosed.
func TestCloseWhileReading(t *testing.T) {
	for name, ask := range reads {
		disk := newSlowDisk()
		cfg := small(disk)
		cfg.CacheBytes = 1
		s := open(t, cfg)
		stream := create(t, s, unlimited("S"))
		for i := range 30 {
			publishOne(t, stream, i)
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		disk.armed.Store(true)
		answered := make(chan error, 1)
		go func() {
			_, err := ask(stream)
			answered <- err
		}()
		<-disk.reached
		closeStore(t, s)
		disk.goOn <- struct{}{}
		if err := <-answered; err != nil && !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
		if d := s.Damage(); len(d) > 0 {
			t.Errorf("%s: %v", name, d)
		}
	}
}
