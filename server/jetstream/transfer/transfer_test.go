package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/headers"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/transfer"
)

// published is a message that went out.
type published struct {
	subject, reply  string
	header, payload []byte
}

// outlet is a client: it keeps what is published, and says how many got it.
type outlet struct {
	mu        sync.Mutex
	receivers int
	sent      []published
	got       func(published) // is called for each, without the lock
}

func (o *outlet) Publish(_ *accounts.Account, subject, reply string, header, payload []byte) int {
	p := published{subject, reply, bytes.Clone(header), bytes.Clone(payload)}
	o.mu.Lock()
	o.sent = append(o.sent, p)
	o.mu.Unlock()
	if o.got != nil {
		o.got(p)
	}
	return o.receivers
}

func (o *outlet) Flush() {}

func (o *outlet) all() []published {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]published(nil), o.sent...)
}

func account(t testing.TB) *accounts.Account {
	t.Helper()
	policy, err := accounts.NewRegistry().Compile(accounts.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return policy.Global()
}

// send sends data as a backup, by the request, to a client that does with each chunk what got says.
func send(t *testing.T, q api.SnapshotRequest, data []byte, receivers int, got func(*transfer.Transfers, published)) ([]published, error) {
	t.Helper()
	var x transfer.Transfers
	o := &outlet{receivers: receivers}
	o.got = func(p published) { got(&x, p) }
	q.DeliverSubject = "to"
	out := transfer.NewOutgoing("S", "id", account(t), &q)
	out.Use(o)
	ended := make(chan error, 1)
	err := x.Send(t.Context(), "id", out, func(context.Context) {
		_, err := io.Copy(out, bytes.NewReader(data))
		ended <- out.End(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = <-ended
	x.Close(true)
	return o.all(), err
}

// acknowledge answers a chunk as clients do.
func acknowledge(x *transfer.Transfers, p published) {
	if p.reply != "" {
		x.TakeAck(&engine.Message{Subject: []byte(p.reply)})
	}
}

func TestOutgoing(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 1000)
	for _, tt := range []struct {
		name   string
		q      api.SnapshotRequest
		bytes  int
		chunks int // that want to be acknowledged
		end    string
	}{
		{"nothing", api.SnapshotRequest{}, 0, 0, ""},
		{"less than a chunk", api.SnapshotRequest{}, 10000, 0, ""},
		{"many chunks", api.SnapshotRequest{ChunkBytes: 1024, WindowBytes: 4096}, 10000, 9, "204"},
		{"exactly two", api.SnapshotRequest{ChunkBytes: 5000}, 10000, 2, "204"},
		{"window below a chunk", api.SnapshotRequest{ChunkBytes: 5000, WindowBytes: 1024}, 10000, 2, "204"},
		{"too small", api.SnapshotRequest{ChunkBytes: 1}, 10000, 9, "204"},
		{"below nothing", api.SnapshotRequest{ChunkBytes: -1, WindowBytes: -1}, 10000, 0, ""},
		{"too large", api.SnapshotRequest{ChunkBytes: 1 << 30, WindowBytes: 1 << 30}, 10000, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sent, err := send(t, tt.q, data[:tt.bytes], 1, acknowledge)
			if err != nil {
				t.Fatal(err)
			}
			var whole []byte
			replies := 0
			for i, p := range sent {
				whole = append(whole, p.payload...)
				if p.reply != "" {
					replies++
					if want := fmt.Sprintf("$JS.SNAPSHOT.ACK.S.id.%d.%d", len(p.payload), i+1); p.reply != want {
						t.Errorf("chunk %d: reply %q, want %q", i, p.reply, want)
					}
				}
			}
			last := sent[len(sent)-1]
			code, _ := headers.StatusOf(last.header)
			if !bytes.Equal(whole, data[:tt.bytes]) || replies != tt.chunks || len(last.payload) > 0 {
				t.Errorf("got %d bytes in %d chunks with replies, want %d in %d", len(whole), replies, tt.bytes, tt.chunks)
			}
			if got := fmt.Sprint(code); tt.end != "" && got != tt.end || tt.end == "" && code != 0 {
				t.Errorf("ends with %d, want %q", code, tt.end)
			}
		})
	}
}

func TestOutgoingEndsEarly(t *testing.T) {
	data := make([]byte, 20000)
	q := api.SnapshotRequest{ChunkBytes: 1024, WindowBytes: 3000}
	for _, tt := range []struct {
		name      string
		receivers int
		got       func(*transfer.Transfers, published)
		status    string
		chunks    int
	}{
		{"nobody listens", 0, acknowledge, "408 No Interest", 1},
		{"nothing is acknowledged", 1, func(*transfer.Transfers, published) {}, "408 No Flow Response", 2},
		{"another backup is acknowledged", 1, func(x *transfer.Transfers, p published) {
			for _, subject := range []string{"$JS.SNAPSHOT.ACK.S.other.1024.1", "$JS.SNAPSHOT.ACK.T.id.1024.1", "$JS.SNAPSHOT.ACK.S.id.x.1", "else"} {
				x.TakeAck(&engine.Message{Subject: []byte(subject)})
			}
		}, "408 No Flow Response", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent, err := send(t, q, data, tt.receivers, tt.got)
				code, text := headers.StatusOf(sent[len(sent)-1].header)
				if err == nil || fmt.Sprint(code, " ", text) != tt.status || len(sent) != tt.chunks+1 {
					t.Errorf("got %v, %d %q after %d messages, want %q after %d", err, code, text, len(sent), tt.status, tt.chunks+1)
				}
			})
		})
	}
}

