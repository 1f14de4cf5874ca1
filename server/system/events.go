package system

import (
	"context"
	"time"

	"runnel/server/monitor"
	"runnel/subjects"
)

const (
	// statszInterval is how often a server publishes its figures. It begins at statszFirst and doubles, so
	// that a new server is seen soon.
	statszInterval = 10 * time.Second
	statszFirst    = time.Second
	// statszSpacing is the shortest time between two, however often connections come and go.
	statszSpacing = time.Second
	// connsInterval is how often the connections of every account in use are published, besides on a change.
	connsInterval = 30 * time.Second
)

// The types of events, as tools know them.
const (
	typeConnect    = "io.nats.server.advisory.v1.client_connect"
	typeDisconnect = "io.nats.server.advisory.v1.client_disconnect"
	typeConns      = "io.nats.server.advisory.v1.account_connections"
)

// eventKind is what happened to a connection.
type eventKind int

const (
	connected eventKind = iota
	disconnected
	refused
	refusedThere
)

// event is something to publish.
type event struct {
	kind eventKind
	at   time.Time
	conn monitor.Connection
}

// Connected publishes that a client has logged in.
func (s *System) Connected(c monitor.Connection) { s.file(connected, c) }

// Disconnected publishes that a client that had logged in is gone: Stop and Reason of the connection are set.
func (s *System) Disconnected(c monitor.Connection) { s.file(disconnected, c) }

// AuthError publishes that a client was refused.
func (s *System) AuthError(c monitor.Connection) { s.file(refused, c) }

// AuthErrorThere tells an account, whose service has decided about a client, that it was refused: Account and Reason of
// the connection are set.
func (s *System) AuthErrorThere(c monitor.Connection) { s.file(refusedThere, c) }

func (s *System) file(kind eventKind, c monitor.Connection) {
	s.events.put(event{kind: kind, at: time.Now().UTC(), conn: c})
}

// LameDuck publishes, before it returns, that the server is going to send its clients away.
func (s *System) LameDuck() { s.publishServer("LAMEDUCK") }

// Goodbye publishes, before it returns, that the server is about to end.
func (s *System) Goodbye() { s.publishServer("SHUTDOWN") }

func (s *System) publishServer(what string) {
	info := s.serverInfo()
	s.publish("$SYS.SERVER."+info.ID+"."+what, info)
}

// publish sends a message to the system account, if there is one. An account whose name cannot be part of a
// subject has no events.
func (s *System) publish(subject string, v any) {
	account := s.cfg.Pages.Identity().SystemAccount
	if account != "" && subjects.ValidPattern(subject) {
		s.cfg.Bus.Publish(account, subject, "", nil, s.encode(v))
	}
}

// publishEvents publishes what happens and what is due, until ctx ends.
func (s *System) publishEvents(ctx context.Context) {
	conns := time.NewTicker(connsInterval)
	defer conns.Stop()
	pulse := newPulse()
	defer pulse.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.events.wake:
			if s.publishFiled(ctx) {
				pulse.hasten()
			}
		case <-pulse.timer.C:
			pulse.next()
			s.publish("$SYS.SERVER."+s.cfg.Pages.Identity().ID+".STATSZ", s.statszMessage())
		case <-conns.C:
			s.publishAllConns()
		}
	}
}

// publishFiled publishes the events that were filed, and then once for each account how many connections it
// now has. It reports whether that changed for any.
func (s *System) publishFiled(ctx context.Context) bool {
	changed := map[string]bool{}
	s.events.each(ctx, s.cfg.Logger, func(e event) {
		switch e.kind {
		case connected:
			s.publish("$SYS.ACCOUNT."+e.conn.Account+".CONNECT", s.connectEvent(&e))
			changed[e.conn.Account] = true
		case disconnected:
			s.publish("$SYS.ACCOUNT."+e.conn.Account+".DISCONNECT", s.disconnectEvent(&e))
			changed[e.conn.Account] = true
		case refused:
			s.publish("$SYS.SERVER."+s.cfg.Pages.Identity().ID+".CLIENT.AUTH.ERR", s.disconnectEvent(&e))
		case refusedThere:
			s.cfg.Bus.Publish(e.conn.Account, "$SYS.ACCOUNT.CLIENT.AUTH.ERR", "", nil, s.encode(s.disconnectEvent(&e)))
		}
	})
	for name := range changed {
		if a, ok := s.cfg.Pages.AccountFigures(name); ok {
			s.publishConns(a)
		}
	}
	return len(changed) > 0
}

func (s *System) publishAllConns() {
	accounts, err := s.cfg.Pages.Accstatz(monitor.AccstatzOptions{})
	if err != nil {
		s.cfg.Logger.Error("figures of accounts", "error", err)
		return
	}
	for _, a := range accounts.Accounts {
		s.publishConns(a)
	}
}

// publishConns publishes an account's figures, on the old subject too.
func (s *System) publishConns(a monitor.Account) {
	e := s.connsEvent(a)
	s.publish("$SYS.ACCOUNT."+a.Name+".SERVER.CONNS", e)
	s.publish("$SYS.SERVER.ACCOUNT."+a.Name+".CONNS", e)
}

// pulse says when the server's figures are due.
type pulse struct {
	timer     *time.Timer
	interval  time.Duration
	last, due time.Time
}

func newPulse() *pulse {
	now := time.Now()
	return &pulse{timer: time.NewTimer(statszFirst), interval: statszFirst, last: now, due: now.Add(statszFirst)}
}

// next plans the regular time after this one.
func (p *pulse) next() {
	p.interval = min(p.interval*2, statszInterval)
	p.last = time.Now()
	p.due = p.last.Add(p.interval)
	p.timer.Reset(p.interval)
}

// hasten makes the figures due as soon as the spacing allows.
func (p *pulse) hasten() {
	if at := p.last.Add(statszSpacing); at.Before(p.due) {
		p.due = at
		p.timer.Reset(time.Until(at))
	}
}
