package mesh

import (
	"crypto/subtle"
	"slices"
	"time"
)

// host is where the peer was seen: where it was dialled, or where it has dialled from.
func (s *session) host() string {
	if s.to != nil {
		return s.to.host
	}
	return hostOf(s.conn.RemoteAddr())
}

// keep dials one link of a session, and again whenever it has ended, until the session ends.
func (m *Mesh) keep(s *session, sl slot) {
	attempts := 0
	for s.ctx.Err() == nil {
		l, err := m.open(s, sl)
		if err != nil {
			attempts++
			if n, due := m.moans.due(s.to.addr + gist(err)); due && s.ctx.Err() == nil {
				m.log.Warn("cannot open a link to another server of the cluster", "addr", s.to.addr, "kind", sl.Kind.String(),
					"account", sl.Account, "attempt", n, "reason", err)
			}
		} else {
			<-l.done // also when the session ends
			attempts++
			if time.Since(l.Start) > retryMax {
				attempts = 0
			}
		}
		if !pause(s.ctx, min(retryMax, haste<<min(attempts, 10))) {
			return
		}
	}
}

// open dials one link. It goes where the control link goes, whatever a name stands for by now.
func (m *Mesh) open(s *session, sl slot) (*Link, error) {
	conn, err := m.dial(s.ctx, s.conn.RemoteAddr().String(), s.to.host)
	if err != nil {
		return nil, err
	}
	undo := m.limit(s.ctx, conn)
	t := &talk{conn: conn}
	err = t.send(&frame{Link: &linkage{ID: m.cfg.Self.ID, Session: s.number, Token: s.token, Slot: sl}})
	if err == nil {
		_, err = t.receive(wantReady)
	}
	undo()
	if err != nil {
		t.part(err)
		return nil, err
	}
	return m.hand(s, sl, conn)
}

// sessionOf finds the session that a link asks for, and checks that it may have it.
func (m *Mesh) sessionOf(q *linkage) (*session, *refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[q.ID]
	if s == nil || s.number != q.Session || s.dialled || subtle.ConstantTimeCompare([]byte(s.token), []byte(q.Token)) != 1 {
		return nil, refuse(codeSession, "there is no such session (any more) for this link to belong to")
	}
	if !slices.Contains(s.offer.slots(), q.Slot) {
		return nil, refuse(codeSession, "the two servers have not agreed upon such a link")
	}
	return s, nil
}
