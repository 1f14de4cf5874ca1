//go:build !long

package powercut_test

// cuts is how often all servers lose their power, rounds how often some do.
const (
	cuts   = 20
	rounds = 5
)

// pointsStep is which part of the points the power goes at: every one, every second and so on.
const pointsStep = 3
