package mesh_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"runnel/cluster/mesh"
)

// taker takes links and hands them to a benchmark.
type taker struct{ links chan *mesh.Link }

func (k taker) Linked(l *mesh.Link)                     { k.links <- l }
func (taker) Unlinked(*mesh.Link, error)                {}
func (taker) MembersChanged(mesh.Member, []mesh.Member) {}

// openTCP opens a mesh on a port of this machine.
func openTCP(b *testing.B, name string, mode mesh.Compression, seeds ...string) (k taker, addr string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	k = taker{links: make(chan *mesh.Link, 16)}
	m, err := mesh.Open(mesh.Config{
		Self:     mesh.Member{ID: name, Name: name, Cluster: "c", RouteURL: l.Addr().String()},
		Listener: l, Seeds: seeds, Compression: mode,
	}, k)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close(context.Background()) })
	return k, l.Addr().String()
}

// messages is about size bytes of routed messages, as alike as those of one publisher.
func messages(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "RMSG orders.eu.%d 96\r\n{\"order\":%d,\"customer\":\"c-%d\",\"total\":%d.%02d,\"state\":\"confirmed\"}\r\n",
			i%50, 1_000_000+i, i*7919%10_000, i*31%500, i%100)
	}
	return b.Bytes()[:size]
}

// BenchmarkLink writes batches over one link by real TCP and waits until all has arrived. An operation is a batch.
func BenchmarkLink(b *testing.B) {
	for _, mode := range []mesh.Compression{
		mesh.CompressionOff, mesh.CompressionFast, mesh.CompressionBetter, mesh.CompressionBest,
	} {
		for _, size := range []int{256, 4 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("%s/%d", mode, size), func(b *testing.B) {
				to, addr := openTCP(b, "b", mode)
				from, _ := openTCP(b, "a", mode, addr)
				w, r := <-from.links, <-to.links
				batch := messages(size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				wg.Go(func() {
					if _, err := io.CopyN(io.Discard, r, int64(b.N)*int64(size)); err != nil {
						b.Error(err)
					}
				})
				for range b.N {
					if _, err := w.Write(batch); err != nil {
						b.Fatal(err)
					}
				}
				wg.Wait()
			})
		}
	}
}
