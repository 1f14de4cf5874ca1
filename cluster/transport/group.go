package transport

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/mesh"
)

// linkWait is how long a leader's request waits for a peer that is not linked. Raft would try again and again, with pauses
// that grow, and be late when the peer comes back; so it waits here, and goes out as soon as there is a link.
const linkWait = time.Minute

// GroupOptions are what a raft group tells its transport. All functions must be quick, must not call the transport and
// may be called by any goroutine.
type GroupOptions struct {
	// Clamp is the last index that is durable here. No follower is told of a higher commit index. Nil for no clamp.
	Clamp func() uint64
	// Commit is raft's commit index while this server leads the group, else 0. With it, followers that are idle learn of
	// it by the next ping; nil leaves that to raft's CommitTimeout. It does no harm if leadership ends in between.
	Commit func() uint64
	// Nudge says that node lacks entries, that raft has nothing on the way to it and will do nothing about it before
	// its CommitTimeout: the group, if it still leads, should propose something (a barrier will do), in a goroutine of
	// its own. It is called while Commit says that the group is led here, and seldom. Nil, or a nil Commit, for none.
	Nudge func(node string)
	// Has is told up to where a follower has all, as it has answered in a term of this server as the leader. Nil for nobody.
	Has func(node string, term, index uint64)
	// Prompt has heartbeats of the group, and answers to them, go out at once: its leader waits for them less long than those of other groups, whose
	// heartbeats wait for company.
	Prompt bool
	// Base is the index and the term of the last entry that is in a state on disk here: what is before it may be gone from
	// the log, and leaders need not send it. Nil for a log that is whole.
	Base func() (index, term uint64)
}

// Group is the transport of one raft group: a raft.Transport with pre-vote and Close.
//
// Data of entries that raft sends must never change: what is not sent yet is not copied. Close takes the group out of the
// transport: what is under way for it fails with ErrClosed, and peers are told that there is no such group. It should be
// called before raft is shut down, which waits for what is under way; raft calls it again afterwards.
type Group struct {
	t         *Transport
	id        uint64
	opts      GroupOptions
	consumer  chan raft.RPC
	heartbeat atomic.Pointer[func(raft.RPC)]
	heard     atomic.Uint64 // the highest term of a leader that has sent something here
	followed  atomic.Uint64 // the highest term in which raft's main loop has answered a leader as its follower
	in        *inbox
	done      chan struct{} // closed by Close
	once      sync.Once

	// Guarded by the mutex of the transport's beats.
	waitingBeats []inbound
	beating      bool

	mu        sync.Mutex // guards what follows
	term      uint64     // in which raft has led here last
	own       uint64     // the first index of that term that was sent; 0 if none was
	raised    chan struct{}
	followers map[string]*follower
}

// Group makes the transport of a group and has it served from now on. A group that had the id before is closed. After
// Close of the transport it is closed from the beginning.
func (t *Transport) Group(id uint64, opts GroupOptions) *Group {
	g := &Group{
		t: t, id: id, opts: opts, consumer: make(chan raft.RPC), done: make(chan struct{}),
		raised: make(chan struct{}), followers: map[string]*follower{},
	}
	g.in = &inbox{g: g, total: &t.waiting, limit: int64(t.cfg.InboundBytes)}
	t.mu.Lock()
	old, closed := t.groups[id], t.closed
	if !closed {
		g.in.begin(t.early.take(id))
		t.groups[id] = g
	}
	t.mu.Unlock()
	g.in.run()
	if old != nil {
		old.Close()
	}
	if closed {
		g.Close()
	}
	return g
}

// Close takes the group out of the transport.
func (g *Group) Close() error {
	g.once.Do(func() {
		g.t.mu.Lock()
		if g.t.groups[g.id] == g {
			delete(g.t.groups, g.id)
		}
		g.t.mu.Unlock()
		close(g.done)
		for _, l := range g.t.lanes() {
			l.fail(g.closed(), func(r request) bool { return r.group == g })
		}
	})
	return nil
}

