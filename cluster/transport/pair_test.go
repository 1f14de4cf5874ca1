package transport_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/mesh"
	"runnel/cluster/transport"
	"runnel/cluster/transport/transporttest"
)

// pair is two transports without raft, whose groups a test answers for.
type pair struct {
	t    *testing.T
	net  *transporttest.Network
	a, b *transport.Transport
	stop chan struct{}
}

// inPair runs a test in virtual time with two servers that are linked.
func inPair(t *testing.T, cfgA, cfgB transport.Config, test func(t *testing.T, p *pair)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfgA.Node, cfgB.Node = "aaa", "bbb"
		p := &pair{t: t, net: transporttest.New(), a: transport.New(cfgA), b: transport.New(cfgB), stop: make(chan struct{})}
		p.net.Join("aaa", p.a)
		p.net.Join("bbb", p.b)
		synctest.Wait()
		defer func() {
			close(p.stop)
			p.net.Close()
			p.a.Close()
			p.b.Close()
		}()
		test(t, p)
	})
}

// serve answers what comes for a group, one after the other, as raft's main loop does.
func (p *pair) serve(g *transport.Group, answer func(rpc raft.RPC)) {
	go func() {
		for {
			select {
			case rpc := <-g.Consumer():
				answer(rpc)
			case <-p.stop:
				return
			}
		}
	}()
}

// succeed answers every request with success.
func succeed(rpc raft.RPC) {
	switch r := rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		last := r.PrevLogEntry
		if n := len(r.Entries); n > 0 {
			last = r.Entries[n-1].Index
		}
		rpc.Respond(&raft.AppendEntriesResponse{Term: r.Term, LastLog: last, Success: true}, nil)
	case *raft.RequestVoteRequest:
		rpc.Respond(&raft.RequestVoteResponse{Term: r.Term, Granted: true}, nil)
	case *raft.RequestPreVoteRequest:
		rpc.Respond(&raft.RequestPreVoteResponse{Term: r.Term, Granted: true}, nil)
	case *raft.InstallSnapshotRequest:
		rpc.Respond(&raft.InstallSnapshotResponse{Term: r.Term, Success: true}, nil)
	case *raft.TimeoutNowRequest:
		rpc.Respond(&raft.TimeoutNowResponse{}, nil)
	}
}

// entries are n entries of so many bytes, from an index on.
func entries(from uint64, n, size int) []*raft.Log {
	var list []*raft.Log
	for i := range n {
		data := strings.Repeat(fmt.Sprint(from, i, " "), size/4+1)
		list = append(list, &raft.Log{Index: from + uint64(i), Term: 7, Data: []byte(data[:size])})
	}
	return list
}

// view is what one of the two sees of the other.
func view(t *testing.T, tr *transport.Transport) transport.PeerView {
	t.Helper()
	list := tr.Peers()
	if len(list) != 1 {
		t.Fatalf("%d peers, want 1: %+v", len(list), list)
	}
	return list[0]
}

// member is a server as the mesh presents it.
func member(node string) mesh.Member { return mesh.Member{ID: "ID", Name: "name-" + node, Node: node} }

// within runs f and returns how much virtual time it took.
func within(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

// after lets virtual time pass.
func after(d time.Duration) { <-time.After(d) }
