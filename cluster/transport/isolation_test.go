package transport_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/transport"
)

// appendTo sends entries and waits for the answer.
func appendTo(g *transport.Group, logs []*raft.Log) error {
	return g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7, Entries: logs}, &raft.AppendEntriesResponse{})
}

// TestBusyGroupHoldsUpNobody lets one group take nothing any more. What is too much for it is refused, and other groups, votes
// and heartbeats go on as if nothing was.
func TestBusyGroupHoldsUpNobody(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		p.b.Group(1, transport.GroupOptions{}) // nobody reads its consumer
		p.serve(p.b.Group(2, transport.GroupOptions{}), succeed)
		busy, other := p.a.Group(1, transport.GroupOptions{}), p.a.Group(2, transport.GroupOptions{})
		results := make(chan error, 40)
		for range 40 {
			go func() { results <- appendTo(busy, entries(1, 1, 1<<20)) }()
		}
		synctest.Wait()
		refused := 0
		for len(results) > 0 {
			if err := <-results; !errors.Is(err, transport.ErrBusy) {
				t.Errorf("error %v, want ErrBusy", err)
			}
			refused++
		}
		if refused < 23 || refused > 26 {
			t.Errorf("%d of 40 MiB were refused, want all but about 16", refused)
		}
		if took := within(func() {
			if err := appendTo(other, entries(1, 1, 1<<20)); err != nil {
				t.Errorf("another group: %v", err)
			}
		}); took > 50*time.Millisecond {
			t.Errorf("another group waited %v", took)
		}
		if got := view(t, p.b).Counters.Refused; got != uint64(refused) {
			t.Errorf("%d refusals counted, want %d", got, refused)
		}
		busy.Close()
		for range 40 - refused {
			if err := <-results; !errors.Is(err, transport.ErrClosed) {
				t.Errorf("error %v, want ErrClosed", err)
			}
		}
	})
}

// TestInboundIsBoundedOverAll lets all groups of a server take nothing.
func TestInboundIsBoundedOverAll(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{InboundBytes: 8 << 20}, func(t *testing.T, p *pair) {
		results := make(chan error, 20)
		var groups []*transport.Group
		for id := range uint64(20) {
			p.b.Group(id, transport.GroupOptions{})
			g := p.a.Group(id, transport.GroupOptions{})
			groups = append(groups, g)
			go func() { results <- appendTo(g, entries(1, 1, 1<<20)) }()
		}
		synctest.Wait()
		if got := len(results); got < 11 || got > 12 {
			t.Errorf("%d of 20 MiB were refused, want all but about 8", got)
		}
		for _, g := range groups {
			g.Close()
		}
	})
}

// TestManyVotesAreRefused sends more requests without data than may wait for a group.
func TestManyVotesAreRefused(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		p.b.Group(1, transport.GroupOptions{})
		g := p.a.Group(1, transport.GroupOptions{})
		results := make(chan error, 300)
		for n := range 300 {
			go func() {
				results <- g.RequestVote("bbb", "bbb", &raft.RequestVoteRequest{Term: 1}, &raft.RequestVoteResponse{})
			}()
			if n == 0 {
				synctest.Wait() // this one waits for raft, all others behind it
			}
		}
		synctest.Wait()
		if got := len(results); got != 300-257 { // one is on its way to raft
			t.Errorf("%d were refused, want 43", got)
		}
		if err := p.b.TimeoutNow(1); !errors.Is(err, transport.ErrBusy) {
			t.Errorf("TimeoutNow: %v, want ErrBusy", err)
		}
		g.Close()
	})
}

// TestOutboundWaits lets a peer read nothing. Entries wait here, within bounds, and nothing is dropped; heartbeats have a
// link of their own.
func TestOutboundWaits(t *testing.T) {
	inPair(t, transport.Config{OutboundBytes: 4 << 20}, transport.Config{}, func(t *testing.T, p *pair) {
		var mu sync.Mutex
		got := 0
		p.serve(p.b.Group(1, transport.GroupOptions{}), func(rpc raft.RPC) {
			mu.Lock()
			got += len(rpc.Command.(*raft.AppendEntriesRequest).Entries)
			mu.Unlock()
			succeed(rpc)
		})
		g := p.a.Group(1, transport.GroupOptions{})
		p.net.Freeze("aaa", "bbb")
		results := make(chan error, 15)
		for range 15 {
			go func() { results <- appendTo(g, entries(1, 1, 1<<20)) }()
		}
		synctest.Wait()
		if q := view(t, p.a).Counters.QueuedBytes; q > 4<<20 {
			t.Errorf("%d bytes wait, want no more than 4 MiB", q)
		}
		p.net.Heal("aaa", "bbb")
		for range 15 {
			if err := <-results; err != nil {
				t.Errorf("append: %v", err)
			}
		}
		if got != 15 {
			t.Errorf("%d entries arrived, want 15", got)
		}
		if q := view(t, p.a).Counters.QueuedBytes; q != 0 {
			t.Errorf("%d bytes still wait", q)
		}
	})
}

