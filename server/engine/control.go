package engine

import (
	"errors"
	"strings"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine/lines"
	"runnel/server/wire"
	"runnel/subjects"
)

var (
	okLine   = []byte("+OK\r\n")
	pingLine = []byte("PING\r\n")
	pongLine = []byte("PONG\r\n")
)

// control handles every frame but a message of a client that is known already.
func (w *worker) control(c *Conn, f *wire.Frame) error {
	if f.Verb == wire.VerbConnect {
		return w.connect(c, f.Args)
	}
	if f.Verb == wire.VerbErr {
		return w.refuse(c, ReasonClientClosed, "")
	}
	if w.profile == nil {
		// Whoever says something else first has no credentials to show; some need none.
		if err := w.identify(c, wire.Connect{}); err != nil {
			return err
		}
	}
	switch f.Verb {
	case wire.VerbPub, wire.VerbHPub:
		return w.publish(c, f)
	case wire.VerbSub:
		return w.subscribe(c, f)
	case wire.VerbUnsub:
		w.unsubscribe(c, f)
	case wire.VerbPing:
		w.ping(c)
	case wire.VerbPong:
		c.pulse.Pong(time.Now())
	}
	return nil
}

// ping answers PING. The first one of a client that takes INFO at any time is followed by one that tells
// what it was bound to.
func (w *worker) ping(c *Conn) {
	w.reply(c, pongLine)
	if w.flags&flagAsyncInfo == 0 || w.flags&flagInfoSent != 0 {
		return
	}
	c.set(flagInfoSent, true)
	w.flags |= flagInfoSent
	info := w.engine.handler.Info(c)
	info.ConnectInfo = true
	w.reply(c, info.Append(nil))
}

// connect handles CONNECT, the first one and any later.
func (w *worker) connect(c *Conn, args []byte) error {
	o, err := wire.ParseConnect(args)
	if err != nil {
		w.engine.logger.Error("protocol error", "cid", c.ID(), "error", err.Error())
		return w.refuse(c, ReasonProtocolViolation, "")
	}
	if o.Protocol < wire.ProtocolZero || o.Protocol > wire.ProtocolInfo {
		return w.refuse(c, ReasonProtocolVersion, "invalid client protocol")
	}
	o.Headers = o.Headers && !w.engine.settings.Load().NoHeaders
	if o.NoResponders && !o.Headers {
		return w.refuse(c, ReasonNoRespondersHeaders, "no responders requires headers support")
	}
	fillCookies(&o, &c.meta.Cookies)
	c.introduce(&o)
	if w.engine.handler.MayBlock(c, &o) {
		return w.suspend(c, o)
	}
	if err := w.identify(c, o); err != nil {
		return err
	}
	w.connected(c)
	return nil
}

// fillCookies completes CONNECT from what a browser sent as cookies.
func fillCookies(o, cookies *wire.Connect) {
	for _, m := range []struct{ to, from *string }{
		{&o.User, &cookies.User},
		{&o.Password, &cookies.Password},
		{&o.Token, &cookies.Token},
		{&o.JWT, &cookies.JWT},
	} {
		if *m.to == "" {
			*m.to = *m.from
		}
	}
}

// introduce takes over what a client says about itself and asks for.
func (c *Conn) introduce(o *wire.Connect) {
	c.set(flagVerbose, o.Verbose)
	c.set(flagPedantic, o.Pedantic)
	c.set(flagNoEcho, !o.Echo)
	c.set(flagHeaders, o.Headers)
	c.set(flagNoResponders, o.NoResponders)
	c.set(flagAsyncInfo, o.Protocol >= wire.ProtocolInfo)
	c.pulse.Introduced(time.Since(c.meta.Start))
	c.mu.Lock()
	defer c.mu.Unlock()
	// Clones, since the parts of a JSON text keep the whole alive.
	c.client = Client{strings.Clone(o.Name), c.engine.names.Intern(o.Lang), c.engine.names.Intern(o.Version)}
}

// errGone: there is nobody left to let in.
var errGone = errors.New("connection has ended")

// authResult is what a check of credentials off the reading worker came to.
type authResult struct {
	identity *accounts.Identity
	err      error
}

// suspend checks credentials on a goroutine of its own, since that may take long, and has the connection
// wait for it.
func (w *worker) suspend(c *Conn, o wire.Connect) error {
	e := w.engine
	c.set(flagSuspended, true)
	w.flush()
	e.running.Go(func() {
		r := e.authenticate(c, &o)
		c.mu.Lock()
		c.pending = r
		c.mu.Unlock()
		c.line.Wake()
	})
	return lines.ErrSuspended
}

// authenticate checks credentials when it is their turn: a check is made to cost time, and many at once would keep
// the processors from everything else and all end too late. Who has gone meanwhile costs nothing.
func (e *Engine) authenticate(c *Conn, o *wire.Connect) *authResult {
	e.checks <- struct{}{}
	defer func() { <-e.checks }()
	if c.isClosing() {
		return &authResult{err: errGone}
	}
	id, err := e.handler.Authenticate(c, o)
	return &authResult{id, err}
}

// MayWait tells whether Authenticate was called for c on a goroutine of its own, so that it may wait for others.
func (c *Conn) MayWait() bool { return c.has(flagSuspended) }

// Aside calls wait, and lets credentials of other connections be checked meanwhile: for an Authenticate that asks
// somebody else, and only where [Conn.MayWait] says that it may.
func (e *Engine) Aside(wait func()) {
	<-e.checks
	defer func() { e.checks <- struct{}{} }()
	wait()
}

// suspended tells whether c still waits for the check of its credentials. Called by the transport's reader.
func (c *Conn) suspended() bool {
	if !c.has(flagSuspended) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending == nil
}

