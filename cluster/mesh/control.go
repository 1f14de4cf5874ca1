package mesh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"
)

// maxMembers bounds whom one peer may tell of.
const maxMembers = 1000

// pulse is how the pings of a session stand.
type pulse struct {
	number  uint64 // of the last ping
	sent    time.Time
	waiting int // pings since the last answer
}

// next counts a ping. It is false if max of them stand without an answer.
func (p *pulse) next(now time.Time, most int) bool {
	if p.waiting >= most {
		return false
	}
	p.number++
	p.waiting++
	p.sent = now
	return true
}

// answered takes the answer to a ping, and returns the round trip time if it is the answer to the last one.
func (p *pulse) answered(number uint64, now time.Time) (rtt time.Duration, ok bool) {
	p.waiting = 0
	return now.Sub(p.sent), number == p.number && number != 0
}

// writeControl writes what there is to write on the control link of s, until it fails or s ends.
func (m *Mesh) writeControl(s *session) error {
	ping := time.NewTimer(0)
	defer ping.Stop()
	doubt := time.NewTimer(m.cfg.HandshakeTimeout)
	doubt.Stop()
	suspect := false
	for {
		due := false
		select {
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		case <-doubt.C:
			return ErrStale
		case <-ping.C:
			due = true
			ping.Reset(jitter(m.cfg.PingInterval))
		case <-s.wake:
		}
		frames, d, ok := m.due(s, due)
		if !ok {
			return ErrStale
		}
		if d != unchanged && suspect != (d == doubted) {
			suspect = d == doubted
			doubt.Stop()
			if suspect {
				doubt.Reset(m.cfg.HandshakeTimeout)
			}
		}
		for _, f := range frames {
			s.conn.SetWriteDeadline(time.Now().Add(m.cfg.PingInterval))
			if err := writeFrame(s.conn, f, false); err != nil {
				return err
			}
			if f.Bye != nil {
				return f.Bye.err
			}
		}
	}
}

// suspicion is whether the peer of a session is thought to be dead.
type suspicion int

const (
	unchanged suspicion = iota
	doubted             // it must answer soon
	cleared             // it has
)

// due takes what there is to write to s. It is not ok if the peer has left too many pings without an answer.
func (m *Mesh) due(s *session, ping bool) (frames []*frame, d suspicion, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.pulse.waiting == 0 {
		d = cleared
	}
	if s.probe {
		s.probe = false
		if s.pulse.waiting == 0 {
			ping = true
		}
		d = doubted
	}
	if s.pong != 0 {
		frames = append(frames, &frame{Pong: s.pong})
		s.pong = 0
	}
	if ping {
		if !s.pulse.next(time.Now(), m.cfg.PingMax) {
			return nil, d, false
		}
		frames = append(frames, &frame{Ping: s.pulse.number})
	}
	if s.tell {
		s.tell = false
		frames = append(frames, &frame{State: &state{Self: m.self.clone(), Members: m.others(s)}})
	}
	if s.bye != nil {
		frames = append(frames, &frame{Bye: s.bye})
	}
	return frames, d, true
}

// readControl reads the control link of s until it ends, and returns why.
func (m *Mesh) readControl(s *session) error {
	for {
		f, err := readFrame(s.conn, stateBytes)
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("the other server closed the connection")
		case err != nil:
			return err
		case f.State != nil:
			if err := m.hear(s, f.State); err != nil {
				return err
			}
		case f.Bye != nil:
			return m.dismissed(s, f.Bye)
		default:
			m.pinged(s, f)
		}
	}
}

// pinged takes a ping or the answer to one. Frames of other versions of the protocol are skipped.
func (m *Mesh) pinged(s *session, f *frame) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.Ping != 0 {
		s.pong = f.Ping
	}
	if f.Pong != 0 {
		if rtt, ok := s.pulse.answered(f.Pong, time.Now()); ok {
			s.rtt.Store(int64(rtt))
		}
	}
	s.poke()
}

// dismissed takes the farewell of a peer.
func (m *Mesh) dismissed(s *session, b *bye) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.leaving = b.Leaving
	if b.Leaving {
		return ErrGone
	}
	return fmt.Errorf("the other server ended the connection: %s", clipText(b.Reason))
}

// hear takes what a peer says of itself and of others.
func (m *Mesh) hear(s *session, st *state) error {
	if err := st.Self.check(); err != nil {
		return err
	}
	if st.Self.ID != s.peer.ID || len(st.Members) > maxMembers {
		return errors.New("the other server claims to be another, or to know too many")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	next := st.Self
	next.Start, next.Name, next.Node = s.peer.Start, s.peer.Name, s.peer.Node
	next.seenAt(s.host())
	m.adopt(&next)
	if !m.self.Dynamic && !next.Dynamic && next.Cluster != m.self.Cluster {
		r := refuse(codeCluster, "the server %s has come into the cluster %q, the server %s is in %q: cluster.name must be the same on all servers",
			next.Name, next.Cluster, m.self.Name, m.self.Cluster)
		s.dismiss(&bye{Reason: r.Text, err: r})
		return nil
	}
	if !reflect.DeepEqual(s.peer, next) {
		s.peer = next
		m.membersChanged()
	}
	s.known = s.known[:0]
	for i := range st.Members {
		if st.Members[i].check() == nil {
			s.known = append(s.known, st.Members[i])
			m.learn(&st.Members[i])
		}
	}
	return nil
}
