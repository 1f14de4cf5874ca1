package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/transport"
)

// TestCalls makes calls that end in every way.
func TestCalls(t *testing.T) {
	ended := make(chan bool, 1) // a handler's context has ended, and whether it had a deadline
	handlers := map[string]transport.Service{
		"echo": {Handle: func(_ context.Context, from string, payload []byte) ([]byte, error) {
			return append([]byte(from+" "), payload...), nil
		}},
		"fail": {Handle: func(context.Context, string, []byte) ([]byte, error) {
			return nil, fmt.Errorf("no: %w", transport.ErrUnreachable)
		}},
		"long": {Handle: func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
			_, limited := ctx.Deadline()
			<-ctx.Done()
			ended <- limited
			return nil, ctx.Err()
		}},
		"much":  {Handle: func(context.Context, string, []byte) ([]byte, error) { return make([]byte, 1<<20+1), nil }},
		"large": {MaxBytes: 20 << 20, Handle: func(_ context.Context, _ string, payload []byte) ([]byte, error) { return payload, nil }},
	}
	big := bytes.Repeat([]byte("0123456789"), 2<<20)
	tests := []struct {
		name, node, service string
		payload             []byte
		timeout             time.Duration
		harm                func(p *pair)
		want                string
		err                 error
		ends                bool // the handler's context ends
	}{
		{name: "answer", node: "bbb", service: "echo", payload: []byte("hello"), want: "aaa hello"},
		{name: "nothing", node: "bbb", service: "echo", want: "aaa "},
		{name: "oneself", node: "aaa", service: "echo", payload: []byte("hello"), want: "aaa hello"},
		{name: "oneself fails", node: "aaa", service: "fail", err: &transport.RemoteError{Node: "aaa", Text: "no: unreachable"}},
		{name: "error", node: "bbb", service: "fail", err: &transport.RemoteError{Node: "bbb", Text: "no: unreachable"}},
		{name: "no service", node: "bbb", service: "what", err: transport.ErrNoService},
		{name: "no service here", node: "aaa", service: "what", err: transport.ErrNoService},
		{name: "unknown", node: "zzz", service: "echo", err: transport.ErrUnreachable},
		{name: "large", node: "bbb", service: "large", payload: big, want: string(big)},
		{name: "too large", node: "bbb", service: "echo", payload: big, err: transport.ErrTooLarge},
		{name: "answer too large", node: "bbb", service: "much", err: transport.ErrTooLarge},
		{name: "timeout", node: "bbb", service: "long", timeout: 3 * time.Second, err: context.DeadlineExceeded, ends: true},
		{
			name: "link breaks", node: "bbb", service: "long", err: transport.ErrUnreachable, ends: true,
			harm: func(p *pair) { p.net.Cut("aaa", "bbb") },
		},
		{
			name: "server stops", node: "bbb", service: "long", err: transport.ErrUnreachable, ends: true,
			harm: func(p *pair) { p.b.Close() },
		},
		{
			name: "client stops", node: "bbb", service: "long", err: transport.ErrClosed, ends: true,
			harm: func(p *pair) { p.a.Close() },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
				for name, s := range handlers {
					p.a.Serve(name, s)
					p.b.Serve(name, s)
				}
				ctx, cancel := context.Background(), context.CancelFunc(func() {})
				if tt.timeout > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
				}
				defer cancel()
				if tt.harm != nil {
					time.AfterFunc(time.Second, func() { tt.harm(p) })
				}
				got, err := p.a.Call(ctx, tt.node, tt.service, tt.payload)
				if string(got) != tt.want {
					t.Errorf("answer of %d bytes, want %d", len(got), len(tt.want))
				}
				var want, remote *transport.RemoteError
				if errors.As(tt.err, &want) {
					if !errors.As(err, &remote) || *remote != *want {
						t.Errorf("error %v, want %v", err, tt.err)
					}
				} else if !errors.Is(err, tt.err) {
					t.Errorf("error %v, want %v", err, tt.err)
				}
				if tt.ends {
					if limited := <-ended; limited != (tt.timeout > 0) {
						t.Errorf("the handler's context has a deadline: %v", limited)
					}
				}
			})
		})
	}
}

// TestCallerGivesUp cancels a call without a deadline, which the handler hears of.
func TestCallerGivesUp(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		gone := make(chan struct{})
		p.b.Handle("long", func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
			<-ctx.Done()
			close(gone)
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		if _, err := p.a.Call(ctx, "bbb", "long", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want Canceled", err)
		}
		<-gone
		p.net.Freeze("aaa", "bbb")
		ctx, cancel = context.WithCancel(context.Background())
		results := make(chan error, 30)
		for range 30 { // the last ones wait for room
			go func() {
				_, err := p.a.Call(ctx, "bbb", "long", make([]byte, 1<<20))
				results <- err
			}()
		}
		synctest.Wait()
		cancel()
		for range 30 {
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want Canceled", err)
			}
		}
	})
}

// TestCallsAreBounded refuses calls when too many are being answered.
func TestCallsAreBounded(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{Calls: 3}, func(t *testing.T, p *pair) {
		release := make(chan struct{})
		var running atomic.Int32
		p.b.Handle("wait", func(context.Context, string, []byte) ([]byte, error) {
			running.Add(1)
			<-release
			return nil, nil
		})
		results := make(chan error, 10)
		for range 10 {
			go func() {
				_, err := p.a.Call(context.Background(), "bbb", "wait", nil)
				results <- err
			}()
		}
		for range 7 {
			if err := <-results; !errors.Is(err, transport.ErrBusy) {
				t.Errorf("error %v, want ErrBusy", err)
			}
		}
		if running.Load() != 3 {
			t.Errorf("%d calls run, want 3", running.Load())
		}
		close(release)
		for range 3 {
			if err := <-results; err != nil {
				t.Errorf("call: %v", err)
			}
		}
		if _, err := p.a.Call(context.Background(), "bbb", "wait", nil); err != nil {
			t.Errorf("a call after the others: %v", err)
		}
	})
}