// resume takes over the result of the check that suspended c.
func (w *worker) resume(c *Conn) error {
	c.mu.Lock()
	r := c.pending
	c.pending = nil
	c.mu.Unlock()
	c.set(flagSuspended, false)
	w.adopt(c)
	if err := w.bind(c, r.identity, r.err); err != nil {
		return err
	}
	w.connected(c)
	return nil
}

// identify finds out who c is, without blocking.
func (w *worker) identify(c *Conn, o wire.Connect) error {
	id, err := w.engine.handler.Authenticate(c, &o)
	return w.bind(c, id, err)
}

// Refusal is an error of [Handler.Authenticate] that names what the client is told and what monitoring
// shows. Any other error is an authorization violation.
type Refusal struct {
	Reason Reason
	Text   string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// bind gives c the identity that its credentials earned, or ends it.
func (w *worker) bind(c *Conn, id *accounts.Identity, err error) error {
	if err != nil {
		if r, ok := errors.AsType[*Refusal](err); ok {
			return w.refuse(c, r.Reason, r.Text)
		}
		return w.refuse(c, ReasonAuthFailure, "Authorization Violation")
	}
	if err := w.engine.handler.Admit(c, id); err != nil {
		return w.bind(c, nil, err)
	}
	if old := c.identity.Load(); c.has(flagConnectSeen) || old != nil && old.Profile != id.Profile {
		// Who logs in again begins anew: what there is was permitted to somebody else, and other clients'
		// match entries know it as theirs.
		c.removeAllSubscriptions()
	}
	c.bind(id)
	w.engine.settle(id.Account)
	w.engine.handler.Bound(c)
	if c.isClosing() {
		return errors.New(c.Reason().String()) // a reload came between: nothing that it has sent is carried out
	}
	w.adopt(c)
	return nil
}

// connected ends the handling of a CONNECT that was accepted.
func (w *worker) connected(c *Conn) {
	first := !c.has(flagConnectSeen)
	c.set(flagConnectSeen, true)
	w.adopt(c)
	if w.flags&flagVerbose != 0 {
		w.reply(c, okLine)
	}
	if first {
		w.engine.handler.Connected(c)
	}
}

// Rebind makes c, which had the identity old when the caller looked, a connection of id, which old has become by a
// reload: of the same account. It does nothing and returns false when c has another identity by now.
func (c *Conn) Rebind(old, id *accounts.Identity) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity.Load() != old {
		return false
	}
	c.bindLocked(id)
	return true
}

// bind makes c a connection of this identity, which it has logged in with.
func (c *Conn) bind(id *accounts.Identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replies.Store(nil)
	c.bindLocked(id)
}

// bindLocked keeps the answers that c owes, if it may answer as before.
func (c *Conn) bindLocked(id *accounts.Identity) {
	if r := id.Profile.Responses(); r == nil {
		c.replies.Store(nil)
	} else if c.replies.Load() == nil || *c.identity.Load().Profile.Responses() != *r {
		c.replies.Store(accounts.NewResponses(*r))
	}
	c.identity.Store(id)
	c.profile.Store(id.Profile)
	c.set(flagIdentified, true)
}

// subscribe handles SUB.
func (w *worker) subscribe(c *Conn, f *wire.Frame) error {
	subject, queue, sid := string(f.Subject), string(f.Queue), string(f.SID)
	if !subjects.ValidPattern(subject) {
		w.reply(c, wire.AppendErr(nil, "Invalid Subject"))
		return nil
	}
	s := w.engine.settings.Load()
	if most := s.MaxSubscriptionTokens; most > 0 && subjects.TokenCount(subject) > most {
		w.reply(c, wire.AppendErr(nil, "Permissions Violation for Subscription to \""+subject+"\", too many tokens"))
		return nil
	}
	if !w.profile.CanSubscribe(subject, queue) {
		w.denySubscription(c, subject, queue)
		return nil
	}
	switch err := c.addSubscription(w.profile, subject, queue, sid, c.maxSubscriptions(s)); {
	case errors.Is(err, errOutdated):
		w.adopt(c)
		return w.subscribe(c, f)
	case err != nil:
		w.reply(c, wire.AppendErr(nil, "maximum subscriptions exceeded"))
		w.engine.logger.Error("maximum subscriptions exceeded", "cid", c.ID(), "subject", subject)
	case w.flags&flagVerbose != 0:
		w.reply(c, okLine)
	}
	return nil
}

func (w *worker) denySubscription(c *Conn, subject, queue string) {
	text := SubscriptionViolation(subject, queue, "")
	w.reply(c, wire.AppendErr(nil, text))
	w.engine.logger.Error("permissions violation", "cid", c.ID(), "user", c.User(),
		"attempt", "Subscription to", "subject", subject, "queue", queue)
}

// SubscriptionViolation is the error text for a subscription that is not, or no longer, permitted. sid is
// named only for one that existed.
func SubscriptionViolation(subject, queue, sid string) string {
	text := "Permissions Violation for Subscription to \"" + subject + "\""
	if queue != "" {
		text += " using queue \"" + queue + "\""
	}
	if sid != "" {
		text += " (sid \"" + sid + "\")"
	}
	return text
}

// unsubscribe handles UNSUB.
func (w *worker) unsubscribe(c *Conn, f *wire.Frame) {
	if sub := c.subscription(f.SID); sub != nil && sub.SetLimit(int64(f.Max)) {
		c.removeSubscription(sub)
	}
	if w.flags&flagVerbose != 0 {
		w.reply(c, okLine)
	}
}

// validPublish tells whether a pedantic client may publish to subject.
func validPublish(subject []byte) bool { return subjects.ValidLiteral(string(subject)) }
