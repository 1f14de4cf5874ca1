package transport_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/transport"
)

// TestPipelineKeepsOrder sends many requests ahead of their answers.
func TestPipelineKeepsOrder(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		p.net.Delay("aaa", "bbb", 50*time.Millisecond)
		var got []uint64
		p.serve(p.b.Group(1, transport.GroupOptions{}), func(rpc raft.RPC) {
			got = append(got, rpc.Command.(*raft.AppendEntriesRequest).Entries[0].Index)
			succeed(rpc)
		})
		pipe := openPipeline(t, p.a.Group(1, transport.GroupOptions{}))
		took := within(func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range uint64(40) {
					f := <-pipe.Consumer()
					if want := i + 1; f.Error() != nil || f.Response().LastLog != want || f.Request().Entries[0].Index != want || f.Start().IsZero() {
						t.Errorf("answer %d: %+v, %v", i, f.Response(), f.Error())
					}
				}
			}()
			for i := range uint64(40) {
				args := &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: i, Entries: entries(i+1, 1, 100)}
				if _, err := pipe.AppendEntries(args, &raft.AppendEntriesResponse{}); err != nil {
					t.Errorf("append %d: %v", i, err)
				}
			}
			<-done
		})
		if took > 1100*time.Millisecond { // four at a time, 100 ms a round trip
			t.Errorf("it took %v, want about 1s", took)
		}
		for i, index := range got {
			if index != uint64(i)+1 {
				t.Fatalf("arrived in the order %v", got)
			}
		}
	})
}

func openPipeline(t *testing.T, g *transport.Group) raft.AppendPipeline {
	t.Helper()
	pipe, err := g.AppendEntriesPipeline("bbb", "bbb")
	if err != nil {
		t.Fatal(err)
	}
	return pipe
}

// TestPipelineIsBounded lets nothing be answered: no more than four requests, or 8 MiB, are on the way.
func TestPipelineIsBounded(t *testing.T) {
	for bytes, want := range map[int]int{100: 4, 3 << 20: 2, 20 << 20: 1} {
		t.Run(fmt.Sprintf("%d bytes", bytes), func(t *testing.T) {
			inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
				p.b.Group(1, transport.GroupOptions{})
				pipe := openPipeline(t, p.a.Group(1, transport.GroupOptions{}))
				sent := make(chan error, 10)
				go func() {
					for range 10 {
						_, err := pipe.AppendEntries(&raft.AppendEntriesRequest{Term: 7, Entries: entries(1, 1, bytes)}, &raft.AppendEntriesResponse{})
						sent <- err
						if err != nil {
							return
						}
					}
				}()
				synctest.Wait()
				if got := len(sent); got != want {
					t.Errorf("%d requests are on the way, want %d", got, want)
				}
				pipe.Close()
				synctest.Wait()
				for range want {
					<-sent
				}
				if err := <-sent; !errors.Is(err, transport.ErrClosed) {
					t.Errorf("error %v, want ErrClosed", err)
				}
			})
		})
	}
}

// TestPipelineEndsWithFailure has a request fail in the middle. Who waits for room must not wait for ever, since raft takes no
// more answers then.
func TestPipelineEndsWithFailure(t *testing.T) {
	tests := []struct {
		name string
		fail func(p *pair, rpc raft.RPC)
		want error // of the answer
	}{
		{"rejected", func(_ *pair, rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Term: 7, LastLog: 1}, nil) }, nil},
		{"refused", func(_ *pair, rpc raft.RPC) { rpc.Respond(nil, transport.ErrBusy) }, transport.ErrBusy},
		{"link breaks", func(p *pair, rpc raft.RPC) { p.net.Break("aaa", "bbb"); rpc.Respond(nil, nil) }, transport.ErrUnreachable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
				n := 0
				p.serve(p.b.Group(1, transport.GroupOptions{}), func(rpc raft.RPC) {
					if n++; n == 3 {
						tt.fail(p, rpc)
						return
					}
					succeed(rpc)
				})
				pipe := openPipeline(t, p.a.Group(1, transport.GroupOptions{}))
				var err error
				for i := uint64(0); err == nil && i < 50; i++ {
					_, err = pipe.AppendEntries(&raft.AppendEntriesRequest{Term: 7, PrevLogEntry: i, Entries: entries(i+1, 1, 100)}, &raft.AppendEntriesResponse{})
				}
				if err == nil {
					t.Error("the pipeline goes on")
				}
				for range 2 {
					(<-pipe.Consumer()).Response()
				}
				if f := <-pipe.Consumer(); !errors.Is(f.Error(), tt.want) || f.Response().Success {
					t.Errorf("the third answer: %v, %+v, want %v", f.Error(), f.Response(), tt.want)
				}
			})
		})
	}
}

// TestPipelineWithoutLink fails at once and leaves the waiting to raft's other way.
func TestPipelineWithoutLink(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		p.serve(p.b.Group(1, transport.GroupOptions{}), succeed)
		pipe := openPipeline(t, p.a.Group(1, transport.GroupOptions{}))
		p.net.Cut("aaa", "bbb")
		synctest.Wait()
		args := &raft.AppendEntriesRequest{Term: 7, Entries: entries(1, 1, 100)}
		if _, err := pipe.AppendEntries(args, &raft.AppendEntriesResponse{}); !errors.Is(err, transport.ErrUnreachable) {
			t.Errorf("error %v, want ErrUnreachable", err)
		}
		p.net.Heal("aaa", "bbb")
		after(time.Second)
		if _, err := pipe.AppendEntries(args, &raft.AppendEntriesResponse{}); err != nil {
			t.Errorf("over a new link: %v", err)
		}
	})
}

// TestEntriesOverBrokenLinks breaks the link each time that entries have come, before they are answered. Raft would pause after
// each failure, up to ten seconds; it hears of none: the entries go over the next link.
func TestEntriesOverBrokenLinks(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		const breaks = 12
		came := 0
		p.serve(p.b.Group(1, transport.GroupOptions{}), func(rpc raft.RPC) {
			if came++; came <= breaks {
				p.net.Break("aaa", "bbb")
			}
			after(time.Millisecond)
			succeed(rpc)
		})
		g := p.a.Group(1, transport.GroupOptions{})
		if took := within(func() {
			if err := appendTo(g, entries(1, 3, 100)); err != nil {
				t.Errorf("the answer is %v", err)
			}
		}); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if came != breaks+1 {
			t.Errorf("entries came %d times, want %d", came, breaks+1)
		}
	})
}

// TestEntriesOfFormerLeader breaks the link when another term has begun: entries of the former one are not sent again.
func TestEntriesOfFormerLeader(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		g := p.a.Group(1, transport.GroupOptions{})
		came := 0
		p.serve(p.b.Group(1, transport.GroupOptions{}), func(rpc raft.RPC) {
			if request, ok := rpc.Command.(*raft.AppendEntriesRequest); !ok || request.Term > 7 {
				succeed(rpc)
				return
			}
			came++
			next := &raft.AppendEntriesRequest{Term: 8, PrevLogEntry: 1, PrevLogTerm: 7}
			go g.AppendEntries("bbb", "bbb", next, &raft.AppendEntriesResponse{})
			synctest.Wait()
			p.net.Break("aaa", "bbb")
			after(time.Millisecond)
			succeed(rpc)
		})
		if err := appendTo(g, entries(1, 3, 100)); !errors.Is(err, transport.ErrUnreachable) || came != 1 {
			t.Errorf("the answer is %v after %d times, want ErrUnreachable after one", err, came)
		}
		after(time.Second)
	})
}