// TestOutgoingFails has an end for what went wrong elsewhere.
func TestOutgoingFails(t *testing.T) {
	o := &outlet{receivers: 1}
	out := transfer.NewOutgoing("S", "id", account(t), &api.SnapshotRequest{DeliverSubject: "to"})
	out.Use(o)
	broken := errors.New("the disk\r\nis gone")
	if err := out.End(broken); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if code, text := headers.StatusOf(o.all()[0].header); code != 500 || !strings.HasPrefix(text, "the disk") {
		t.Errorf("got %d %q", code, text)
	}
}

// restore is a restore under test: what is read of it, and the answers to its chunks.
type restore struct {
	x      transfer.Transfers
	in     *transfer.Incoming
	out    *outlet
	result chan error
	data   []byte // that was read
}

// receive begins a restore that reads everything, twice if it is told to.
func receive(t *testing.T, dir string, most int64, twice bool) *restore {
	t.Helper()
	r := &restore{in: transfer.NewIncoming("S", account(t), dir, most), out: &outlet{receivers: 1}, result: make(chan error, 1)}
	err := r.x.Receive(t.Context(), "id", r.in, func(context.Context) {
		r.in.Use(r.out)
		err := r.read(twice)
		if closed := r.in.Close(); err == nil {
			err = closed
		}
		if err != nil {
			r.in.Fail([]byte("refused"))
		} else {
			r.in.Accept([]byte("done"))
		}
		r.result <- err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *restore) read(twice bool) error {
	if twice {
		if _, err := io.ReadFull(r.in, make([]byte, 5)); err != nil {
			return err
		}
		if _, err := r.in.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, r.in); err != nil {
			return err
		}
		if _, err := r.in.Seek(0, io.SeekStart); err != nil {
			return err
		}
	} else {
		r.in.Settled()
	}
	var err error
	r.data, err = io.ReadAll(r.in)
	return err
}

func (r *restore) chunk(number int, payload string) {
	r.x.TakeChunk(&engine.Message{
		Subject: []byte("$JS.SNAPSHOT.RESTORE.S.id"), Reply: fmt.Appendf(nil, "reply.%d", number), Payload: []byte(payload),
	})
}

func (r *restore) answers() (got []string) {
	for _, p := range r.out.all() {
		got = append(got, p.subject+" "+string(p.payload))
	}
	return got
}

func TestIncoming(t *testing.T) {
	for _, twice := range []bool{false, true} {
		t.Run(fmt.Sprint("twice ", twice), func(t *testing.T) {
			dir := t.TempDir()
			r := receive(t, dir, 100, twice)
			r.chunk(1, "one ")
			r.chunk(2, "two ")
			r.chunk(3, "three")
			r.chunk(4, "")
			err := <-r.result
			r.x.Close(true)
			if err != nil || string(r.data) != "one two three" || r.in.Received() != 13 {
				t.Errorf("got %q, %d bytes, %v", r.data, r.in.Received(), err)
			}
			if got := strings.Join(r.answers(), "|"); got != "reply.1 |reply.2 |reply.3 |reply.4 done" {
				t.Errorf("got the answers %q", got)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("files stay: %v, %v", left, err)
			}
		})
	}
}

// TestIncomingFails sees that whoever sends is told, for as long as it sends.
func TestIncomingFails(t *testing.T) {
	for _, tt := range []struct {
		name   string
		twice  bool
		do     func(*restore)
		text   string
		answer string // the last
	}{
		{"stalled", false, func(r *restore) { r.chunk(1, "one") }, "5 s", "reply.1 "},
		{"too many bytes", true, func(r *restore) {
			r.chunk(1, "one and more")
			r.chunk(2, "and more")
			synctest.Wait()
			r.chunk(3, "and more")
			synctest.Wait()
			r.chunk(4, "")
		}, "more bytes", "reply.4 refused"},
		{"too fast", false, func(r *restore) {
			gate := make(chan struct{})
			r.out.got = func(published) { <-gate }
			for i := range 20 {
				r.chunk(i, strings.Repeat("x", 1<<20))
			}
			close(gate)
		}, "faster", " refused"},
		{"too many", false, func(r *restore) {
			gate := make(chan struct{})
			r.out.got = func(published) { <-gate }
			for i := range 200 {
				r.chunk(i, "x")
			}
			close(gate)
		}, "faster", " refused"},
		{"another", false, func(r *restore) {
			for _, subject := range []string{"$JS.SNAPSHOT.RESTORE.T.id", "$JS.SNAPSHOT.RESTORE.S.other", "$JS.SNAPSHOT.RESTORE.S", "x"} {
				r.x.TakeChunk(&engine.Message{Subject: []byte(subject), Payload: []byte("x")})
			}
		}, "5 s", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r := receive(t, dir, 16, tt.twice)
				tt.do(r)
				err := <-r.result
				r.x.Close(true)
				if err == nil || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got %v, want %q", err, tt.text)
				}
				answers := r.answers()
				if len(answers) == 0 && tt.answer != "" || len(answers) > 0 && !strings.HasSuffix(answers[len(answers)-1], tt.answer) {
					t.Errorf("got the answers %q, want %q at last", answers, tt.answer)
				}
			})
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("files stay: %v, %v", left, err)
			}
		})
	}
}

