package transport_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/transport"
)

// TestRequestsArriveAsSent sends one request of each kind and compares what comes out at the other end.
func TestRequestsArriveAsSent(t *testing.T) {
	from := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("aaa"), Addr: []byte("aaa")}
	members := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(strings.Repeat("i", 5000)), Address: "long"}}}
	large := raft.EncodeConfiguration(members)
	configuration := raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "aaa", Address: "aaa"}}})
	logs := []*raft.Log{
		{Index: 10, Term: 4, Type: raft.LogCommand, Data: []byte("small"), AppendedAt: time.Unix(1, 2)},
		{Index: 11, Term: 4, Type: raft.LogNoop},
		{Index: 12, Term: 5, Type: raft.LogConfiguration, Data: large, Extensions: []byte("ext")},
		{Index: 13, Term: 5, Type: raft.LogBarrier, Data: []byte{}, Extensions: bytes.Repeat([]byte("y"), 3000)},
	}
	tests := []struct {
		name string
		send func(g *transport.Group) (any, error)
		want any // what arrives
		resp any // what comes back
	}{
		{
			"append", func(g *transport.Group) (any, error) {
				resp := &raft.AppendEntriesResponse{}
				err := g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 5, PrevLogEntry: 9, PrevLogTerm: 3, LeaderCommitIndex: 8, Entries: logs}, resp)
				return resp, err
			},
			&raft.AppendEntriesRequest{RPCHeader: from, Term: 5, PrevLogEntry: 9, PrevLogTerm: 3, LeaderCommitIndex: 8, Entries: logs},
			&raft.AppendEntriesResponse{Term: 5, LastLog: 13, Success: true},
		},
		{
			"append nothing", func(g *transport.Group) (any, error) {
				resp := &raft.AppendEntriesResponse{}
				err := g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 5, PrevLogEntry: 9, PrevLogTerm: 3, LeaderCommitIndex: 8}, resp)
				return resp, err
			},
			&raft.AppendEntriesRequest{RPCHeader: from, Term: 5, PrevLogEntry: 9, PrevLogTerm: 3, LeaderCommitIndex: 8, Entries: []*raft.Log{}},
			&raft.AppendEntriesResponse{Term: 5, LastLog: 9, Success: true},
		},
		{
			"heartbeat before raft is there", func(g *transport.Group) (any, error) {
				resp := &raft.AppendEntriesResponse{}
				err := g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 5}, resp)
				return resp, err
			},
			&raft.AppendEntriesRequest{RPCHeader: from, Term: 5},
			&raft.AppendEntriesResponse{Term: 5, Success: true},
		},
		{
			"vote", func(g *transport.Group) (any, error) {
				resp := &raft.RequestVoteResponse{}
				err := g.RequestVote("bbb", "bbb", &raft.RequestVoteRequest{Term: 5, LastLogIndex: 3, LastLogTerm: 2, LeadershipTransfer: true}, resp)
				return resp, err
			},
			&raft.RequestVoteRequest{RPCHeader: from, Term: 5, LastLogIndex: 3, LastLogTerm: 2, LeadershipTransfer: true},
			&raft.RequestVoteResponse{Term: 5, Granted: true},
		},
		{
			"pre-vote", func(g *transport.Group) (any, error) {
				resp := &raft.RequestPreVoteResponse{}
				err := g.RequestPreVote("bbb", "bbb", &raft.RequestPreVoteRequest{Term: 5, LastLogIndex: 3, LastLogTerm: 2}, resp)
				return resp, err
			},
			&raft.RequestPreVoteRequest{RPCHeader: from, Term: 5, LastLogIndex: 3, LastLogTerm: 2},
			&raft.RequestPreVoteResponse{Term: 5, Granted: true},
		},
		{
			"timeout now", func(g *transport.Group) (any, error) {
				resp := &raft.TimeoutNowResponse{}
				return resp, g.TimeoutNow("bbb", "bbb", &raft.TimeoutNowRequest{}, resp)
			},
			&raft.TimeoutNowRequest{RPCHeader: from},
			&raft.TimeoutNowResponse{},
		},
		{
			"install", func(g *transport.Group) (any, error) {
				resp := &raft.InstallSnapshotResponse{}
				err := g.InstallSnapshot("bbb", "bbb", &raft.InstallSnapshotRequest{
					SnapshotVersion: 1, Term: 5, LastLogIndex: 3, LastLogTerm: 2, Configuration: configuration, ConfigurationIndex: 1, Size: 4,
				}, resp, strings.NewReader("data"))
				return resp, err
			},
			&raft.InstallSnapshotRequest{
				RPCHeader: from, SnapshotVersion: 1, Term: 5, LastLogIndex: 3, LastLogTerm: 2, Configuration: configuration, ConfigurationIndex: 1, Size: 4,
			},
			&raft.InstallSnapshotResponse{Term: 5, Success: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
				ga, gb := p.a.Group(3, transport.GroupOptions{}), p.b.Group(3, transport.GroupOptions{})
				var got any
				var data []byte
				p.serve(gb, func(rpc raft.RPC) {
					got = rpc.Command
					if rpc.Reader != nil {
						data, _ = io.ReadAll(rpc.Reader)
					}
					succeed(rpc)
				})
				resp, err := tt.send(ga)
				if err != nil {
					t.Fatalf("send: %v", err)
				}
				if a, ok := got.(*raft.AppendEntriesRequest); ok {
					for i, e := range a.Entries { // nil and empty are the same
						if len(e.Data) == 0 {
							e.Data = logs[i].Data
						}
					}
				}
				if !reflect.DeepEqual(got, tt.want) {
					t.Errorf("arrived\n%+v, want\n%+v", got, tt.want)
				}
				if !reflect.DeepEqual(resp, tt.resp) {
					t.Errorf("answer %+v, want %+v", resp, tt.resp)
				}
				if tt.name == "install" && string(data) != "data" {
					t.Errorf("snapshot %q, want data", data)
				}
			})
		})
	}
}

