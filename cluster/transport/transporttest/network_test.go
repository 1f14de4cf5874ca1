package transporttest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/transport"
	"runnel/cluster/transport/transporttest"
)

// TestNetwork harms the links of two servers and looks whether calls get through.
func TestNetwork(t *testing.T) {
	tests := []struct {
		name  string
		harm  func(n *transporttest.Network)
		want  error         // of a call at once, that waits a second
		later error         // of one half a minute later
		took  time.Duration // by a call that succeeds
	}{
		{"nothing", func(*transporttest.Network) {}, nil, nil, 0},
		{"cut", func(n *transporttest.Network) { n.Cut("b", "a") }, transport.ErrUnreachable, transport.ErrUnreachable, 0},
		{"isolated", func(n *transporttest.Network) { n.Isolate("a") }, transport.ErrUnreachable, transport.ErrUnreachable, 0},
		{"broken", func(n *transporttest.Network) { n.Break("a", "b") }, transport.ErrUnreachable, nil, 0},
		{"left", func(n *transporttest.Network) { n.Leave("b") }, transport.ErrUnreachable, transport.ErrUnreachable, 0},
		{"there is frozen", func(n *transporttest.Network) { n.Freeze("a", "b") }, context.DeadlineExceeded, transport.ErrUnreachable, 0},
		{"back is frozen", func(n *transporttest.Network) { n.Freeze("b", "a") }, context.DeadlineExceeded, transport.ErrUnreachable, 0},
		{"healed", func(n *transporttest.Network) { n.Cut("a", "b"); n.Heal("a", "b") }, transport.ErrUnreachable, nil, 0},
		{"frozen and healed", func(n *transporttest.Network) { n.Freeze("a", "b"); n.HealAll() }, nil, nil, 0},
		{"far", func(n *transporttest.Network) { n.Delay("a", "b", 100*time.Millisecond) }, nil, nil, 200 * time.Millisecond},
		{"closed", func(n *transporttest.Network) { n.Close() }, transport.ErrUnreachable, transport.ErrUnreachable, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := transporttest.New()
				a, b := transport.New(transport.Config{Node: "a"}), transport.New(transport.Config{Node: "b"})
				defer func() { n.Close(); a.Close(); b.Close() }()
				n.Join("a", a)
				n.Join("b", b)
				b.Handle("echo", func(_ context.Context, _ string, p []byte) ([]byte, error) { return p, nil })
				call := func() (time.Duration, error) {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					defer cancel()
					begin := time.Now()
					_, err := a.Call(ctx, "b", "echo", []byte("hello"))
					return time.Since(begin), err
				}
				tt.harm(n)
				synctest.Wait()
				if took, err := call(); !errors.Is(err, tt.want) || err == nil && took != tt.took {
					t.Errorf("at once: %v after %v, want %v after %v", err, took, tt.want, tt.took)
				}
				<-time.After(30 * time.Second)
				if took, err := call(); !errors.Is(err, tt.later) || err == nil && took != tt.took {
					t.Errorf("later: %v after %v, want %v after %v", err, took, tt.later, tt.took)
				}
			})
		})
	}
}
