package server

import (
	"errors"
	"fmt"

	"runnel/conf"
	"runnel/server/accounts"
	"runnel/server/engine"
)

// Reload makes the server run with other options, which it takes over, without dropping connections that may
// stay. It returns what differs; a change that is not Reloadable needs a restart and was left out, with its old
// value kept. An error means that nothing was changed: an option is wrong, or one that needs a restart cannot be
// told from the rest.
//
// Deleted users and users with another secret are disconnected; subscriptions that are no longer permitted
// are removed and their clients told; connections above a lowered max_connections are closed.
func (s *Server) Reload(o *conf.Options) ([]conf.Change, error) {
	next, err := s.nextAccountSource(o)
	if err != nil {
		return nil, err
	}
	changes, err := s.apply(o)
	switch {
	case next == nil:
	case err != nil:
		next.Close()
	default:
		s.tenants.replace(next)
	}
	if err == nil {
		s.tenants.doubt()
	}
	return changes, err
}

// apply is Reload but for the accounts of operator mode.
func (s *Server) apply(o *conf.Options) ([]conf.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.state.Load()
	var errs []error
	for _, e := range conf.Unsupported(o) {
		errs = append(errs, e)
	}
	changes := conf.Diff(old.options, o)
	_, stuck := conf.Keep(old.options, o)
	for _, c := range stuck {
		errs = append(errs, errors.New(RestartNeeded(c)))
	}
	if err := o.Validate(); err != nil {
		// A listener that needs the tls block is kept, say, and the block has gone.
		errs = append(errs, fmt.Errorf("config reload not possible with what only a restart can change: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	st, err := s.newState(o)
	if err != nil {
		return nil, err
	}
	// First the state: who logs in from here on meets the new policy. Then all who are there already: the
	// loop below sees each connection that was bound before the store, and Bound looks after those that were
	// being bound during it.
	s.state.Store(st)
	if old.callout != st.callout {
		old.callout.close()
	}
	s.registry.Activate(st.policy)
	s.engine.SetSettings(settings(o))
	if err := s.reloadCluster(st); err != nil {
		s.logger.Error("the cluster goes on as it was", "error", err) // newState has found nothing wrong
	}
	s.extend(st.policy)
	s.serveLimits(o)
	s.serveAccounts(st)
	s.engine.AccountsChanged()
	for _, c := range s.engine.Conns() {
		s.revalidate(c)
	}
	s.closeExcess(o.Limits.MaxConnections)
	s.closeAccountExcess()
	for _, c := range s.engine.Conns() {
		if infoChanged(old, st, c.Account()) {
			s.sendInfo(c, s.Info(c))
		}
	}
	return changes, nil
}

// RestartNeeded says that a reload leaves a change out.
func RestartNeeded(c conf.Change) string {
	return fmt.Sprintf("config reload not supported for %s: old=%s, new=%s (restart the server to apply it)", c.Key, c.Old, c.New)
}

// reloadFile reads the configuration file again, for a request over the system account. What could not be
// applied is an error there, since nobody reads the log.
func (s *Server) reloadFile() ([]conf.Change, error) {
	file := s.state.Load().options.File
	if file == "" {
		return nil, errors.New("reload: the server was started without a configuration file")
	}
	o, err := conf.ParseFile(file)
	if err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	changes, err := s.Reload(o)
	if err != nil {
		return nil, err
	}
	var left []error
	for _, c := range changes {
		if !c.Reloadable {
			left = append(left, errors.New(RestartNeeded(c)))
		}
	}
	return changes, errors.Join(left...)
}

// infoChanged tells whether clients of an account (nil before CONNECT) must be told something new.
func infoChanged(old, st *state, a *accounts.Account) bool {
	was, is := old.info, st.info
	if a != nil && old.policy.Limits(a.Name()).MaxPayload != st.policy.Limits(a.Name()).MaxPayload {
		return true
	}
	return was.MaxPayload != is.MaxPayload || was.Host != is.Host || was.Port != is.Port ||
		old.policy.Required() != st.policy.Required()
}

// revalidate applies the policy in force to a connection that exists: it goes, if its user has gone or has another
// secret; otherwise it gets what the user may do now, and loses the subscriptions that this does not cover.
// It must not block: Bound calls it on a worker.
func (s *Server) revalidate(c *engine.Conn) {
	for {
		old := c.Identity()
		if old == nil {
			return // it will meet the policy
		}
		id, reason, text := s.again(c, old)
		if id == nil {
			c.Close(reason, text)
			return
		}
		if id != old && !c.Rebind(old, id) {
			continue // it has logged in again, or another reload was faster
		}
		if id.Profile != old.Profile {
			id.Account.Interest().Invalidate() // what a subscriber may receive is part of other clients' match entries
		}
		break
	}
	p := c.Identity().Profile
	for _, sub := range c.Subscriptions() {
		if !p.CanSubscribe(sub.Subject, sub.Queue) {
			c.Unsubscribe(sub)
		}
	}
}

// again is who a client is now that had the identity old, or why it must go and what it is told.
func (s *Server) again(c *engine.Conn, old *accounts.Identity) (id *accounts.Identity, reason engine.Reason, text string) {
	if !s.state.Load().proxies.trusts(old.Proxy) {
		return nil, engine.ReasonProxyNotTrusted, "Authorization Violation"
	}
	if l := loginOf(old); l != nil {
		return s.renewed(old, l)
	}
	if s.stands(old) {
		id, ok := s.policyFor(c).Revalidate(old)
		if ok {
			return id, engine.ReasonNone, ""
		}
		if id != nil {
			return nil, engine.ReasonAuthFailure, "" // it is in another account now, and may come again
		}
	}
	return nil, engine.ReasonAuthFailure, "Authorization Violation"
}
