package transport_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"runnel/cluster/transport"
)

// content is what there is to fetch.
func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// files serves content by name, and counts what is open.
type files struct {
	data map[string][]byte
	open atomic.Int32
}

func (f *files) fetch(_ context.Context, from string, request []byte, offset int64) (io.ReadCloser, error) {
	data, ok := f.data[string(request)]
	if !ok {
		return nil, errors.New("no such file for " + from)
	}
	f.open.Add(1)
	var r io.Reader = bytes.NewReader(data[offset:])
	switch string(request) {
	case "broken":
		r = io.MultiReader(r, iotest.ErrReader(errors.New("bad disk")))
	case "dribble":
		r = iotest.OneByteReader(r)
	}
	return &file{Reader: r, open: &f.open}, nil
}

type file struct {
	io.Reader
	open *atomic.Int32
}

func (f *file) Close() error {
	f.open.Add(-1)
	return nil
}

// inFiles runs a test with some files on b.
func inFiles(t *testing.T, cfg transport.Config, test func(t *testing.T, p *pair, f *files)) {
	t.Helper()
	inPair(t, transport.Config{}, cfg, func(t *testing.T, p *pair) {
		f := &files{data: map[string][]byte{"empty": {}, "small": content(100), "big": content(5<<20 + 17), "broken": content(100_000), "dribble": content(5000)}}
		p.b.HandleFetch(f.fetch)
		test(t, p, f)
		synctest.Wait()
		if got := f.open.Load(); got != 0 {
			t.Errorf("%d files are still open", got)
		}
	})
}

func fetch(t *testing.T, tr *transport.Transport, name string, offset int64) io.ReadCloser {
	t.Helper()
	r, err := tr.Fetch(context.Background(), "bbb", []byte(name), offset)
	if err != nil {
		t.Fatalf("fetch %s: %v", name, err)
	}
	return r
}

func TestFetchedStreamsAreWhole(t *testing.T) {
	inFiles(t, transport.Config{}, func(t *testing.T, p *pair, f *files) {
		p.net.Delay("aaa", "bbb", 5*time.Millisecond)
		for name, offsets := range map[string][]int64{"empty": {0}, "small": {0, 50, 100}, "big": {0, 3 << 20}, "dribble": {0}} {
			for _, offset := range offsets {
				r := fetch(t, p.a, name, offset)
				got, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(got, f.data[name][offset:]) {
					t.Errorf("%s from %d: %d bytes, %v", name, offset, len(got), err)
				}
				r.Close()
				if _, err := r.Read(make([]byte, 1)); !errors.Is(err, transport.ErrClosed) {
					t.Errorf("read after Close: %v, want ErrClosed", err)
				}
			}
		}
	})
}

// TestFetchFails has streams fail before, at and after their opening.
func TestFetchFails(t *testing.T) {
	inFiles(t, transport.Config{Streams: 2}, func(t *testing.T, p *pair, f *files) {
		var remote *transport.RemoteError
		ctx := context.Background()
		if _, err := p.a.Fetch(ctx, "bbb", []byte("what"), 0); !errors.As(err, &remote) || remote.Text != "no such file for aaa" {
			t.Errorf("a file that is not there: %v", err)
		}
		r := fetch(t, p.a, "broken", 0)
		got, err := io.ReadAll(r)
		if !errors.As(err, &remote) || remote.Text != "bad disk" || !bytes.Equal(got, f.data["broken"]) {
			t.Errorf("a file that breaks: %d bytes, %v", len(got), err)
		}
		r.Close()
		if _, err := p.a.Fetch(ctx, "zzz", nil, 0); !errors.Is(err, transport.ErrUnreachable) {
			t.Errorf("from nobody: %v", err)
		}
		if _, err := p.a.Fetch(ctx, "bbb", make([]byte, 1<<20), 0); !errors.Is(err, transport.ErrTooLarge) {
			t.Errorf("a request of 1 MiB: %v", err)
		}
		if _, err := p.b.Fetch(ctx, "aaa", nil, 0); !errors.Is(err, transport.ErrNoService) {
			t.Errorf("from one who has nothing: %v", err)
		}
		one, two := fetch(t, p.a, "big", 0), fetch(t, p.a, "big", 0)
		if _, err := p.a.Fetch(ctx, "bbb", []byte("big"), 0); !errors.Is(err, transport.ErrBusy) {
			t.Errorf("a third stream: %v, want ErrBusy", err)
		}
		one.Close()
		two.Close()
		synctest.Wait()
		fetch(t, p.a, "big", 0).Close()
	})
}

