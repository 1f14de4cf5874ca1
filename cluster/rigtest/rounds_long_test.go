//go:build long

package rigtest_test

// How often a scenario does what it does.
const (
	restarts = 20
	kills    = 50
	storms   = 100
	streams  = 300
	fives    = 10
	upgrades = 3
	resets   = 200
)
