package transport_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/mesh"
	"runnel/cluster/transport"
)

// rawLink is a link whose other end a test reads and writes by hand.
type rawLink struct {
	net.Conn
	closed chan error // why the transport has closed it
}

func (l *rawLink) CloseWith(reason error) {
	l.Close()
	select {
	case l.closed <- reason:
	default:
	}
}

// attach gives a transport a link and returns it with the other end.
func attach(tr *transport.Transport, from mesh.Member, k mesh.Kind) (*rawLink, net.Conn) {
	near, far := net.Pipe()
	l := &rawLink{Conn: near, closed: make(chan error, 1)}
	tr.Attach(from, k, l)
	return l, far
}

// frame is one as it is on the wire.
func frame(kind byte, body ...[]byte) []byte {
	b := []byte{0, 0, 0, 0, kind}
	for _, part := range body {
		b = append(b, part...)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func words(values ...uint64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

const begin = "RNRAFT\x01\x02" // of a data link

// alone runs a test in virtual time with one transport.
func alone(t *testing.T, cfg transport.Config, test func(t *testing.T, tr *transport.Transport)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Node = "self"
		tr := transport.New(cfg)
		defer tr.Close()
		test(t, tr)
	})
}

// TestBadFramesCloseTheLink sends what no server of ours sends.
func TestBadFramesCloseTheLink(t *testing.T) {
	long := binary.LittleEndian.AppendUint32(nil, 65<<20+2)
	tests := []struct{ name, sent, want string }{
		{"another protocol", "GET / HTTP/1.1\r\n", "another protocol"},
		{"another version", "RNRAFT\x02\x02", "version 2"},
		{"another kind of link", "RNRAFT\x01\x03", "kind 3"},
		{"no kind", begin + string(frame(0)), "not allowed"},
		{"unknown kind", begin + string(frame(99)), "not allowed"},
		{"no length", begin + "\x00\x00\x00\x00\x01", "not allowed"},
		{"too long", begin + string(long) + "\x01", "not allowed"},
		{"too long for its kind", begin + "\x00\x00\x20\x00\x0b", "not allowed"},
		{"short vote", begin + string(frame(3, words(1, 2, 3))), "length"},
		{"long vote", begin + string(frame(3, words(1, 2, 3, 4, 5, 6))), "length"},
		{"more entries than bytes", begin + string(frame(1, words(1, 2, 3, 4, 5, 6), []byte{255, 255, 255, 255})), "length"},
		{"large frame without a group", begin + string(frame(6, words(1))), "length"},
		{"hints", begin + string(frame(9, words(1))), "length"},
		{"ping", begin + string(frame(11, []byte{1})), "ping"},
		{"stream", begin + string(frame(17, []byte{1})), "stream"},
		{"call", begin + string(frame(13, words(1))), "call"},
		{"configuration", begin + string(frame(6, words(1, 2), []byte{1}, words(3, 4, 5, 6, 0), []byte{255, 255, 255, 255, 0xc1, 0xff})), "length"},
		{"gap before entries", begin + appended(4, raft.Log{Index: 6}), "entry 6"},
		{"gap between entries", begin + appended(4, raft.Log{Index: 5}, raft.Log{Index: 7}), "entry 7"},
		{"entry of a type that raft does not know", begin + appended(4, raft.Log{Index: 5, Type: 9}), "type 9"},
		{"entry of a type that is not used", begin + appended(4, raft.Log{Index: 5, Type: raft.LogAddPeerDeprecated}), "type 2"},
		{"entry with no configuration", begin + appended(4, raft.Log{Index: 5, Type: raft.LogConfiguration, Data: []byte("\xc1")}), "entry 5"},
		{"size of a snapshot", begin + string(frame(6, words(1, 2), []byte{1}, words(3, 4, 5, 6, 9), []byte{0, 0, 0, 0})), "9 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			alone(t, transport.Config{}, func(t *testing.T, tr *transport.Transport) {
				tr.Group(2, transport.GroupOptions{})
				other, far := attach(tr, member("other"), mesh.RaftData)
				go io.Copy(io.Discard, far)
				l, far := attach(tr, member("peer"), mesh.RaftData)
				go io.Copy(io.Discard, far)
				if _, err := far.Write([]byte(tt.sent)); err != nil && !errors.Is(err, io.ErrClosedPipe) {
					t.Fatal(err)
				}
				if reason := <-l.closed; reason == nil || !strings.Contains(reason.Error(), tt.want) {
					t.Errorf("closed because of %v, want something with %q", reason, tt.want)
				}
				synctest.Wait()
				if len(other.closed) > 0 {
					t.Errorf("another link was closed: %v", <-other.closed)
				}
			})
		})
	}
}

