package chaos

import (
	"time"

	"runnel/chaos/fault"
)

// PlanOf is what is done in some rounds of a condition.
func PlanOf(c Condition, rounds int) []fault.Step { return c.plan(rounds, time.Second) }

// Complete fills in the defaults of options and checks them.
func Complete(o Options) (Options, error) { return o.complete() }

// Schedule is what a report calls the plan of options.
func Schedule(o Options) string { return o.schedule() }

// HowLong is what a report calls the length of the load.
func HowLong(o Options) string { return o.howLong() }

// PlanFor is what options have done to a cluster that can do some kinds of faults.
func PlanFor(o Options, kinds []fault.Kind) []fault.Step { return o.planOf(kinds) }

// KindsFor are the kinds of faults that options want.
func KindsFor(o Options) ([]fault.Kind, error) { return o.kinds() }

// Unreachable reports whether a line of a log is one of those that a campaign brings about.
func Unreachable(line string) bool { return unreachable.MatchString(line) }
