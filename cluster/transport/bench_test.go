package transport_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/hashicorp/raft"

	"runnel/cluster/mesh"
	"runnel/cluster/transport"
)

// tcpLink is a link as a mesh hands it over when it is neither encrypted nor compressed.
type tcpLink struct{ net.Conn }

func (l tcpLink) CloseWith(error) { l.Close() }

func (l tcpLink) WriteBuffers(bufs *net.Buffers) (int64, error) { return bufs.WriteTo(l.Conn) }

// benchPair is two transports that are linked by TCP.
func benchPair(b *testing.B) (from, to *transport.Transport) {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	from, to = transport.New(transport.Config{Node: "aaa"}), transport.New(transport.Config{Node: "bbb"})
	for _, k := range []mesh.Kind{mesh.RaftHeartbeat, mesh.RaftData} {
		near, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		far, err := ln.Accept()
		if err != nil {
			b.Fatal(err)
		}
		from.Attach(member("bbb"), k, tcpLink{near})
		to.Attach(member("aaa"), k, tcpLink{far})
	}
	b.Cleanup(func() {
		from.Close()
		to.Close()
	})
	return from, to
}

// answerAll answers what comes for a group until it is closed.
func answerAll(b *testing.B, g *transport.Group) {
	b.Helper()
	stop := make(chan struct{})
	b.Cleanup(func() { close(stop) })
	go func() {
		for {
			select {
			case rpc := <-g.Consumer():
				succeed(rpc)
			case <-stop:
				return
			}
		}
	}()
}

// BenchmarkAppend sends entries ahead of their answers.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{128, 4 << 10, 64 << 10, 256 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			from, to := benchPair(b)
			answerAll(b, to.Group(1, transport.GroupOptions{}))
			pipe, err := from.Group(1, transport.GroupOptions{}).AppendEntriesPipeline("bbb", "bbb")
			if err != nil {
				b.Fatal(err)
			}
			logs := entries(1, 1, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range b.N {
					(<-pipe.Consumer()).Response()
				}
			}()
			for range b.N {
				if _, err := pipe.AppendEntries(&raft.AppendEntriesRequest{Term: 7, Entries: logs}, &raft.AppendEntriesResponse{}); err != nil {
					b.Fatal(err)
				}
			}
			<-done
		})
	}
}

// BenchmarkManyGroups has many groups send small entries at the same time: their frames share writes.
func BenchmarkManyGroups(b *testing.B) {
	const groups = 64
	from, to := benchPair(b)
	for id := range uint64(groups) {
		answerAll(b, to.Group(id, transport.GroupOptions{}))
	}
	b.ReportAllocs()
	b.ResetTimer()
	done := make(chan error, groups)
	for id := range uint64(groups) {
		g := from.Group(id, transport.GroupOptions{})
		go func() {
			var err error
			for i := id; i < uint64(b.N) && err == nil; i += groups {
				err = appendTo(g, entries(1, 1, 128))
			}
			done <- err
		}()
	}
	for range groups {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	c := from.Peers()[0].Counters
	b.ReportMetric(float64(c.FramesOut)/float64(c.Writes), "frames/write")
}

// BenchmarkHeartbeats has many groups send heartbeats at the same time.
func BenchmarkHeartbeats(b *testing.B) {
	const groups = 1000
	from, to := benchPair(b)
	done := make(chan error, groups)
	for id := range uint64(groups) {
		g := to.Group(id, transport.GroupOptions{})
		g.SetHeartbeatHandler(succeed)
		transport.Follow(g, 7)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for id := range uint64(groups) {
		g := from.Group(id, transport.GroupOptions{})
		go func() {
			var err error
			for i := id; i < uint64(b.N) && err == nil; i += groups {
				err = g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7}, &raft.AppendEntriesResponse{})
			}
			done <- err
		}()
	}
	for range groups {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	c := from.Peers()[0].Counters
	b.ReportMetric(float64(c.FramesOut)/float64(c.Writes), "frames/write")
}

// BenchmarkCall calls a service, one call after the other.
func BenchmarkCall(b *testing.B) {
	from, to := benchPair(b)
	to.Handle("echo", func(_ context.Context, _ string, p []byte) ([]byte, error) { return p, nil })
	payload := make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := from.Call(context.Background(), "bbb", "echo", payload); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFetch reads a stream.
func BenchmarkFetch(b *testing.B) {
	from, to := benchPair(b)
	to.HandleFetch(func(context.Context, string, []byte, int64) (io.ReadCloser, error) { return io.NopCloser(zeros{}), nil })
	r, err := from.Fetch(context.Background(), "bbb", nil, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	buf := make([]byte, 64<<10)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.ReadFull(r, buf); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRound is what a server with many groups does at each ping.
func BenchmarkRound(b *testing.B) {
	from, to := benchPair(b)
	for id := range uint64(3000) {
		answerAll(b, to.Group(id, transport.GroupOptions{}))
		g := from.Group(id, transport.GroupOptions{Commit: func() uint64 { return 1 }, Nudge: func(string) {}})
		if err := appendTo(g, entries(1, 1, 128)); err != nil {
			b.Fatal(err)
		}
		if err := g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: 1, PrevLogTerm: 7, LeaderCommitIndex: 1}, &raft.AppendEntriesResponse{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		transport.Round(from)
	}
}