// appended is the frame of an AppendEntries.
func appended(prev uint64, logs ...raft.Log) string {
	r := &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: prev}
	for i := range logs {
		r.Entries = append(r.Entries, &logs[i])
	}
	return string(frame(1, transport.EncodeAppend(r)))
}

// TestWhoIsLetIn attaches links of peers that are not to be spoken with.
func TestWhoIsLetIn(t *testing.T) {
	tests := []struct {
		name string
		from mesh.Member
		kind mesh.Kind
		want string // why it is closed, empty if it is not
	}{
		{"peer", member("peer"), mesh.RaftData, ""},
		{"no node id", mesh.Member{ID: "ID", Name: "n"}, mesh.RaftData, "no node id"},
		{"this server", member("self"), mesh.RaftHeartbeat, "copy"},
		{"another cluster", member("stranger"), mesh.RaftHeartbeat, "not one of this cluster"},
		{"endless node id", member(strings.Repeat("x", 256)), mesh.RaftData, "too long"},
		{"route", member("peer"), mesh.Route, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := transport.Config{Authorized: func(m mesh.Member) bool { return m.Node != "stranger" }}
			alone(t, cfg, func(t *testing.T, tr *transport.Transport) {
				l, far := attach(tr, tt.from, tt.kind)
				go io.Copy(io.Discard, far)
				synctest.Wait()
				got := ""
				if len(l.closed) > 0 {
					got = (<-l.closed).Error()
				}
				if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
					t.Errorf("closed because of %q, want %q", got, tt.want)
				}
				l.Close()
			})
		})
	}
}

// TestLinkIsReplaced attaches a second link of a kind, as when the peer has lost the first one.
func TestLinkIsReplaced(t *testing.T) {
	alone(t, transport.Config{}, func(t *testing.T, tr *transport.Transport) {
		first, far1 := attach(tr, member("peer"), mesh.RaftData)
		second, far2 := attach(tr, member("peer"), mesh.RaftData)
		go io.Copy(io.Discard, far1)
		go io.Copy(io.Discard, far2)
		if reason := <-first.closed; reason == nil || !strings.Contains(reason.Error(), "replaced") {
			t.Errorf("the first link was closed because of %v", reason)
		}
		tr.Detach(member("peer"), first, errors.New("late news"))
		synctest.Wait()
		if len(second.closed) > 0 || !view(t, tr).Data {
			t.Error("the second link is closed too")
		}
		tr.Detach(member("peer"), second, errors.New("it has ended"))
		if view(t, tr).Data {
			t.Error("the second link is still there after it has ended")
		}
		tr.Close()
		third, _ := attach(tr, member("peer"), mesh.RaftData)
		if reason := <-third.closed; !errors.Is(reason, transport.ErrClosed) {
			t.Errorf("after Close a link is closed because of %v", reason)
		}
		if g := tr.Group(1, transport.GroupOptions{}); tr.TimeoutNow(1) == nil {
			t.Errorf("after Close there is a group: %v", g)
		}
	})
}

// TestPeerThatDoesNotRead sends requests for ever and reads no answers.
func TestPeerThatDoesNotRead(t *testing.T) {
	alone(t, transport.Config{}, func(t *testing.T, tr *transport.Transport) {
		l, far := attach(tr, member("peer"), mesh.RaftData)
		far.Write([]byte(begin))
		flood := frame(9, make([]byte, 1<<20/24*24)) // hints for a group that is not there
		var reason error
		for n := 0; reason == nil && n < 100; n++ {
			if _, err := far.Write(flood); err != nil {
				reason = <-l.closed
			}
			after(50 * time.Millisecond)
		}
		if reason == nil || !strings.Contains(reason.Error(), "unread") {
			t.Errorf("closed because of %v, want that answers are left unread", reason)
		}
	})
}

