package server

import (
	"iter"

	"runnel/server/monitor"
)

// Importing implements monitor.Source.
func (src source) Importing(account, subject string) iter.Seq[monitor.Subscription] {
	return func(yield func(monitor.Subscription) bool) {
		a := src.s.state.Load().policy.Account(account)
		if a == nil {
			return
		}
		for i, local := range a.Follow(subject) {
			for _, e := range i.Account.Interest().Match([]byte(local), nil) {
				if !yield(subscription(i.Account.Name(), e.Value)) {
					return
				}
			}
		}
	}
}
