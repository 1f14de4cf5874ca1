package fault

import (
	"math/rand/v2"
	"time"
)

// Step is one fault of a plan.
type Step struct {
	Kind    string        `json:"kind"`
	At      time.Duration `json:"at"`      // since the beginning of the plan, at the earliest: a fault that is slow to undo delays the next
	For     time.Duration `json:"for"`     // how long it lasts
	Servers []int         `json:"servers"` // the places in the cluster of those that it is done to
	// Form is how a file is damaged, by the name of a [disk.Form], and has the server lead what it can afterwards; both are left to chance
	// when it is empty. Other faults have no use for it.
	Form string `json:"form,omitempty"`
}

// Settings say what a plan is like.
type Settings struct {
	Seed    uint64
	Servers int
	Kinds   []Kind
	Length  time.Duration // of the whole plan; the last fault may go on beyond it
	// Fault is how long a fault lasts on average, and Quiet the time after it. Each is between half of it and one and a half of it.
	Fault, Quiet time.Duration
}

// Plan makes a plan. Each kind comes once before any comes again, in an order that differs, so that short plans have most of them. The
// same settings give the same plan.
func Plan(s Settings) []Step {
	if len(s.Kinds) == 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(s.Seed, 0xfa17))
	about := func(d time.Duration) time.Duration { return d/2 + time.Duration(r.Int64N(int64(d)+1)) }
	var plan []Step
	var left []int // of the kinds
	for at := about(s.Quiet); at < s.Length; {
		if len(left) == 0 {
			left = r.Perm(len(s.Kinds))
		}
		k := s.Kinds[left[0]]
		left = left[1:]
		step := Step{Kind: k.Name, At: at, For: about(s.Fault), Servers: r.Perm(s.Servers)[:min(k.Takes.of(s.Servers), s.Servers)]}
		plan = append(plan, step)
		at += step.For + about(s.Quiet)
	}
	return plan
}
