package engine

import (
	"errors"
	"math"

	"runnel/server/accounts"
)

var (
	// errTooMany refuses a subscription beyond the limit of the connection or the account.
	errTooMany = errors.New("maximum subscriptions exceeded")
	// errOutdated: what the caller knows of the connection's permissions no longer holds.
	errOutdated = errors.New("permissions have changed")
)

// addSubscription subscribes c, which profile p permits. A sid that is in use keeps its first subscription. most
// is the limit of the connection: 0 for none, negative when it may have no subscription at all.
func (c *Conn) addSubscription(p *accounts.Profile, subject, queue, sid string, most int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.profile.Load() != p {
		return errOutdated // a reload has looked through the subscriptions already, and would not see this one
	}
	a := p.Account()
	if c.isClosing() || c.subscriptions[sid] != nil {
		return nil
	}
	if most < 0 || most > 0 && len(c.subscriptions) >= most || !a.TryAddSubscription() {
		return errTooMany
	}
	sub := accounts.NewSubscription(c, subject, queue, sid)
	if c.subscriptions == nil {
		c.subscriptions = make(map[string]*accounts.Subscription)
	}
	c.subscriptions[sid] = sub
	// The tree's lock is taken under ours, here and in the removals; nobody takes them the other way round.
	a.Interest().Insert(&sub.Entry)
	c.engine.count(a, sub, 1)
	return nil
}

// maxSubscriptions is how many subscriptions c may have: the lowest limit there is, 0 for none. It is negative when c may
// have no subscription at all.
func (c *Conn) maxSubscriptions(s *Settings) int {
	most := s.MaxSubscriptions
	g := c.identity.Load().Grant
	switch {
	case g == nil:
	case g.Limits.MaxSubscriptions == accounts.Nothing:
		return -1
	case g.Limits.MaxSubscriptions > 0:
		own := int(min(g.Limits.MaxSubscriptions, math.MaxInt32))
		if most <= 0 || own < most {
			most = own
		}
	}
	return most
}

func (c *Conn) subscription(sid []byte) *accounts.Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subscriptions[string(sid)]
}

// removeSubscription ends one subscription. Any goroutine; the second call does nothing.
func (c *Conn) removeSubscription(sub *accounts.Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscriptions[sub.SID] != sub {
		return
	}
	delete(c.subscriptions, sub.SID)
	c.drop(sub)
}

// removeAllSubscriptions ends all of them.
func (c *Conn) removeAllSubscriptions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sub := range c.subscriptions {
		c.drop(sub)
	}
	c.subscriptions = nil
}

// drop takes sub out of its account. mu is held.
func (c *Conn) drop(sub *accounts.Subscription) {
	sub.Close()
	a := c.Account()
	if a.Interest().Remove(&sub.Entry) {
		c.engine.count(a, sub, -1)
		a.RemoveSubscription()
	}
}

// Unsubscribe removes a subscription that c may no longer have and tells it so.
func (c *Conn) Unsubscribe(sub *accounts.Subscription) {
	c.removeSubscription(sub)
	c.engine.tell()
	c.SendErr(SubscriptionViolation(sub.Subject, sub.Queue, sub.SID))
}