func (g *Group) closed() error { return fmt.Errorf("raft group %d: %w", g.id, ErrClosed) }

// Consumer implements raft.Transport.
func (g *Group) Consumer() <-chan raft.RPC { return g.consumer }

// LocalAddr implements raft.Transport: the node id.
func (g *Group) LocalAddr() raft.ServerAddress { return raft.ServerAddress(g.t.cfg.Node) }

// EncodePeer implements raft.Transport.
func (g *Group) EncodePeer(_ raft.ServerID, addr raft.ServerAddress) []byte { return []byte(addr) }

// DecodePeer implements raft.Transport.
func (g *Group) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler implements raft.Transport. The handler is called by one goroutine at a time.
func (g *Group) SetHeartbeatHandler(handle func(raft.RPC)) { g.heartbeat.Store(&handle) }

// RequestVote implements raft.Transport.
func (g *Group) RequestVote(_ raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return g.request(string(target), kindVote, args, resp)
}

// RequestPreVote implements raft.WithPreVote.
func (g *Group) RequestPreVote(_ raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return g.request(string(target), kindPreVote, args, resp)
}

// TimeoutNow implements raft.Transport.
func (g *Group) TimeoutNow(_ raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return g.request(string(target), kindTimeoutNow, args, resp)
}

// AppendEntries implements raft.Transport. A peer that is not linked is waited for.
func (g *Group) AppendEntries(_ raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	node := string(target)
	g.lead(args.Term)
	if isHeartbeat(args) {
		return g.beatTo(node, args, resp)
	}
	// A link that breaks is no failure to raft, which would pause longer and longer: what was on its way goes over the next one.
	var broken *lane
	for begin := time.Now(); ; {
		l, err := g.await(node, mesh.RaftData, args.Term, broken)
		if err != nil {
			return err
		}
		a := newAppending(g, node, args, resp)
		if err = a.send(l); err == nil {
			err = a.Error()
		}
		if _, current := g.leads(args.Term); err == nil || !errors.Is(err, ErrUnreachable) || !current || time.Since(begin) > linkWait {
			return err
		}
		broken = l
	}
}

// AppendEntriesPipeline implements raft.Transport.
func (g *Group) AppendEntriesPipeline(_ raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	return newPipeline(g, string(target)), nil
}

// rpc is a request for whose answer a goroutine waits.
type rpc struct {
	response any
	done     chan error
}

func (r *rpc) answered(body []byte, err error) {
	if err == nil {
		err = readResponse(body, r.response)
	}
	r.done <- err
}

// request sends a request over the heartbeat link and waits for the answer.
func (g *Group) request(node string, k kind, args, response any) error {
	l := g.t.lane(node, mesh.RaftHeartbeat)
	if l == nil {
		return about(node, ErrUnreachable)
	}
	return g.exchange(l, k, args, response)
}

func (g *Group) exchange(l *lane, k kind, args, response any) error {
	r := &rpc{response: response, done: make(chan error, 1)}
	id, err := g.ask(l, r, answerTimeout)
	if err != nil {
		return err
	}
	l.control(k, k == kindHeartbeat && !g.opts.Prompt, func(b []byte) []byte { return putRequest(b, id, g.id, args) })
	return <-r.done
}

// ask is lane.ask for a request of the group, which has not been closed.
func (g *Group) ask(l *lane, w waiter, timeout time.Duration) (id uint64, err error) {
	id, err = l.ask(request{waiter: w, group: g, expires: time.Now().Add(timeout)})
	if err != nil {
		return 0, err
	}
	select {
	case <-g.done: // Close has looked at the requests before this one was among them, or fails it now
		if l.forget(id) {
			return 0, g.closed()
		}
	default:
	}
	return id, nil
}

