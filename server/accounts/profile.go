package accounts

import (
	"slices"
	"strings"

	"runnel/subjects"
)

// Profile is the compiled permissions of one or more users of one account. It is
// immutable. Users of the same Policy with the same account and permissions have
// the same Profile, so what is worked out for one is right for all of them.
type Profile struct {
	account    *Account
	definition *Permissions

	publishAllow, publishDeny     *ruleIndex
	subscribeAllow, subscribeDeny *ruleIndex
	// answersOnly: responses are allowed and no publish rule allows anything else.
	answersOnly bool
}

// profileKey is equal for profiles that say the same.
type profileKey struct {
	account *Account
	content string
}

func newProfileKey(a *Account, p *Permissions, noPublish []string) profileKey {
	content := strings.Join(noPublish, "\n")
	if p != nil {
		content = p.normal().key() + "\n\n" + content
	}
	return profileKey{account: a, content: content}
}

// newProfile compiles p, which was validated and may be nil. Besides, nobody may publish to noPublish.
func newProfile(a *Account, p *Permissions, noPublish ...string) *Profile {
	profile := &Profile{account: a, publishDeny: newRuleIndex(noPublish)}
	if p == nil {
		return profile
	}
	profile.definition = p.normal()
	profile.publishAllow = newRuleIndex(p.Publish.Allow)
	profile.publishDeny = newRuleIndex(slices.Concat(p.Publish.Deny, noPublish))
	profile.subscribeAllow = newRuleIndex(p.Subscribe.Allow)
	profile.subscribeDeny = newRuleIndex(p.Subscribe.Deny)
	profile.answersOnly = p.Responses != nil && profile.publishAllow == nil
	return profile
}

// Account returns the account that the users belong to.
func (p *Profile) Account() *Account { return p.account }

// Definition returns the permissions as configured, with defaults in place, or
// nil when none are. It must not be changed.
func (p *Profile) Definition() *Permissions { return p.definition }

// Responses returns the permission to answer, with defaults in place, or nil when
// there is none.
func (p *Profile) Responses() *ResponsePermission {
	if p.definition == nil {
		return nil
	}
	return p.definition.Responses
}

// Unlimited reports whether the profile forbids nothing but what is forbidden to
// everybody.
func (p *Profile) Unlimited() bool {
	return !p.answersOnly && p.publishAllow == nil && p.publishDeny == nil &&
		p.subscribeAllow == nil && p.subscribeDeny == nil
}

// CanPublish reports whether the rules allow to publish to subject, which is taken
// literally. Permission to answer comes on top: see Responses.
func (p *Profile) CanPublish(subject string) bool {
	if p.answersOnly || p.publishDeny.find(subject, "", subjects.Match).plain {
		return false
	}
	return p.publishAllow == nil || p.publishAllow.find(subject, "", subjects.Match).plain
}

// CanPublishPrefix answers for all subjects that consist of prefix, which ends in a
// dot, and one token more. When uniform is true, CanPublish gives allowed for all
// of them. When it is false the answer may depend on the token.
func (p *Profile) CanPublishPrefix(prefix string) (allowed, uniform bool) {
	return p.canPublish(prefix, (*ruleIndex).findChildren)
}

// CanPublishBelow is CanPublishPrefix for subjects that consist of prefix and one
// token or more. It takes longer.
func (p *Profile) CanPublishBelow(prefix string) (allowed, uniform bool) {
	return p.canPublish(prefix, (*ruleIndex).findBelow)
}

// finder tells what rules say about the subjects that begin with prefix: all about
// all of them, some whether others may be told something else.
type finder func(x *ruleIndex, prefix, queue string) (all cover, some bool)

func (p *Profile) canPublish(prefix string, find finder) (allowed, uniform bool) {
	if p.answersOnly {
		return false, true
	}
	denied, someDenied := find(p.publishDeny, prefix, "")
	if denied.plain {
		return false, true
	}
	if p.publishAllow == nil {
		return true, !someDenied
	}
	all, some := find(p.publishAllow, prefix, "")
	if all.plain {
		return true, !someDenied
	}
	return false, !some
}

// CanSubscribe reports whether the rules allow to subscribe to subject, a valid
// pattern, as a member of queue or with an empty queue as a plain subscription.
func (p *Profile) CanSubscribe(subject, queue string) bool {
	if queue == reservedQueue || p.subscribeDeny.find(subject, queue, includes).denies() {
		return false
	}
	return p.subscribeAllow == nil || p.subscribeAllow.find(subject, queue, includes).allows(queue)
}

// FiltersDelivery reports whether there are messages that an allowed subscription
// must not receive: those that a deny rule covers and a wider subscription asks
// for.
func (p *Profile) FiltersDelivery() bool { return p.subscribeDeny != nil }

// CanReceive reports whether a message on subject, taken literally, may be
// delivered to an allowed subscription with that queue, empty for a plain one.
func (p *Profile) CanReceive(subject, queue string) bool {
	return !p.subscribeDeny.find(subject, queue, subjects.Match).denies()
}

// CanReceivePrefix is to CanReceive what CanPublishPrefix is to CanPublish.
func (p *Profile) CanReceivePrefix(prefix, queue string) (allowed, uniform bool) {
	return p.canReceive(prefix, queue, (*ruleIndex).findChildren)
}

// CanReceiveBelow is to CanReceive what CanPublishBelow is to CanPublish.
func (p *Profile) CanReceiveBelow(prefix, queue string) (allowed, uniform bool) {
	return p.canReceive(prefix, queue, (*ruleIndex).findBelow)
}

func (p *Profile) canReceive(prefix, queue string, find finder) (allowed, uniform bool) {
	all, some := find(p.subscribeDeny, prefix, queue)
	if all.denies() {
		return false, true
	}
	return true, !some
}
