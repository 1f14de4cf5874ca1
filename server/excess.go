package server

import (
	"cmp"
	"slices"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// closeExcess closes the newest connections above most.
func (s *Server) closeExcess(most int) {
	conns := s.oldestFirst()
	if most <= 0 || len(conns) <= most {
		return
	}
	for _, c := range conns[most:] {
		c.Close(engine.ReasonMaxConnections, "maximum connections exceeded")
	}
}

// oldestFirst returns the connections in the order in which they came.
func (s *Server) oldestFirst() []*engine.Conn {
	conns := s.engine.Conns()
	slices.SortFunc(conns, func(a, b *engine.Conn) int { return cmp.Compare(a.ID(), b.ID()) })
	return conns
}

// above tells whether n are more than a limit of an account allows.
func above(n, most int64) bool { return most == accounts.Nothing && n > 0 || most > 0 && n > most }

// closeExcessOf is closeAccountExcess if the account has more than it may; it looks at the other connections only then.
func (s *Server) closeExcessOf(a *accounts.Account) {
	l := a.Limits()
	if above(a.Connections(), l.MaxConnections) || above(a.Subscriptions(), l.MaxSubscriptions) {
		s.closeAccountExcess()
	}
}

// closeAccountExcess closes the newest connections above the lowered limits of their accounts.
func (s *Server) closeAccountExcess() {
	counts := make(map[*accounts.Account]int64)
	for _, c := range s.oldestFirst() {
		a := c.Account()
		if a == nil {
			continue
		}
		counts[a]++
		if above(counts[a], a.Limits().MaxConnections) {
			c.Close(engine.ReasonMaxAccountConnections, "maximum account active connections exceeded")
		}
	}
	s.closeSubscriptionExcess()
}

// closeSubscriptionExcess closes the newest connections with subscriptions, until no account has more than it may.
func (s *Server) closeSubscriptionExcess() {
	for _, c := range slices.Backward(s.oldestFirst()) {
		a := c.Account()
		if a == nil || c.SubscriptionCount() == 0 {
			continue
		}
		if above(a.Subscriptions(), a.Limits().MaxSubscriptions) {
			c.Close(engine.ReasonMaxSubscriptions, "maximum subscriptions exceeded")
		}
	}
}
