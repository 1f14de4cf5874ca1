package interest

import "runnel/server/accounts"

// Search finds out where traces may follow one message. Its zero value is ready; it is for one goroutine.
type Search struct{ steps int }

// stepsMost bounds the steps of a Search: there may be very many ways.
const stepsMost = 1 << 18

// MayFollow tells whether traces may follow a message on subject in the account at by the imports of streams that lead it to
// another account, where it is on the subject local. They do not where it takes too many steps to find out.
func (s *Search) MayFollow(at *accounts.Account, subject string, to *accounts.Account, local string) bool {
	return s.mayFollow(at, subject, to, local, 0)
}

func (s *Search) mayFollow(at *accounts.Account, subject string, to *accounts.Account, local string, chain int) bool {
	x := at.Crossings()
	if x == nil || chain == chainMost {
		return false
	}
	for i := range x.Streams(subject) {
		here, ok := i.Local(subject)
		if !ok || !i.AllowTrace {
			continue
		}
		if s.steps++; s.steps > stepsMost {
			return false
		}
		if i.Account == to && here == local || s.mayFollow(i.Account, here, to, local, chain+1) {
			return true
		}
	}
	return false
}
