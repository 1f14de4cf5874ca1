package mesh_test

import (
	"bytes"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/cluster/mesh"
)

func TestCompressionIsNegotiated(t *testing.T) {
	const (
		off, accept, fast = mesh.CompressionOff, mesh.CompressionAccept, mesh.CompressionFast
		better, best      = mesh.CompressionBetter, mesh.CompressionBest
	)
	tests := []struct {
		a, b         mesh.Compression
		wantA, wantB string // how each writes
	}{
		{off, off, "off", "off"},
		{off, fast, "off", "off"},
		{off, accept, "off", "off"},
		{accept, accept, "off", "off"},
		{accept, fast, "s2_fast", "s2_fast"},
		{better, accept, "s2_better", "s2_better"},
		{fast, best, "s2_fast", "s2_best"},
		{mesh.CompressionAuto, accept, "s2_uncompressed", "s2_uncompressed"},
		{best, mesh.CompressionAuto, "s2_best", "s2_uncompressed"},
		{"", fast, "s2_fast", "s2_fast"},
	}
	for _, tt := range tests {
		t.Run(string(tt.a+" "+tt.b), func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) {
				ca, cb := config(n, "a", "b:1"), config(n, "b")
				ca.Compression, cb.Compression = tt.a, tt.b
				a, b := start(t, ca), start(t, cb)
				after(2 * time.Second)
				la, lb := a.link("ID-b", "route 0/3"), b.link("ID-a", "route 0/3")
				if la.Compression() != tt.wantA || lb.Compression() != tt.wantB {
					t.Errorf("got %s and %s, want %s and %s", la.Compression(), lb.Compression(), tt.wantA, tt.wantB)
				}
				wantPaired(t, a, b)
				a.close()
				b.close()
			})
		})
	}
}

// TestAutoFollowsTheRoundTrip changes the delay of the network while a link is used.
func TestAutoFollowsTheRoundTrip(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		ca, cb := config(n, "a", "b:1"), config(n, "b")
		ca.Compression = mesh.CompressionAuto
		a, b := start(t, ca), start(t, cb)
		after(2 * time.Second)
		la, lb := a.link("ID-b", "route 0/3"), b.link("ID-a", "route 0/3")
		var want strings.Builder
		for _, step := range []struct {
			oneWay time.Duration
			want   string
		}{
			{0, "s2_uncompressed"},
			{5 * time.Millisecond, "s2_fast"},
			{25 * time.Millisecond, "s2_better"},
			{200 * time.Millisecond, "s2_best"},
			{4 * time.Millisecond, "s2_uncompressed"},
		} {
			n.slow("a", "b", step.oneWay)
			after(2 * time.Minute) // for pings
			if got := la.Compression(); got != step.want {
				t.Errorf("with %v one way: %s, want %s", step.oneWay, got, step.want)
			}
			for range 3 {
				text := strings.Repeat(step.want, 1000)
				if _, err := la.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				want.WriteString(text)
			}
			b.wantInput(lb, want.String())
		}
		a.close()
		b.close()
	})
}

// TestWriteBuffers writes pieces of all sizes over a link and looks at what arrives.
func TestWriteBuffers(t *testing.T) {
	for _, mode := range []mesh.Compression{
		mesh.CompressionOff, mesh.CompressionFast, mesh.CompressionBetter, mesh.CompressionBest,
	} {
		t.Run(string(mode), func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) {
				ca, cb := config(n, "a", "b:1"), config(n, "b")
				ca.Compression, cb.Compression = mode, mode
				a, b := start(t, ca), start(t, cb)
				after(2 * time.Second)
				la, lb := a.link("ID-b", "route 0/3"), b.link("ID-a", "route 0/3")
				r := rand.New(rand.NewPCG(1, 2))
				var want []byte
				for range 50 {
					var bufs net.Buffers
					size := int64(0)
					for range r.IntN(5) {
						p := bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(100_000))
						for i := range p[:len(p)/2] {
							p[i] = byte(r.Uint32())
						}
						bufs, size = append(bufs, p), size+int64(len(p))
					}
					want = append(want, slices.Concat(bufs...)...)
					n, err := la.WriteBuffers(&bufs)
					if err != nil || n != size || len(bufs) != 0 {
						t.Fatalf("wrote %d of %d, %d buffers are left: %v", n, size, len(bufs), err)
					}
				}
				b.wantInput(lb, string(want))
				a.close()
				b.close()
			})
		})
	}
}

// TestWriteTimeoutBreaksACompressedLink lets a write be cut: what follows must fail and not arrive as something else.
func TestWriteTimeoutBreaksACompressedLink(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		ca, cb := config(n, "a", "b:1"), config(n, "b")
		ca.Compression, cb.Compression = mesh.CompressionFast, mesh.CompressionFast
		a, b := start(t, ca), start(t, cb)
		after(2 * time.Second)
		la := a.link("ID-b", "route 0/3")
		n.freeze("a", "b")
		p := make([]byte, 1<<20)
		for i := range p {
			p[i] = byte(rand.Uint32())
		}
		if err := la.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := la.Write(p); err == nil {
			t.Error("a write that nobody takes has come to an end")
		}
		if err := la.SetWriteDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, err := la.Write([]byte("x")); err == nil {
			t.Error("a write was taken after one that was cut")
		}
		a.close()
		b.close()
	})
}
