package transport_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/mesh"
	"runnel/cluster/transport"
)

// handler hands the links of a mesh to a transport.
type handler struct{ tr *transport.Transport }

func (h handler) Linked(l *mesh.Link)                       { h.tr.Linked(l) }
func (h handler) Unlinked(l *mesh.Link, reason error)       { h.tr.Unlinked(l, reason) }
func (h handler) MembersChanged(mesh.Member, []mesh.Member) {}

// openMesh starts a server that speaks TCP.
func openMesh(t *testing.T, node string, compression mesh.Compression, seeds ...string) (*transport.Transport, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tr := transport.New(transport.Config{Node: node})
	m, err := mesh.Open(mesh.Config{
		Self:     mesh.Member{ID: "ID-" + node, Name: node, Node: node, Cluster: "C", RouteURL: ln.Addr().String()},
		Listener: ln, Seeds: seeds, Raft: true, Compression: compression,
	}, handler{tr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
		tr.Close()
		if v := view(t, tr); v.Data || v.Heartbeat {
			t.Errorf("links are left: %+v", v)
		}
	})
	return tr, ln.Addr().String()
}

// TestOverMesh uses links of a real mesh, plain and compressed.
func TestOverMesh(t *testing.T) {
	for _, compression := range []mesh.Compression{mesh.CompressionOff, mesh.CompressionFast} {
		t.Run(string(compression), func(t *testing.T) {
			a, addr := openMesh(t, "aaa", compression)
			b, _ := openMesh(t, "bbb", compression, addr)
			var up sync.WaitGroup
			up.Add(2)
			for _, tr := range []*transport.Transport{a, b} {
				tr.Watch(func(e transport.PeerEvent) {
					if e.Up {
						up.Done()
					}
				})
			}
			up.Wait()
			stop := make(chan struct{})
			defer close(stop)
			gb := b.Group(1, transport.GroupOptions{})
			logs := entries(1, 20, 100_000)
			go func() {
				for {
					select {
					case rpc := <-gb.Consumer():
						for i, e := range rpc.Command.(*raft.AppendEntriesRequest).Entries {
							if !bytes.Equal(e.Data, logs[i].Data) {
								t.Errorf("entry %d differs", i)
							}
						}
						succeed(rpc)
					case <-stop:
						return
					}
				}
			}()
			g := a.Group(1, transport.GroupOptions{})
			for range 5 {
				if err := appendTo(g, logs); err != nil {
					t.Error(err)
				}
			}
			b.Handle("echo", func(_ context.Context, _ string, p []byte) ([]byte, error) { return p, nil })
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if got, err := a.Call(ctx, "bbb", "echo", []byte("hello")); string(got) != "hello" || err != nil {
				t.Errorf("call: %q, %v", got, err)
			}
			g.Close()
		})
	}
}