// TestPeerThatHangs leaves a link open and does not go on.
func TestPeerThatHangs(t *testing.T) {
	tests := []struct {
		name string
		peer func(t *testing.T, tr *transport.Transport, far net.Conn)
		want string
		took time.Duration
	}{
		{"says nothing", func(_ *testing.T, _ *transport.Transport, far net.Conn) { go io.Copy(io.Discard, far) }, "begin", 10 * time.Second},
		{"takes nothing", func(_ *testing.T, _ *transport.Transport, far net.Conn) { far.Write([]byte(begin)) }, "takes nothing", 30 * time.Second},
		{"takes no more", func(_ *testing.T, tr *transport.Transport, far net.Conn) {
			far.Write([]byte(begin))
			io.ReadFull(far, make([]byte, 8))
			g := tr.Group(1, transport.GroupOptions{})
			go appendTo(g, entries(1, 1, 64<<20))
		}, "takes nothing", (30 + 512) * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			alone(t, transport.Config{}, func(t *testing.T, tr *transport.Transport) {
				l, far := attach(tr, member("bbb"), mesh.RaftData)
				tt.peer(t, tr, far)
				var reason error
				took := within(func() { reason = <-l.closed })
				if reason == nil || !strings.Contains(reason.Error(), tt.want) {
					t.Errorf("closed because of %v, want something with %q", reason, tt.want)
				}
				if took < tt.took || took > tt.took+time.Second {
					t.Errorf("closed after %v, want %v", took, tt.took)
				}
				tr.Close()
				far.Close()
			})
		})
	}
}

// readFrame reads a frame.
func readFrame(t *testing.T, r io.Reader) (kind byte, body []byte) {
	t.Helper()
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		t.Fatal(err)
	}
	body = make([]byte, binary.LittleEndian.Uint32(head[:])-1)
	if _, err := io.ReadFull(r, body); err != nil {
		t.Fatal(err)
	}
	return head[4], body
}

// TestWhatIsWrittenFirst lets a peer read nothing for a while: control frames come before entries and calls, and these before
// streams, which get their turn too.
func TestWhatIsWrittenFirst(t *testing.T) {
	alone(t, transport.Config{}, func(t *testing.T, tr *transport.Transport) {
		tr.HandleFetch(func(_ context.Context, _ string, _ []byte, _ int64) (io.ReadCloser, error) {
			return io.NopCloser(io.LimitReader(zeros{}, 1<<20)), nil
		})
		_, far := attach(tr, member("bbb"), mesh.RaftData)
		far.Write([]byte(begin))
		far.Write(frame(15, words(1, 0, 1<<20))) // opens a stream, whose chunks wait
		synctest.Wait()
		g := tr.Group(1, transport.GroupOptions{})
		for range 4 {
			go appendTo(g, entries(1, 1, 700<<10))
		}
		synctest.Wait()
		far.Write(frame(3, words(7, 99, 1, 1, 1), []byte{0})) // a vote, whose answer is a control frame
		synctest.Wait()
		var got []byte
		io.ReadFull(far, make([]byte, 8))
		for range 12 {
			k, _ := readFrame(t, far)
			got = append(got, 'a'+k-1)
		}
		// The first write holds the answer to the request for the stream alone or with chunks, since it has begun before.
		i := strings.Index(string(got), "ag") // entries before the answer to the vote
		if first, entry := strings.LastIndexByte(string(got), 'g'), strings.IndexByte(string(got), 'a'); i >= 0 || first > entry {
			t.Errorf("kinds were written in the order %q: answers must come before entries", got)
		}
		if s := string(got); strings.Count(s, "a") != 4 || !strings.Contains(s, "aaqaaq") {
			t.Errorf("kinds were written in the order %q, want two writes of entries, with a chunk each", got)
		}
		g.Close()
	})
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestFramesShareWrites counts writes while many groups send heartbeats.
func TestFramesShareWrites(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		done := make(chan error, 500)
		for id := range uint64(500) {
			gb := p.b.Group(id, transport.GroupOptions{})
			gb.SetHeartbeatHandler(succeed)
			transport.Follow(gb, 7)
			g := p.a.Group(id, transport.GroupOptions{})
			go func() {
				done <- g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7}, &raft.AppendEntriesResponse{})
			}()
		}
		for range 500 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if c := view(t, p.a).Counters; c.FramesOut < 500 || c.Writes > 10 {
			t.Errorf("%d frames in %d writes", c.FramesOut, c.Writes)
		}
	})
}
