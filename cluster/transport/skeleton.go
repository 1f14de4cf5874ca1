package transport

import (
	"context"
	"io"

	"github.com/hashicorp/raft"

	"runnel/cluster/mesh"
)

// Transport carries what the groups of this server and other services have to tell other servers. Its methods may be called by
// any goroutine.
type Transport struct{ cfg Config }

// New makes a transport, without links yet.
func New(cfg Config) *Transport { return &Transport{cfg: cfg} }

// Close ends all links and returns when all goroutines have gone. Groups and calls fail from then on.
func (t *Transport) Close() error { return nil }

// Linked takes over a link of kind RaftData or RaftHeartbeat; others are ignored. It is for mesh.Handler.
func (t *Transport) Linked(l *mesh.Link) { t.Attach(l.Peer, l.Kind, l) }

// Unlinked is told that a link has ended. It is for mesh.Handler.
func (t *Transport) Unlinked(l *mesh.Link, reason error) { t.Detach(l, reason) }

// Attach takes over a link to a peer, in place of one of the same kind. A peer that is not authorized or has
// no node id has its link closed with the reason.
func (t *Transport) Attach(peer mesh.Member, kind mesh.Kind, l Link) {}

// Detach is told that a link has ended.
func (t *Transport) Detach(l Link, reason error) {}

// Group is the transport of one raft group. Its Close takes the group out of the transport: what is under way for it fails
// with ErrClosed, and peers are told that there is no such group. It should be called before raft is shut down, which
// waits for what is under way; raft calls it again afterwards.
type Group struct{ raft.Transport }

// Group makes the transport of a group and has it served from now on. A group that had the id before is closed.
func (t *Transport) Group(id uint64, opts GroupOptions) *Group { return &Group{} }

// Close takes the group out of the transport.
func (g *Group) Close() error { return nil }

// Progress is how far each peer is that this server has sent entries to, by node.
func (g *Group) Progress() []Progress { return nil }

// RequestPreVote implements raft.WithPreVote.
func (g *Group) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return nil
}

// TimeoutNow has the group campaign at once, as if its leader had asked for it. The group must be a follower with a vote.
func (t *Transport) TimeoutNow(group uint64) error { return nil }

// Handle has calls of a service answered by h, in goroutines of their own. Use Serve for other limits than the usual.
func (t *Transport) Handle(service string, h Handler) { t.Serve(service, Service{Handle: h}) }

// Serve is Handle with limits.
func (t *Transport) Serve(service string, s Service) {}

// Call has node answer a request, or fails with ErrUnreachable, ErrBusy, ErrNoService, ErrTooLarge, a *RemoteError or the
// error of ctx. A call to this server itself is answered too.
func (t *Transport) Call(ctx context.Context, node, service string, payload []byte) ([]byte, error) {
	return nil, nil
}

// HandleFetch has streams opened by h.
func (t *Transport) HandleFetch(h FetchHandler) {}

// Fetch opens a stream of what node has under request, from offset on. It returns when the peer has opened it. Reading fails with
// ErrUnreachable when the link breaks; the stream may then be fetched again from where it was. It must be closed.
func (t *Transport) Fetch(ctx context.Context, node string, request []byte, offset int64) (io.ReadCloser, error) {
	return nil, nil
}

// Peers are the servers that there are or were links to, by node.
func (t *Transport) Peers() []PeerView { return nil }

// Reach is who reaches whom now.
func (t *Transport) Reach() Reach { return Reach{} }

// Watch has f told of every peer that is up now and of every change from now on, in order, by one goroutine that holds no
// lock. The function that it returns ends that; f may still be running then.
func (t *Transport) Watch(f func(PeerEvent)) (stop func()) { return func() {} }