// TestWaitersAreReleased ends what entries wait for, in every way.
func TestWaitersAreReleased(t *testing.T) {
	tests := []struct {
		name string
		end  func(p *pair, g *transport.Group)
		want error
	}{
		{"link breaks, and the term is over", func(p *pair, g *transport.Group) {
			p.net.Cut("aaa", "bbb")
			go g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 8, PrevLogEntry: 1}, &raft.AppendEntriesResponse{})
		}, transport.ErrUnreachable},
		{"group is closed", func(_ *pair, g *transport.Group) { g.Close() }, transport.ErrClosed},
		{"transport is closed", func(p *pair, _ *transport.Group) { p.a.Close() }, transport.ErrClosed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inPair(t, transport.Config{OutboundBytes: 1 << 20}, transport.Config{}, func(t *testing.T, p *pair) {
				p.b.Group(1, transport.GroupOptions{})
				g := p.a.Group(1, transport.GroupOptions{})
				p.net.Freeze("aaa", "bbb")
				results := make(chan error, 8)
				for range 8 {
					go func() { results <- appendTo(g, entries(1, 1, 1<<20)) }()
				}
				synctest.Wait()
				tt.end(p, g)
				synctest.Wait()
				if len(results) != 8 {
					t.Fatalf("%d of 8 have returned", len(results))
				}
				for range 8 {
					if err := <-results; !errors.Is(err, tt.want) {
						t.Errorf("error %v, want %v", err, tt.want)
					}
				}
			})
		})
	}
}

// TestSlowHeartbeatHandler lets the handlers of some groups sleep. The others do not notice.
func TestSlowHeartbeatHandler(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		var groups []*transport.Group
		for id := range uint64(50) {
			gb := p.b.Group(id, transport.GroupOptions{})
			gb.SetHeartbeatHandler(func(rpc raft.RPC) {
				if id < 20 {
					after(3 * time.Second)
				}
				succeed(rpc)
			})
			transport.Follow(gb, 7)
			groups = append(groups, p.a.Group(id, transport.GroupOptions{}))
		}
		var wg sync.WaitGroup
		for id, g := range groups {
			wg.Go(func() {
				took := within(func() {
					if err := g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7}, &raft.AppendEntriesResponse{}); err != nil {
						t.Errorf("heartbeat of group %d: %v", id, err)
					}
				})
				if slow := id < 20; slow != (took > time.Second) {
					t.Errorf("group %d was answered after %v", id, took)
				}
			})
		}
		wg.Wait()
	})
}

// TestHeartbeatsOfOneGroup are handled one at a time, no more than some may wait, and one that raft does not answer is
// answered all the same.
func TestHeartbeatsOfOneGroup(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		var mu sync.Mutex
		running, most, mute := 0, 0, false
		gb := p.b.Group(1, transport.GroupOptions{})
		transport.Follow(gb, 7)
		gb.SetHeartbeatHandler(func(rpc raft.RPC) {
			mu.Lock()
			running++
			most = max(most, running)
			silent := mute
			mu.Unlock()
			after(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			if !silent {
				succeed(rpc)
			}
		})
		g := p.a.Group(1, transport.GroupOptions{})
		beat := func() error {
			return g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7}, &raft.AppendEntriesResponse{})
		}
		results := make(chan error, 20)
		for range 20 {
			go func() { results <- beat() }()
		}
		busy := 0
		for range 20 {
			if errors.Is(<-results, transport.ErrBusy) {
				busy++
			}
		}
		if busy < 11 || busy > 12 || most != 1 {
			t.Errorf("%d refused, %d at a time, want about 12 and 1", busy, most)
		}
		mute = true
		if err := beat(); !errors.Is(err, transport.ErrNoGroup) {
			t.Errorf("a heartbeat that raft leaves unanswered: %v, want ErrNoGroup", err)
		}
	})
}