// TestFetchIsResumed breaks the link in the middle of a stream and goes on from where it was.
func TestFetchIsResumed(t *testing.T) {
	inFiles(t, transport.Config{Rate: 1 << 20}, func(t *testing.T, p *pair, f *files) {
		var got []byte
		breaks := 0
		time.AfterFunc(2*time.Second, func() { p.net.Break("aaa", "bbb") })
		time.AfterFunc(4*time.Second, func() { p.net.Freeze("bbb", "aaa") })
		time.AfterFunc(15*time.Second, func() { p.net.Heal("aaa", "bbb") })
		for len(got) < len(f.data["big"]) {
			r, err := p.a.Fetch(context.Background(), "bbb", []byte("big"), int64(len(got)))
			if errors.Is(err, transport.ErrUnreachable) {
				after(time.Second)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			part, err := io.ReadAll(r)
			r.Close()
			got = append(got, part...)
			if err != nil {
				if !errors.Is(err, transport.ErrUnreachable) {
					t.Fatalf("read: %v", err)
				}
				breaks++
			}
		}
		if !bytes.Equal(got, f.data["big"]) || breaks != 2 {
			t.Errorf("%d bytes after %d breaks, want %d and 2", len(got), breaks, len(f.data["big"]))
		}
	})
}

// TestFetchIsRateLimited measures two streams that share a rate.
func TestFetchIsRateLimited(t *testing.T) {
	inFiles(t, transport.Config{Rate: 1 << 20}, func(t *testing.T, p *pair, f *files) {
		took := within(func() {
			done := make(chan int64, 2)
			for range 2 {
				r := fetch(t, p.a, "big", 0)
				go func() {
					n, _ := io.Copy(io.Discard, r)
					r.Close()
					done <- n
				}()
			}
			if n := <-done + <-done; n != 2*(5<<20+17) {
				t.Errorf("%d bytes came", n)
			}
		})
		if took < 9700*time.Millisecond || took > 10100*time.Millisecond {
			t.Errorf("10 MiB at 1 MiB/s took %v", took)
		}
		p.b.SetRate(5 << 20)
		took = within(func() {
			r := fetch(t, p.a, "big", 0)
			if n, err := io.Copy(io.Discard, r); n != 5<<20+17 || err != nil {
				t.Errorf("%d bytes came: %v", n, err)
			}
			r.Close()
		})
		if took < 800*time.Millisecond || took > 1100*time.Millisecond {
			t.Errorf("5 MiB at 5 MiB/s took %v", took)
		}
	})
}

// TestSlowReaderHoldsUpNobody opens streams and does not read them: no more than their windows come, and others go on.
func TestSlowReaderHoldsUpNobody(t *testing.T) {
	inFiles(t, transport.Config{}, func(t *testing.T, p *pair, f *files) {
		g := p.a.Group(1, transport.GroupOptions{})
		p.serve(p.b.Group(1, transport.GroupOptions{}), succeed)
		var idle []io.ReadCloser
		for range 8 {
			idle = append(idle, fetch(t, p.a, "big", 0))
		}
		synctest.Wait()
		if got := view(t, p.a).Counters.BytesIn; got > 8*(2<<20)+100_000 {
			t.Errorf("%d bytes came for streams that are not read", got)
		}
		r := fetch(t, p.a, "big", 0)
		if got, err := io.ReadAll(r); err != nil || len(got) != len(f.data["big"]) {
			t.Errorf("another stream: %d bytes, %v", len(got), err)
		}
		r.Close()
		if err := appendTo(g, entries(1, 1, 1<<20)); err != nil {
			t.Errorf("entries: %v", err)
		}
		for _, r := range idle {
			r.Close()
		}
	})
}

// TestFetchEndsWithContext cancels streams before and after they are open.
func TestFetchEndsWithContext(t *testing.T) {
	inFiles(t, transport.Config{}, func(t *testing.T, p *pair, _ *files) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		r, err := p.a.Fetch(ctx, "bbb", []byte("small"), 0)
		if err != nil {
			t.Fatal(err)
		}
		p.net.Freeze("bbb", "aaa")
		after(2 * time.Second)
		if _, err := io.ReadAll(r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("read: %v, want DeadlineExceeded", err)
		}
		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := p.a.Fetch(ctx, "bbb", []byte("small"), 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("fetch: %v, want DeadlineExceeded", err)
		}
		r.Close()
	})
}

// TestFetchOutstanding: what of all files together is on its way is bounded, however many are fetched and however slowly they are read, and
// all of them come.
func TestFetchOutstanding(t *testing.T) {
	for _, tt := range []struct{ most, want int64 }{{0, 8 << 20}, {5 << 20, 5 << 20}, {1, 4 * (576 << 10)}} {
		inFiles(t, transport.Config{OutstandingBytes: tt.most}, func(t *testing.T, p *pair, f *files) {
			before := sent(p.b)
			var streams []io.ReadCloser
			for range 4 {
				streams = append(streams, fetch(t, p.a, "big", 0))
			}
			synctest.Wait() // until nothing goes on without somebody who reads
			if got := sent(p.b) - before; got < tt.want-128<<10 || got > tt.want+128<<10 {
				t.Errorf("bound %d: %d bytes were sent, want about %d", tt.most, got, tt.want)
			}
			for _, r := range streams[1:] {
				got, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(got, f.data["big"]) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
				_ = r.Close()
			}
			_ = streams[0].Close() // with most of it unread, which counts no more
			got, err := io.ReadAll(fetch(t, p.a, "big", 0))
			if err != nil || !bytes.Equal(got, f.data["big"]) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
}

// sent is how many bytes a transport has sent to its peer.
func sent(t *transport.Transport) int64 {
	total := int64(0)
	for _, p := range t.Peers() {
		total += int64(p.Counters.BytesOut)
	}
	return total
}
