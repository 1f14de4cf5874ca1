//go:build !long

package rigtest_test

// How often a scenario does what it does: more often with the tag long.
const (
	restarts = 2
	kills    = 2
	streams  = 10
	fives    = 1
	upgrades = 1
	resets   = 5
)
