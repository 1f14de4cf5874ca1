package fault

import (
	"math/rand/v2"

	"runnel/chaos/process"
)

// Lead has a server lead all streams that it can.
var Lead = lead

// Of is how many of n servers a fault is done to.
func (t Takes) Of(n int) int { return t.of(n) }

// Random is where a step takes its choices from.
func (s Step) Random() *rand.Rand { return s.random() }

// ServersOf are those that a step is done to.
func (r *Runner) ServersOf(s Step) []*process.Server { return r.servers(s) }

// HarmedMaySay and OtherMaySay report whether a line of a log is all right, of a server with a bad disk and of one beside it.
func HarmedMaySay(line string) bool { return harmedLog.MatchString(line) }
func OtherMaySay(line string) bool  { return otherLog.MatchString(line) }
