package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// ErrConflict says that something else is being changed about the group; try again.
var ErrConflict = errors.New("another change of the group is under way")

// usualWait is how long a change waits for its turn if its context has no deadline.
const usualWait = 10 * time.Second

// freshness is how long ago a replica may have answered to count as being there.
const freshness = 4 * time.Second

// Add makes a node a member without a vote, which gets all that there is. On a leader only, like all changes of
// members; what is so already is no error.
func (g *Group) Add(ctx context.Context, node string) error {
	if _, ok := g.member(node); ok {
		return nil
	}
	return g.change(ctx, "add", node, func(previous uint64, wait time.Duration) raft.IndexFuture {
		return g.raft.AddNonvoter(raft.ServerID(node), raft.ServerAddress(node), previous, wait)
	})
}

// Promote gives a member a vote. It fails with ErrBehind unless the member answers and has all that was committed when it
// was asked for, so that the group can go on at once with the new majority.
func (g *Group) Promote(ctx context.Context, node string) error {
	s, ok := g.member(node)
	switch {
	case !ok:
		return fmt.Errorf("promote %s in group %d: %w", node, g.cfg.ID, ErrNotMember)
	case s.Suffrage == raft.Voter:
		return nil
	}
	if err := g.awaitCurrent(ctx, node); err != nil {
		return fmt.Errorf("promote %s in group %d: %w", node, g.cfg.ID, err)
	}
	return g.change(ctx, "promote", node, func(previous uint64, wait time.Duration) raft.IndexFuture {
		return g.raft.AddVoter(raft.ServerID(node), raft.ServerAddress(node), previous, wait)
	})
}

// Remove takes a node out of the group. A leader that removes itself stops leading once that is committed.
func (g *Group) Remove(ctx context.Context, node string) error {
	if _, ok := g.member(node); !ok {
		return nil
	}
	return g.change(ctx, "remove", node, func(previous uint64, wait time.Duration) raft.IndexFuture {
		return g.raft.RemoveServer(raft.ServerID(node), previous, wait)
	})
}

// change has raft change the members, if they are still those that were seen last.
func (g *Group) change(ctx context.Context, what, node string, f func(uint64, time.Duration) raft.IndexFuture) error {
	g.mu.Lock()
	previous, leads := g.info.configuration, g.role.term != 0
	g.mu.Unlock()
	err := ErrNotLeader
	if leads {
		err = raftError(f(previous, waitOf(ctx)).Error())
	}
	if err != nil {
		return fmt.Errorf("%s %s in group %d: %w", what, node, g.cfg.ID, err)
	}
	return nil
}

// waitOf is how long ctx lets something wait.
func waitOf(ctx context.Context) time.Duration {
	if at, ok := ctx.Deadline(); ok {
		return max(time.Until(at), time.Millisecond)
	}
	return usualWait
}

// raftError gives an error of raft as one of ours.
func raftError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader):
		return ErrNotLeader
	case errors.Is(err, raft.ErrLeadershipLost):
		return ErrLeadershipLost
	case errors.Is(err, raft.ErrRaftShutdown):
		return ErrClosed
	case errors.Is(err, raft.ErrEnqueueTimeout),
		strings.HasPrefix(err.Error(), "configuration changed since"):
		return fmt.Errorf("%w (%v)", ErrConflict, err)
	}
	return err
}

// member is what raft's newest configuration says of a node.
func (g *Group) member(node string) (raft.Server, bool) {
	servers := g.raft.GetConfiguration().Configuration().Servers
	i := slices.IndexFunc(servers, func(s raft.Server) bool { return string(s.ID) == node })
	if i < 0 {
		return raft.Server{}, false
	}
	return servers[i], true
}

// current checks that a node answers and has everything up to index.
func (g *Group) current(node string, index uint64) error {
	p := g.courier.progress(node)
	switch ago := time.Since(p.contact); {
	case p.contact.IsZero() || ago > freshness:
		return fmt.Errorf("%w: it does not answer", ErrBehind)
	case p.match < index:
		return fmt.Errorf("%w: it has entries up to %d of %d", ErrBehind, p.match, index)
	}
	return nil
}

// near is current but for what may be on its way to any member of a busy group.
func (g *Group) near(node string) error {
	commit := g.raft.CommitIndex()
	return g.current(node, commit-min(commit, nearby))
}

// nearby is how many entries a member may lack and count as one that is up to date: those of one request.
const nearby = maxAppend

// How long a member that is near may take to have what is committed, and how often is looked.
const (
	nearTime  = 2 * time.Second
	nearEvery = 10 * time.Millisecond
)

// awaitCurrent waits until a node that is near has everything that is committed now.
func (g *Group) awaitCurrent(ctx context.Context, node string) error {
	commit := g.raft.CommitIndex()
	ctx, cancel := context.WithTimeout(ctx, nearTime)
	defer cancel()
	for {
		if err := g.near(node); err != nil {
			return err
		}
		err := g.current(node, commit)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(nearEvery):
		case <-ctx.Done():
			return err
		case <-g.ctx.Done():
			return ErrClosed
		}
	}
}