// TestEntriesAreSplit sends more than fits into a frame, and more than fits anywhere.
func TestEntriesAreSplit(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		var frames []string
		var got []*raft.Log
		fail := false
		p.serve(p.b.Group(1, transport.GroupOptions{}), func(rpc raft.RPC) {
			r := rpc.Command.(*raft.AppendEntriesRequest)
			frames = append(frames, fmt.Sprintf("%d/%d+%d", r.PrevLogEntry, r.PrevLogTerm, len(r.Entries)))
			got = append(got, r.Entries...)
			if fail {
				rpc.Respond(&raft.AppendEntriesResponse{Term: 9, LastLog: 3}, nil)
				return
			}
			succeed(rpc)
		})
		g := p.a.Group(1, transport.GroupOptions{})
		logs := entries(11, 7, 1500<<10)
		logs[6].Data = make([]byte, 9<<20)
		args := &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: 10, PrevLogTerm: 3, Entries: logs}
		resp := &raft.AppendEntriesResponse{}
		if err := g.AppendEntries("bbb", "bbb", args, resp); err != nil || !resp.Success || resp.LastLog != 17 {
			t.Errorf("answer %+v, %v", resp, err)
		}
		if fmt.Sprint(frames) != "[10/3+2 12/7+2 14/7+2 16/7+1]" {
			t.Errorf("frames %v", frames)
		}
		for i, e := range got {
			if e.Index != logs[i].Index || !bytes.Equal(e.Data, logs[i].Data) {
				t.Errorf("entry %d differs", i)
			}
		}
		fail, resp = true, &raft.AppendEntriesResponse{}
		if err := g.AppendEntries("bbb", "bbb", args, resp); err != nil || resp.Success || resp.Term != 9 || resp.LastLog != 3 {
			t.Errorf("answer %+v, %v, want that to the first frame", resp, err)
		}
		err := g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7, Entries: []*raft.Log{{Data: make([]byte, 64<<20+1)}}}, resp)
		if !errors.Is(err, transport.ErrTooLarge) {
			t.Errorf("an entry of more than 64 MiB: %v, want ErrTooLarge", err)
		}
		synctest.Wait() // until the rest of it has been looked at
		fail = false
		if err := appendTo(g, []*raft.Log{{Index: 1, Data: make([]byte, 64<<20)}}); err != nil {
			t.Errorf("an entry of 64 MiB: %v", err)
		}
	})
}

// TestHeartbeatOfANewTerm takes its turn in raft's main loop, as do all of that term until the loop has answered one as a follower: only then
// they are handled beside it.
func TestHeartbeatOfANewTerm(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		g, gb := p.a.Group(1, transport.GroupOptions{}), p.b.Group(1, transport.GroupOptions{})
		var aside atomic.Int32
		gb.SetHeartbeatHandler(func(rpc raft.RPC) {
			aside.Add(1)
			succeed(rpc)
		})
		beat := func(term uint64) {
			if err := g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: term}, &raft.AppendEntriesResponse{}); err != nil {
				t.Error(err)
			}
		}
		// inLoop has the main loop answer one heartbeat.
		inLoop := func(term, answer uint64) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				beat(term)
			}()
			var rpc raft.RPC
			select {
			case rpc = <-gb.Consumer():
			case <-done:
				t.Errorf("a heartbeat of term %d does not come to the main loop", term)
				return
			}
			if got := rpc.Command.(*raft.AppendEntriesRequest).Term; got != term {
				t.Errorf("the main loop gets a heartbeat of term %d, want %d", got, term)
			}
			rpc.Respond(&raft.AppendEntriesResponse{Term: answer, Success: answer == term}, nil)
			<-done
		}
		inLoop(7, 9) // it has heard of a later leader
		inLoop(9, 9)
		beat(9)
		inLoop(10, 10)
		beat(10)
		inLoop(9, 10) // of the one before
		if got := aside.Load(); got != 2 {
			t.Errorf("%d heartbeats were handled beside the main loop, want 2", got)
		}
	})
}

// TestPromptHeartbeats are answered at once, while those of other groups wait for company, in both directions.
func TestPromptHeartbeats(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		for id, prompt := range []bool{false, true} {
			options := transport.GroupOptions{Prompt: prompt}
			g, gb := p.a.Group(uint64(id), options), p.b.Group(uint64(id), options)
			gb.SetHeartbeatHandler(succeed)
			transport.Follow(gb, 7)
			took := within(func() {
				if err := g.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7}, &raft.AppendEntriesResponse{}); err != nil {
					t.Error(err)
				}
			})
			if prompt != (took < 10*time.Millisecond) {
				t.Errorf("prompt %t: answered after %v", prompt, took)
			}
		}
	})
}
