package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/checkpoint"
	"runnel/jetlog/entries"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// installable is a member with files, of which some are shared with another stream.
func installable(t *testing.T) *member {
	t.Helper()
	g := newGroup(t, unlimited("S"), 1)
	m := g.members[0]
	other := create(t, m.store, unlimited("T"))
	for range 3 {
		publish(t, m.stream, 40)
		publish(t, other, 3)
		if err := m.store.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestInstallFails meets all that can go wrong: everything is as before then.
func TestInstallFails(t *testing.T) {
	from := installable(t)
	defer closeStore(t, from.store)
	c, err := from.stream.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	whole := fetchFrom(from.stream, 1<<30)
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	flipped := func(at int64) store.Fetch {
		return func(ctx context.Context, f store.File, offset int64) (io.ReadCloser, error) {
			r, err := whole(ctx, f, offset)
			if err != nil {
				return nil, err
			}
			defer r.Close()
			b, err := io.ReadAll(r)
			b[at] ^= 8
			return io.NopCloser(bytes.NewReader(b)), err
		}
	}
	short := bytes.Clone(c.Metadata)
	short[len(short)-1]++
	place := c.Place
	for name, try := range map[string]struct {
		ctx      context.Context
		metadata []byte
		place    entries.Place
		fetch    store.Fetch
		err      error
	}{
		"an error of fetch":    {context.Background(), c.Metadata, place, func(context.Context, store.File, int64) (io.ReadCloser, error) { return nil, broken }, broken},
		"a context that ended": {ctx, c.Metadata, place, whole, context.Canceled},
		"a byte of a message":  {context.Background(), c.Metadata, place, flipped(200), nil},
		"a byte of the end":    {context.Background(), c.Metadata, place, flipped(c.Files[0].Bytes - 3), nil},
		"nothing comes":        {context.Background(), c.Metadata, place, fetchFrom(from.stream, 0), io.ErrUnexpectedEOF},
		"another description":  {context.Background(), short, place, whole, checkpoint.ErrDamaged},
		"none":                 {context.Background(), nil, place, whole, checkpoint.ErrDamaged},
		"another place":        {context.Background(), c.Metadata, entries.Place{Index: 3}, whole, checkpoint.ErrDamaged},
	} {
		memory := vfs.NewMemory()
		to := newMember(t, memory, assigned(unlimited("S"), entries.Place{}))
		err := to.stream.Install(try.ctx, try.metadata, try.place, try.fetch)
		if err == nil || try.err != nil && !errors.Is(err, try.err) {
			t.Errorf("%s: %v", name, err)
		}
		if to.stream.Applied() != 0 || to.stream.Err() != nil || to.stream.State().Last != 0 {
			t.Errorf("%s: applied %d, %v", name, to.stream.Applied(), to.stream.Err())
		}
		if left, err := memory.List(dir + "/segments"); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
		if err := to.stream.Install(context.Background(), c.Metadata, place, whole); err != nil || hashOf(to.stream) != hashOf(from.stream) {
			t.Errorf("%s, then all is well: %v", name, err)
		}
		to.restart(to.cfg.FS)
		if hashOf(to.stream) != hashOf(from.stream) {
			t.Errorf("%s, opened again: %x", name, hashOf(to.stream))
		}
		closeStore(t, to.store)
	}
	c.Close()
	c.Close()
	if _, _, _, err := from.stream.OpenFile(c.Files[0].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a file of a checkpoint that is closed: %v", err)
	}
}

// TestCheckpointStays takes a checkpoint, lets its files be replaced, and installs it then. What is there already is not
// fetched again.
func TestCheckpointStays(t *testing.T) {
	from := installable(t)
	defer closeStore(t, from.store)
	c, err := from.stream.Checkpoint()
	if err != nil || len(c.Files) != 1 {
		t.Fatalf("%d files, %v", len(c.Files), err)
	}
	defer c.Close()
	_, hash := from.stream.Hash()
	publish(t, from.stream, 40)
	if err := errors.Join(from.store.Flush(), from.store.Compact()); err != nil {
		t.Fatal(err)
	}
	to := newMember(t, vfs.NewMemory(), assigned(unlimited("S"), entries.Place{}))
	defer closeStore(t, to.store)
	if err := to.stream.Install(context.Background(), c.Metadata, c.Place, fetchFrom(from.stream, 100)); err != nil {
		t.Fatal(err)
	}
	if index, got := to.stream.Hash(); got != hash || index != c.Place.Index {
		t.Errorf("hash %x at %d, want %x at %d", got, index, hash, c.Place.Index)
	}
	if to.stream.State().Messages != 120 || to.stream.Place().Index != c.Place.Index {
		t.Errorf("%+v", to.stream.State())
	}
	none := func(_ context.Context, f store.File, _ int64) (io.ReadCloser, error) {
		return nil, fmt.Errorf("file %s is fetched again", f.ID)
	}
	if err := to.stream.Install(context.Background(), c.Metadata, c.Place, none); err != nil {
		t.Error(err)
	}
	if found, err := to.stream.Load(77); err != nil || found.Sequence != 77 {
		t.Errorf("load: %+v, %v", found, err)
	}
	if s, err := to.stream.Subject("S.x"); err != nil || s.Count != 120 {
		t.Errorf("subject: %+v, %v", s, err)
	}
}

// TestReaderDuringInstall reads a stream while another state is installed: it finds one or the other.
func TestReaderDuringInstall(t *testing.T) {
	from := installable(t)
	defer closeStore(t, from.store)
	to := newMember(t, vfs.NewMemory(), assigned(unlimited("S"), entries.Place{}))
	defer closeStore(t, to.store)
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			n := 0
			_, err := to.stream.Read(1, nil, 1000, 1<<20, func(*jetlog.Message) bool { n++; return true })
			if err == nil && n != 0 && n != 120 {
				err = fmt.Errorf("%d messages", n)
			}
			select {
			case <-stop:
				ended <- err
				return
			default:
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	for range 10 {
		if err := install(from, to); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
