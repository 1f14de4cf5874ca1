package mesh

import (
	"context"
	"net"
	"time"
)

// Link is an established connection to another server. Its bytes belong to whom it was handed to; the mesh never
// reads or writes them. It is closed through its own Close, also by who has taken the connection below out of it.
//
// A link that is neither encrypted nor compressed holds the connection as it was dialled or accepted (a
// *net.TCPConn), of which no byte has been read that belongs to its user.
type Link struct {
	net.Conn

	// ID counts the links of this mesh, from 1.
	ID uint64
	// Peer is the server at the other end, as it was when the link was made.
	Peer Member
	// Kind says what the link is for.
	Kind Kind
	// Pool is the number of a route in its pool, below PoolSize, which is the same at both ends. A route with an
	// Account is in no pool.
	Pool, PoolSize int
	// Account is the account that the route is reserved for; empty for a route of the pool and other kinds.
	Account string
	// Accounts are those that have routes of their own to this peer, whether they are there at the moment or not. It must not
	// be changed.
	Accounts []string
	// Dialled says that this server has dialled it, Configured that it did so because of a seed.
	Dialled, Configured bool
	// Start is when it was established.
	Start time.Time

	mesh        *Mesh
	session     *session
	slot        slot
	compression Compression // how this side writes
	told        bool        // the handler knows of it, or will before anything else; guarded by the mesh's mutex
	closed      bool        // likewise
	done        chan struct{}
}

// Close closes the link. The mesh calls Unlinked for it, and the server that has dialled it dials another. A second
// call does nothing, and none fails.
func (l *Link) Close() error {
	l.CloseWith(nil)
	return nil
}

// CloseWith is Close with the reason, which Unlinked is told.
func (l *Link) CloseWith(reason error) { l.mesh.unlink(l, reason) }

// RTT is the round trip time between the two servers, as the last ping measured it; 0 if none has yet.
func (l *Link) RTT() time.Duration { return time.Duration(l.session.rtt.Load()) }

// Compression is how this side compresses what it writes at the moment: "off", "s2_fast" and so on.
func (l *Link) Compression() string { return string(l.level()) }

// level is the compression that is due now.
func (l *Link) level() Compression {
	if l.compression == CompressionAuto {
		return autoLevel(l.mesh.cfg.RTTThresholds, l.RTT())
	}
	return l.compression
}

// WriteBuffers writes all buffers, in one go if the link is plain TCP, and compressed as one if it is compressed. It
// takes from the slice what it has written. Like Write it may be called by one goroutine at a time.
func (l *Link) WriteBuffers(bufs *net.Buffers) (int64, error) {
	c, ok := l.Conn.(*compressor)
	if !ok {
		return bufs.WriteTo(l.Conn)
	}
	n, err := c.writeAll(*bufs)
	if err == nil {
		*bufs = (*bufs)[len(*bufs):]
	}
	return n, err
}

// hand makes a link of a connection and hands it over. If its place in the session is taken, the peer has lost
// the old link, which this side has not noticed yet.
func (m *Mesh) hand(s *session, sl slot, conn net.Conn) (*Link, error) {
	l := &Link{
		Conn: conn, Kind: sl.Kind, Pool: sl.Pool, PoolSize: s.offer.Pool, Account: sl.Account, Accounts: s.offer.Accounts,
		Dialled: s.dialled, Configured: s.configured, Start: time.Now(),
		mesh: m, session: s, slot: sl, compression: s.compress, done: make(chan struct{}),
	}
	if s.compress != CompressionOff {
		l.Conn = newCompressor(conn, l.level)
	}
	old, err := m.enter(l)
	if err != nil {
		conn.Close()
		return nil, err
	}
	if old != nil {
		old.Conn.Close()
	}
	return l, nil
}

// enter puts a link into the tables, in place of the one that is returned.
func (m *Mesh) enter(l *Link) (old *Link, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := l.session
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	old = s.links[l.slot]
	if old != nil {
		m.forget(old, ErrReplaced)
	}
	m.lastLink++
	l.ID, l.Peer = m.lastLink, s.peer.clone()
	s.links[l.slot] = l
	if s.established {
		m.announce(l)
	}
	return old, nil
}

// announce lets the handler know of a link. The mutex must be held. A link can be there before its session is
// established on this side; who is no member yet has no links that anybody is told of.
func (m *Mesh) announce(l *Link) {
	l.told = true
	m.links[l.ID] = l
	m.post(event{link: l})
}
