package accounts

import "fmt"

// Bounds are rules about subjects that belong to no account. A nil Bounds allows everything. It is immutable.
type Bounds struct{ profile *Profile }

// NewBounds compiles rules; nil for those that allow everything.
func NewBounds(r Rules) (*Bounds, error) {
	if len(r.Allow)+len(r.Deny) == 0 {
		return nil, nil
	}
	p := &Permissions{Subscribe: r}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("bounds of subjects: %w", err)
	}
	return &Bounds{newProfile(nil, p)}, nil
}

// Covers reports whether all that a valid pattern covers is allowed, but for what denied patterns that are narrower
// take away.
func (b *Bounds) Covers(pattern string) bool { return b == nil || b.profile.CanSubscribe(pattern, "") }

// Allows reports whether a message on subject, taken literally, is allowed.
func (b *Bounds) Allows(subject string) bool {
	return b == nil || b.profile.CanSubscribe(subject, "") && b.profile.CanReceive(subject, "")
}