// TestErrorsOfRequests has requests fail in every way there is.
func TestErrorsOfRequests(t *testing.T) {
	vote := func(g *transport.Group) error {
		return g.RequestVote("bbb", "bbb", &raft.RequestVoteRequest{Term: 1}, &raft.RequestVoteResponse{})
	}
	tests := []struct {
		name string
		with func(p *pair, ga *transport.Group)
		send func(g *transport.Group) error
		want error
		took time.Duration
	}{
		{"no link", func(p *pair, _ *transport.Group) { p.net.Cut("aaa", "bbb"); synctest.Wait() }, vote, transport.ErrUnreachable, 0},
		{"no group", func(*pair, *transport.Group) {}, vote, transport.ErrNoGroup, 3 * time.Second}, // it may be about to begin
		{"no answer", func(p *pair, _ *transport.Group) { p.b.Group(3, transport.GroupOptions{}) }, vote, transport.ErrTimeout, 10 * time.Second},
		{"link breaks", func(p *pair, _ *transport.Group) {
			p.b.Group(3, transport.GroupOptions{})
			time.AfterFunc(time.Second, func() { p.net.Cut("aaa", "bbb") })
		}, vote, transport.ErrUnreachable, time.Second},
		{"group is closed", func(p *pair, ga *transport.Group) {
			p.b.Group(3, transport.GroupOptions{})
			time.AfterFunc(time.Second, func() { ga.Close() })
		}, vote, transport.ErrClosed, time.Second},
		{"group was closed", func(p *pair, ga *transport.Group) { ga.Close() }, vote, transport.ErrClosed, 0},
		{"peer's group is closed", func(p *pair, _ *transport.Group) {
			gb := p.b.Group(3, transport.GroupOptions{})
			time.AfterFunc(time.Second, func() { gb.Close() })
		}, vote, transport.ErrNoGroup, time.Second},
		{"silent network", func(p *pair, _ *transport.Group) {
			p.serve(p.b.Group(3, transport.GroupOptions{}), succeed)
			p.net.Freeze("bbb", "aaa")
		}, vote, transport.ErrUnreachable, 5 * time.Second},
		{"snapshot without end", func(p *pair, _ *transport.Group) {}, func(g *transport.Group) error {
			return g.InstallSnapshot("bbb", "bbb", &raft.InstallSnapshotRequest{Size: 1 << 40}, &raft.InstallSnapshotResponse{}, nil)
		}, transport.ErrTooLarge, 0},
		{"snapshot that is too short", func(p *pair, _ *transport.Group) {}, func(g *transport.Group) error {
			return g.InstallSnapshot("bbb", "bbb", &raft.InstallSnapshotRequest{Size: 5}, &raft.InstallSnapshotResponse{}, strings.NewReader("abc"))
		}, io.ErrUnexpectedEOF, 0},
		{"raft's error", func(p *pair, _ *transport.Group) {
			p.serve(p.b.Group(3, transport.GroupOptions{}), func(rpc raft.RPC) { rpc.Respond(nil, errors.New("not today")) })
		}, vote, &transport.RemoteError{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
				g := p.a.Group(3, transport.GroupOptions{})
				tt.with(p, g)
				var err error
				took := within(func() { err = tt.send(g) })
				var remote *transport.RemoteError
				if errors.As(tt.want, &remote) {
					if !errors.As(err, &remote) || remote.Text != "not today" || remote.Node != "bbb" {
						t.Errorf("error %v", err)
					}
				} else if !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if took < tt.took || took > tt.took+500*time.Millisecond {
					t.Errorf("it took %v, want about %v", took, tt.took)
				}
			})
		})
	}
}

