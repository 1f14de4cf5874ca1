package mesh

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// session is what two servers have with one another, from the decision on until its context ends.
type session struct {
	conn       net.Conn
	number     uint64
	token      string
	dialled    bool    // by this side, which then dials the links too
	to         *target // whom this side has dialled
	offer      offer   // what both have agreed upon
	compress   Compression
	rtt        atomic.Int64 // nanoseconds
	ctx        context.Context
	cancel     context.CancelCauseFunc
	wake       chan struct{} // the writer has something to do
	configured bool          // it was dialled because of a seed

	// Guarded by the mesh's mutex.
	peer        Member
	known       []Member // whom the peer has sessions with
	established bool
	leaving     bool // the peer has said that it stops
	links       map[slot]*Link
	pulse       pulse
	tell        bool   // the peer has to hear how things are
	pong        uint64 // the ping that has to be answered; 0 for none
	probe       bool   // somebody doubts that the peer is alive
	bye         *bye   // the last thing to write
}

func (m *Mesh) newSession(conn net.Conn, peer *hello, to *target) *session {
	s := &session{
		conn: conn, dialled: to != nil, to: to,
		offer: agreed(m.offer, peer.Offer), compress: compressionOf(m.offer.Compression, peer.Offer.Compression),
		peer: peer.Member, links: map[slot]*Link{}, wake: make(chan struct{}, 1), tell: true,
	}
	s.peer.seenAt(s.host())
	s.ctx, s.cancel = context.WithCancelCause(m.ctx)
	return s
}

// poke makes the writer look what there is to write.
func (s *session) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// dismiss says farewell to the peer, after which the session ends. The mesh's mutex must be held.
func (s *session) dismiss(b *bye) {
	if s.bye == nil {
		s.bye = b
		s.poke()
	}
}

// doubt has the peer asked at once whether it is alive. The mesh's mutex must be held.
func (s *session) doubt() {
	s.probe = true
	s.poke()
}

// decide makes s the session with its peer, if there is none that it would double. have is the last session with
// this server that the peer had and has no more.
func (m *Mesh) decide(s *session, have uint64) *refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.makeRoom(s, func(old *session) bool { return have >= old.number }); r != nil {
		return r
	}
	m.lastNum = max(m.lastNum+1, uint64(time.Now().UnixNano()))
	s.number, s.token = m.lastNum, rand.Text()
	return nil
}

// follow makes s the session with its peer, which has decided so, unless a later decision is known already.
func (m *Mesh) follow(s *session, d *decision) *refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.makeRoom(s, func(old *session) bool { return d.Session > old.number }); r != nil {
		return r
	}
	s.number, s.token = d.Session, d.Token
	if len(m.past) >= maxPast {
		clear(m.past) // costs the deciders among them a ping before they take us again
	}
	m.past[s.peer.ID] = d.Session
	return nil
}

// makeRoom puts s into the place of the session with its peer. One that is there gives way if over says so, or if the
// peer was started after it. The mutex must be held.
func (m *Mesh) makeRoom(s *session, over func(old *session) bool) *refusal {
	if r := m.vet(&s.peer); r != nil {
		return r
	}
	if old := m.sessions[s.peer.ID]; old != nil {
		age := s.peer.Start.Compare(old.peer.Start)
		if age < 0 || age == 0 && !over(old) {
			old.doubt()
			return m.standing(old, age)
		}
		m.end(old, ErrReplaced)
	}
	m.sessions[s.peer.ID] = s
	return nil
}

// maxPast bounds how many deciders are remembered.
const maxPast = 4096

// standing says why a session keeps its place against a newcomer that was started earlier (age < 0) than the peer of
// old, or is the same. The mutex must be held.
func (m *Mesh) standing(old *session, age int) *refusal {
	if age < 0 {
		return m.refuse(codeID, "the server id %s is in use by a server that was started later (%s): is its store a copy?",
			old.peer.ID, old.conn.RemoteAddr())
	}
	return m.refuse(codeDuplicate, "the two servers are connected already")
}

// refuse makes a refusal for one who may know who refuses. The mutex must be held.
func (m *Mesh) refuse(code, format string, args ...any) *refusal {
	r := refuse(code, format, args...)
	r.ID = m.self.ID
	return r
}