// beatTo sends a heartbeat.
func (g *Group) beatTo(node string, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	l, err := g.await(node, mesh.RaftHeartbeat, args.Term, nil)
	if err != nil {
		return err
	}
	err = g.exchange(l, kindHeartbeat, args, resp)
	g.contacted(node, err)
	return err
}

// await is the lane of a peer, which is waited for; broken is one that is not meant, nil for none.
func (g *Group) await(node string, k mesh.Kind, term uint64, broken *lane) (*lane, error) {
	p := g.t.peer(node)
	if l, _ := p.lane(k); l != nil && l != broken {
		return l, nil
	}
	timer := time.NewTimer(linkWait)
	defer timer.Stop()
	for {
		l, attached := p.lane(k)
		if l != nil && l != broken {
			return l, nil
		}
		raised, current := g.leads(term)
		if !current {
			return nil, about(node, ErrUnreachable)
		}
		select {
		case <-attached:
		case <-raised:
		case <-g.done:
			return nil, g.closed()
		case <-timer.C:
			return nil, about(node, ErrUnreachable)
		}
	}
}

// maxSnapshotBytes bounds what goes with an InstallSnapshot, which is no more than a list of files.
const maxSnapshotBytes = entryBytes

// InstallSnapshot implements raft.Transport. It waits for as long as the follower reports that it is at work.
func (g *Group) InstallSnapshot(_ raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	node := string(target)
	g.lead(args.Term)
	g.installing(node)
	err := g.install(node, args, resp, data)
	g.installed(node, args.LastLogIndex, err == nil && resp.Success)
	return err
}

func (g *Group) install(node string, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	if args.Size < 0 || args.Size > maxSnapshotBytes {
		return about(node, fmt.Errorf("install a snapshot of %d bytes: %w (more than %d)", args.Size, ErrTooLarge, maxSnapshotBytes))
	}
	content := make([]byte, args.Size)
	if _, err := io.ReadFull(data, content); err != nil {
		return about(node, fmt.Errorf("read the snapshot of %d bytes to install: %w", args.Size, err))
	}
	l := g.t.lane(node, mesh.RaftData)
	if l == nil {
		return about(node, ErrUnreachable)
	}
	r := &rpc{response: resp, done: make(chan error, 1)}
	bytes := len(content) + len(args.Configuration) + 128
	if err := g.reserve(l, bytes); err != nil {
		return err
	}
	id, err := g.ask(l, r, answerTimeout)
	if err != nil {
		l.bulk.put(bytes)
		return err
	}
	f := g.t.newFrame(bytes)
	f.fill(kindInstall, bytes, content, func(b []byte) []byte { return putRequest(b, id, g.id, args) })
	l.out.add(f, false)
	return <-r.done
}

// reserve waits until so many bytes may be queued for a peer.
func (g *Group) reserve(l *lane, bytes int) error {
	if l.bulk.take(bytes, l.done, g.done) {
		return nil
	}
	select {
	case <-g.done:
		return g.closed()
	default:
		return about(l.peer.node, ErrUnreachable)
	}
}

// Progress is how far each peer is that this server has sent entries to, by node.
func (g *Group) Progress() []Progress {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]Progress, 0, len(g.followers))
	for node, f := range g.followers {
		list = append(list, Progress{Node: node, Index: f.index, Contact: f.contact, Pending: f.pending})
	}
	slices.SortFunc(list, func(a, b Progress) int { return strings.Compare(a.Node, b.Node) })
	return list
}

// TimeoutNow has the group campaign at once, as if its leader had asked for it. It must be a follower with a vote: raft
// does not ask.
func (t *Transport) TimeoutNow(group uint64) error {
	g := t.group(group)
	if g == nil {
		return fmt.Errorf("raft group %d: %w", group, ErrNoGroup)
	}
	self := newPeer(t.cfg.Node, time.Time{}).header
	if !g.in.push(inbound{kind: kindTimeoutNow, command: &raft.TimeoutNowRequest{RPCHeader: self}}) {
		return fmt.Errorf("raft group %d: %w", group, ErrBusy)
	}
	return nil
}