func TestIncomingSeeksOnlyBack(t *testing.T) {
	in := transfer.NewIncoming("S", account(t), "", 10)
	in.Settled()
	for _, tt := range []struct {
		offset int64
		whence int
	}{{1, io.SeekStart}, {0, io.SeekCurrent}, {0, io.SeekEnd}, {0, io.SeekStart}} {
		if _, err := in.Seek(tt.offset, tt.whence); err == nil {
			t.Errorf("%+v: got no error", tt)
		}
	}
}

// TestTransfersAreBounded begins more than may be, and ends them all.
func TestTransfersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x transfer.Transfers
		a := account(t)
		ended := 0
		var mu sync.Mutex
		run := func(ctx context.Context) {
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			ended++
		}
		begin := func(i int) (send, receive error) {
			id := fmt.Sprint(i)
			send = x.Send(t.Context(), id, transfer.NewOutgoing("S", id, a, &api.SnapshotRequest{}), run)
			return send, x.Receive(t.Context(), id, transfer.NewIncoming("S", a, "", 1), run)
		}
		for i := range 9 {
			send, receive := begin(i)
			if full := i == 8; (send != nil) != full || (receive != nil) != full {
				t.Errorf("transfer %d: %v, %v", i, send, receive)
			}
		}
		x.Close(false)
		if ended != 16 {
			t.Errorf("%d have ended, want 16", ended)
		}
		if send, receive := begin(10); send != nil || receive != nil {
			t.Errorf("after the end: %v, %v", send, receive)
		}
		x.Close(true)
		if send, receive := begin(11); send == nil || receive == nil {
			t.Errorf("after the end for good: %v, %v", send, receive)
		}
	})
}

func TestAwaitListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x transfer.Transfers
		out := transfer.NewOutgoing("S", "id", account(t), &api.SnapshotRequest{DeliverSubject: "nobody"})
		waited := make(chan time.Duration, 1)
		start := time.Now()
		err := x.Send(t.Context(), "id", out, func(context.Context) {
			out.AwaitListener()
			waited <- time.Since(start)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := <-waited; got != 2*time.Second {
			t.Errorf("waited %s for nobody", got)
		}
		x.Close(true)
	})
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"restore-1", "restore-2", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := transfer.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "other" {
		t.Errorf("got %v, %v", left, err)
	}
	if err := transfer.Sweep(""); err != nil {
		t.Error(err)
	}
}