// TestLeaderWaitsForLink lets raft send to a peer that is not there yet: the request goes out when it comes.
func TestLeaderWaitsForLink(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		p.serve(p.b.Group(3, transport.GroupOptions{}), succeed)
		g := p.a.Group(3, transport.GroupOptions{})
		p.net.Cut("aaa", "bbb")
		synctest.Wait()
		time.AfterFunc(20*time.Second, func() { p.net.Heal("aaa", "bbb") })
		for _, args := range []*raft.AppendEntriesRequest{{Term: 7}, {Term: 7, PrevLogEntry: 3, PrevLogTerm: 7, LeaderCommitIndex: 1}} {
			took := within(func() {
				if err := g.AppendEntries("bbb", "bbb", args, &raft.AppendEntriesResponse{}); err != nil {
					t.Errorf("append: %v", err)
				}
			})
			if took > 21*time.Second {
				t.Errorf("it took %v", took)
			}
		}
		p.net.Cut("aaa", "bbb")
		synctest.Wait()
		took := within(func() {
			err := g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7}, &raft.AppendEntriesResponse{})
			if !errors.Is(err, transport.ErrUnreachable) {
				t.Errorf("error %v, want ErrUnreachable", err)
			}
		})
		if took != time.Minute {
			t.Errorf("it waited %v for a peer that does not come, want 1m", took)
		}
		time.AfterFunc(time.Second, func() { // another term of this server does not wait behind this one
			go g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 8}, &raft.AppendEntriesResponse{})
		})
		took = within(func() {
			g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7}, &raft.AppendEntriesResponse{})
		})
		if took != time.Second {
			t.Errorf("a request of an earlier term waited %v, want 1s", took)
		}
		g.Close()
	})
}

// TestCommitIndexIsClamped lets followers hear of no more than is durable here.
func TestCommitIndexIsClamped(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		var durable uint64
		g := p.a.Group(3, transport.GroupOptions{Clamp: func() uint64 { return durable }})
		var got []uint64
		p.serve(p.b.Group(3, transport.GroupOptions{}), func(rpc raft.RPC) {
			got = append(got, rpc.Command.(*raft.AppendEntriesRequest).LeaderCommitIndex)
			succeed(rpc)
		})
		for _, durable = range []uint64{0, 5, 9} {
			err := g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: 9, PrevLogTerm: 7, LeaderCommitIndex: 8}, &raft.AppendEntriesResponse{})
			if err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(got) != "[0 5 8]" {
			t.Errorf("commit indexes %v, want [0 5 8]", got)
		}
	})
}

// TestGroupIsReplaced registers two groups with one id.
func TestGroupIsReplaced(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		old := p.b.Group(3, transport.GroupOptions{})
		p.serve(p.b.Group(3, transport.GroupOptions{}), succeed)
		old.Close() // takes nothing from the new one
		g := p.a.Group(3, transport.GroupOptions{})
		if err := g.RequestVote("bbb", "bbb", &raft.RequestVoteRequest{Term: 1}, &raft.RequestVoteResponse{}); err != nil {
			t.Errorf("vote: %v", err)
		}
		if err := p.b.TimeoutNow(4); !errors.Is(err, transport.ErrNoGroup) {
			t.Errorf("TimeoutNow without a group: %v", err)
		}
		if got := string(g.DecodePeer(g.EncodePeer("x", "bbb"))); got != "bbb" || g.LocalAddr() != "aaa" {
			t.Errorf("peer %q, local address %q", got, g.LocalAddr())
		}
	})
}

// TestProgressOfFollower looks at what answers tell.
func TestProgressOfFollower(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		g := p.a.Group(3, transport.GroupOptions{})
		p.serve(p.b.Group(3, transport.GroupOptions{}), succeed)
		after(time.Second)
		send := func(args *raft.AppendEntriesRequest) {
			if err := g.AppendEntries("bbb", "bbb", args, &raft.AppendEntriesResponse{}); err != nil {
				t.Fatal(err)
			}
		}
		send(&raft.AppendEntriesRequest{Term: 7, Entries: entries(1, 3, 10)})
		want := transport.Progress{Node: "bbb", Index: 3, Contact: time.Now()}
		if got := g.Progress(); len(got) != 1 || got[0] != want {
			t.Errorf("progress %+v, want %+v", got, want)
		}
		after(time.Second)
		send(&raft.AppendEntriesRequest{Term: 7})
		want.Contact = time.Now()
		if got := g.Progress(); len(got) != 1 || got[0] != want {
			t.Errorf("progress %+v after a heartbeat, want %+v", got, want)
		}
		send(&raft.AppendEntriesRequest{Term: 9})
		if got := g.Progress(); got[0].Index != 0 {
			t.Errorf("index %d in a new term, want 0", got[0].Index)
		}
	})
}
