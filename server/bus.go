package server

import (
	"fmt"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/system"
	"runnel/server/wire"
)

// bus lets the system services talk to clients.
type bus struct{ s *Server }

// Publish implements system.Bus.
func (b bus) Publish(account, subject, reply string, header, payload []byte) {
	if a := b.s.state.Load().policy.Account(account); a != nil {
		b.s.engine.Publish(a, subject, reply, header, payload)
	}
}

// everywhere is a subscription of the system services in every account.
type everywhere struct {
	pattern string
	local   bool // clients of other servers do not get there
	handler func(system.Request)
	in      map[*accounts.Account]*engine.Internal
}

// subscribed are those subscriptions. A reload extends them to new accounts.
type subscribed []*everywhere

// Subscribe implements system.Bus.
func (b bus) Subscribe(account, pattern string, handler func(system.Request)) (cancel func(), err error) {
	return b.subscribe(account, &everywhere{pattern: pattern, handler: handler})
}

// SubscribeLocal implements system.Bus.
func (b bus) SubscribeLocal(account, pattern string, handler func(system.Request)) (cancel func(), err error) {
	return b.subscribe(account, &everywhere{pattern: pattern, local: true, handler: handler})
}

func (b bus) subscribe(account string, e *everywhere) (cancel func(), err error) {
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.state.Load().policy
	if account != system.EveryAccount {
		a := p.Account(account)
		if a == nil {
			return nil, fmt.Errorf("subscribe to %q: no account %q", e.pattern, account)
		}
		return s.subscribeIn(a, e).Unsubscribe, nil
	}
	e.in = make(map[*accounts.Account]*engine.Internal)
	for a := range p.Accounts() {
		e.in[a] = s.subscribeIn(a, e)
	}
	s.subscribed = append(s.subscribed, e)
	return func() { s.cancel(e) }, nil
}

// cancel ends a subscription in every account. What was handed to the handler before is still on its way.
func (s *Server) cancel(e *everywhere) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range e.in {
		i.Unsubscribe()
	}
	e.in = nil
}

// extend subscribes the system services in accounts that have come and ends it in those that have gone. s.mu
// is held.
func (s *Server) extend(p *accounts.Policy) {
	for _, e := range s.subscribed {
		if e.in == nil {
			continue // cancelled
		}
		for a, i := range e.in {
			if p.Account(a.Name()) != a {
				i.Unsubscribe()
				delete(e.in, a)
			}
		}
		for a := range p.Accounts() {
			if e.in[a] == nil {
				e.in[a] = s.subscribeIn(a, e)
			}
		}
	}
}

// requestBytes bounds a question to a system service, since many may wait for an answer. None is nearly as large.
const requestBytes = 64 << 10

// subscribeIn subscribes in one account. The handler runs on the worker of the publisher: the system services
// only file the request there.
func (s *Server) subscribeIn(a *accounts.Account, e *everywhere) *engine.Internal {
	subscribe := s.engine.SubscribeService
	if e.local {
		subscribe = s.engine.SubscribeLocal
	}
	return subscribe(a, e.pattern, func(m *engine.Message) {
		if len(m.Header)+len(m.Payload) > requestBytes {
			return
		}
		m = m.Clone()
		r := system.Request{
			Account: a.Name(), Subject: string(m.Subject), Reply: string(m.Reply), Header: m.Header, Payload: m.Payload,
		}
		if m.From != nil {
			r.Requester = s.requester(m.From)
		}
		e.handler(r)
	})
}

// requester is who published a message, for services that answer each account about itself only.
func (s *Server) requester(c *engine.Conn) system.Requester {
	id := c.Identity()
	if id == nil {
		return system.Requester{CID: c.ID()}
	}
	r := system.Requester{
		CID:         c.ID(),
		Account:     id.Account.Name(),
		AccountName: s.labelOf(id.Account),
		User:        id.DisplayName(),
		Permissions: shownPermissions(id.Profile.Definition()),
	}
	if g := id.Grant; g != nil && !g.Expires.IsZero() {
		r.Expires = max(time.Second, time.Until(g.Expires).Round(time.Second))
	}
	if l := loginOf(id); l != nil {
		r.UserName = l.user.Name()
	}
	return r
}

// shownPermissions is what $SYS.REQ.USER.INFO says a user may do: the definition, not what was made of it.
func shownPermissions(p *accounts.Permissions) *system.Permissions {
	if p == nil {
		return nil
	}
	out := &system.Permissions{Publish: shownRules(p.Publish), Subscribe: shownRules(p.Subscribe)}
	if r := p.Responses; r != nil {
		out.Responses = &system.ResponsePermissions{MaxMsgs: r.Max, Expires: r.Expires}
	}
	return out
}

// shownRules is nil without rules, so that the answer leaves the member out instead of showing an empty one.
func shownRules(r accounts.Rules) *system.SubjectPermissions {
	if len(r.Allow)+len(r.Deny) == 0 {
		return nil
	}
	return &system.SubjectPermissions{Allow: r.Allow, Deny: r.Deny}
}

// actions are the changes that the system services can ask for.
type actions struct{ s *Server }

// Reload implements system.Actions.
func (a actions) Reload() ([]string, error) {
	reload := a.s.reloadFile
	if f := a.s.reload.Load(); f != nil {
		reload = *f
	}
	changes, err := reload()
	var applied []string
	for _, c := range changes {
		if c.Reloadable {
			applied = append(applied, c.String())
		}
	}
	return applied, err
}

// Kick implements system.Actions.
func (a actions) Kick(cid uint64) bool {
	c := a.s.engine.Conn(cid)
	if c != nil {
		c.Close(engine.ReasonKicked, "")
	}
	return c != nil
}

// SendLameDuck implements system.Actions.
func (a actions) SendLameDuck(cid uint64) bool {
	c := a.s.engine.Conn(cid)
	if c == nil {
		return false
	}
	info := a.s.Info(c)
	info.LameDuckMode = true
	a.s.sendInfo(c, info)
	return true
}

// sendInfo tells c something new about the server, if it takes that.
func (s *Server) sendInfo(c *engine.Conn, info wire.Info) {
	if c.TakesInfo() {
		c.Send(info.Append(nil))
	}
}
