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

// closeAccountExcess closes the newest connections above the lowered limits of their accounts.
func (s *Server) closeAccountExcess() {
	counts := make(map[*accounts.Account]int64)
	for _, c := range s.oldestFirst() {
		a := c.Account()
		if a == nil {
			continue
		}
		counts[a]++
		if most := a.Limits().MaxConnections; most == accounts.Nothing || most > 0 && counts[a] > most {
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
		most := a.Limits().MaxSubscriptions
		if most == accounts.Nothing || most > 0 && a.Subscriptions() > most {
			c.Close(engine.ReasonMaxSubscriptions, "maximum subscriptions exceeded")
		}
	}
}