// StepDown hands leadership to a node, or to the one that is furthest if to is empty. It fails with ErrBehind or ErrNotMember if that one
// could not take over at once, and leadership then stays. Proposals wait meanwhile, for handOverTime at most, and when ctx
// ends they go on.
//
// Raft's own way is not used: while it waits, up to an election timeout, it refuses all proposals, also for a moment after
// it has said that it failed. Here nothing is on its way, and who has all that there is only needs to be told.
func (g *Group) StepDown(ctx context.Context, to string) error {
	ctx, cancel := context.WithTimeout(ctx, handOverTime)
	defer cancel()
	target, err := g.successor(to)
	if err == nil {
		err = g.handOver(ctx, target)
	}
	if err != nil {
		return fmt.Errorf("step down in group %d: %w", g.cfg.ID, err)
	}
	return nil
}

const (
	// handOverTime bounds what a leadership may wait for its successor.
	handOverTime = 4 * time.Second
	// askAgain is when a successor is asked again that does not lead yet.
	askAgain = time.Second
	// catchUpPoll is how often is looked whether it has all that there is.
	catchUpPoll = 5 * time.Millisecond
)

// handOver has a member that is there take over.
func (g *Group) handOver(ctx context.Context, target raft.Server) error {
	drained, over, err := g.pause()
	if err != nil {
		return err
	}
	defer g.resume()
	select {
	case <-drained:
	case <-ctx.Done():
		return fmt.Errorf("entries are still under way: %w", ctx.Err())
	}
	for g.courier.progress(string(target.ID)).match < g.raft.LastIndex() {
		select {
		case <-time.After(catchUpPoll):
		case <-over:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: %s lacks the last entries: %w", ErrBehind, target.ID, ctx.Err())
		}
	}
	ask := func() {
		request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{
			ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(g.cfg.Self), Addr: []byte(g.cfg.Self),
		}}
		if err := g.courier.TimeoutNow(target.ID, target.Address, request, &raft.TimeoutNowResponse{}); err != nil {
			g.logger.Debug("a successor could not be told", "group", g.cfg.ID, "node", target.ID, "error", err)
		}
	}
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		if !g.spawn(ask) {
			return ErrClosed
		}
		select {
		case <-over:
			return nil
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%s does not take over: %w", target.ID, ctx.Err())
		}
	}
}

// successor is the voter that leadership can go to.
func (g *Group) successor(to string) (raft.Server, error) {
	g.mu.Lock()
	leads := g.role.leads()
	g.mu.Unlock()
	if !leads {
		return raft.Server{}, ErrNotLeader
	}
	if to != "" {
		s, ok := g.member(to)
		if !ok || s.Suffrage != raft.Voter || to == g.cfg.Self {
			return s, fmt.Errorf("%s: %w", to, ErrNotMember)
		}
		return s, g.near(to)
	}
	var best raft.Server
	var furthest uint64
	err := fmt.Errorf("%w: there is no other member with a vote", ErrNotMember)
	for _, s := range g.raft.GetConfiguration().Configuration().Servers {
		if s.Suffrage != raft.Voter || string(s.ID) == g.cfg.Self {
			continue
		}
		match := g.courier.progress(string(s.ID)).match
		if e := g.near(string(s.ID)); e != nil {
			if best.ID == "" {
				err = e
			}
		} else if best.ID == "" || match > furthest {
			best, furthest, err = s, match, nil
		}
	}
	return best, err
}

// pause holds back what waits, and gives a channel that is closed once nothing is on its way, and one that is closed when this
// replica does not lead any more.
func (g *Group) pause() (drained chan struct{}, over <-chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &g.line
	if l.term == 0 || g.role.over == nil {
		return nil, nil, ErrNotLeader
	}
	if l.paused {
		return nil, nil, ErrConflict
	}
	l.paused = true
	drained = make(chan struct{})
	if len(l.sent) == 0 && !l.packing {
		close(drained)
	} else {
		l.drained = drained
	}
	return drained, g.role.over, nil
}

// resume lets what waits go on, if this replica still leads.
func (g *Group) resume() {
	g.mu.Lock()
	g.line.paused = false
	g.mu.Unlock()
	g.pump(false)
}

// Campaign has this replica ask for votes at once, whoever leads: the host knows that the leader is dead. It must be a
// follower with a vote, which raft does not check.
func (g *Group) Campaign() error {
	if s, ok := g.member(g.cfg.Self); !ok || s.Suffrage != raft.Voter {
		return fmt.Errorf("campaign in group %d: %w", g.cfg.ID, ErrNotMember)
	}
	if g.raft.State() != raft.Follower || g.failed() != nil {
		return fmt.Errorf("campaign in group %d: %w", g.cfg.ID, ErrConflict)
	}
	if g.cfg.Campaign != nil {
		return g.cfg.Campaign()
	}
	self := raft.ServerID(g.cfg.Self)
	request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{
		ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(self), Addr: []byte(self),
	}}
	if err := g.courier.TimeoutNow(self, raft.ServerAddress(self), request, &raft.TimeoutNowResponse{}); err != nil {
		return fmt.Errorf("campaign in group %d: %w", g.cfg.ID, err)
	}
	return nil
}
