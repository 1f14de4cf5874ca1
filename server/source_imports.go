package server

import (
	"iter"

	"runnel/server/accounts"
	"runnel/server/monitor"
)

// Importing implements monitor.Source.
func (src source) Importing(account, subject string) iter.Seq[monitor.Subscription] {
	return func(yield func(monitor.Subscription) bool) {
		if a := src.s.state.Load().policy.Account(account); a != nil {
			importing(a, subject, 0, yield)
		}
	}
}

// importsMost is through how many accounts what is imported is followed, one after the other.
const importsMost = 16

func importing(a *accounts.Account, subject string, chain int, yield func(monitor.Subscription) bool) bool {
	x := a.Crossings()
	if x == nil || chain == importsMost {
		return true
	}
	for i := range x.Streams(subject) {
		local, ok := i.Local(subject)
		if !ok {
			continue
		}
		for _, e := range i.Account.Interest().Match([]byte(local), nil) {
			if !yield(subscription(i.Account.Name(), e.Value)) {
				return false
			}
		}
		if !importing(i.Account, local, chain+1, yield) {
			return false
		}
	}
	return true
}
