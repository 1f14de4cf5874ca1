package mesh

import "net"

// Decide has m decide about a session with a peer that knew the session have last. It returns the number of the session
// and the code of the refusal.
func (m *Mesh) Decide(peer Member, have uint64) (number uint64, code string) {
	s := m.stranger(peer)
	if r := m.decide(s, have); r != nil {
		return 0, r.Code
	}
	return s.number, ""
}

// Follow has m follow a peer that has decided so. It returns the code of the refusal.
func (m *Mesh) Follow(peer Member, number uint64) (code string) {
	if r := m.follow(m.stranger(peer), &decision{Session: number}); r != nil {
		return r.Code
	}
	return ""
}

// stranger is a session that has come as far as the decision.
func (m *Mesh) stranger(peer Member) *session {
	near, _ := net.Pipe()
	return m.newSession(near, &hello{Member: peer}, nil)
}

// ReadHandshake reads the frames of a handshake until there is one that cannot be read, and returns how many could.
func ReadHandshake(conn net.Conn) (frames int, err error) {
	t := &talk{conn: conn, accepted: true}
	for ; err == nil; frames++ {
		_, err = t.receive(func(*frame) bool { return true })
	}
	return frames - 1, err
}