// vet says what keeps peer from being a member. The mutex must be held.
func (m *Mesh) vet(peer *Member) *refusal {
	if m.closing {
		return m.refuse(codeClosing, "the server stops")
	}
	if peer.ID == m.self.ID {
		if peer.Start.Equal(m.self.Start) {
			return m.refuse(codeSelf, "a server has dialled itself")
		}
		return m.refuse(codeID, "both servers have the id %s: one has a copy of the other's store", peer.ID)
	}
	if !m.self.Dynamic && !peer.Dynamic && peer.Cluster != m.self.Cluster {
		return m.refuse(codeCluster, "the server %s is in the cluster %q, the server %s in %q: cluster.name must be the same on all servers",
			peer.Name, peer.Cluster, m.self.Name, m.self.Cluster)
	}
	if peer.Name == m.self.Name {
		return m.refuse(codeName, "both servers are named %s: server_name must be different on all servers", peer.Name)
	}
	for _, s := range m.sessions {
		if s.peer.Name == peer.Name && s.peer.ID != peer.ID {
			s.doubt() // perhaps it is the same machine, after a crash
			return m.refuse(codeName, "another server, at %s, is named %s: server_name must be different on all servers",
				s.conn.RemoteAddr(), peer.Name)
		}
	}
	return nil
}

// establish makes s count: both sides know of it now. It is false if s has ended already.
func (m *Mesh) establish(s *session) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.established = true
	for _, l := range s.links {
		m.announce(l)
	}
	m.adopt(&s.peer)
	m.membersChanged()
	return true
}

// adopt takes the name of the cluster from a peer, if this server's yields to it. The mutex must be held.
func (m *Mesh) adopt(peer *Member) {
	if m.self.Dynamic && (!peer.Dynamic || peer.Cluster < m.self.Cluster) {
		m.self.Cluster, m.self.Dynamic = peer.Cluster, peer.Dynamic
		m.membersChanged()
	}
}

// end ends a session and all its links, if it has not ended yet. The mutex must be held, and the caller must be
// among those that Close waits for.
func (m *Mesh) end(s *session, reason error) {
	if s.ctx.Err() != nil {
		return
	}
	s.cancel(reason)
	conns := []net.Conn{s.conn}
	for _, l := range s.links {
		conns = append(conns, l.Conn)
		m.forget(l, reason)
	}
	for _, c := range conns {
		m.wg.Go(func() { c.Close() }) // with TLS it may take seconds
	}
	if m.sessions[s.peer.ID] != s {
		return
	}
	delete(m.sessions, s.peer.ID)
	if s.established {
		m.membersChanged()
	}
	if !s.leaving && !errors.Is(reason, ErrReplaced) {
		m.learn(&s.peer)
	}
}

// forget takes a link out of the tables. The mutex must be held.
func (m *Mesh) forget(l *Link, reason error) {
	l.closed = true
	close(l.done)
	delete(m.links, l.ID)
	if l.session.links[l.slot] == l {
		delete(l.session.links, l.slot)
	}
	if l.told {
		m.post(event{link: l, ended: true, reason: reason})
	}
}

// unlink ends one link.
func (m *Mesh) unlink(l *Link, reason error) {
	m.mu.Lock()
	closed := l.closed
	if !closed {
		m.forget(l, reason)
	}
	m.mu.Unlock()
	if !closed {
		l.Conn.Close()
	}
}

// run carries an established session until it ends.
func (m *Mesh) run(s *session) {
	m.mu.Lock()
	log := m.log.With("server", s.peer.Name, "id", s.peer.ID, "addr", s.conn.RemoteAddr().String())
	m.mu.Unlock()
	log.Info("connected with another server of the cluster", "dialled", s.dialled)
	m.wg.Go(func() { m.endSession(s, m.writeControl(s)) })
	if s.dialled {
		for _, sl := range s.offer.slots() {
			m.wg.Go(func() { m.keep(s, sl) })
		}
	}
	m.endSession(s, m.readControl(s))
	reason := context.Cause(s.ctx)
	level := slog.LevelWarn
	if errors.Is(reason, ErrClosed) || errors.Is(reason, ErrReplaced) || errors.Is(reason, ErrGone) {
		level = slog.LevelInfo
	}
	log.Log(context.Background(), level, "the connection with another server of the cluster has ended", "reason", reason)
}

// abandon ends a session that has not got through its handshake.
func (m *Mesh) abandon(s *session, reason error) {
	if s != nil {
		m.endSession(s, reason)
	}
}

func (m *Mesh) endSession(s *session, reason error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end(s, reason)
}
