//go:build !long

package powercut_test

// cuts is how often the power goes off in a test.
const cuts = 5

// pointsStep is which part of the points the power goes at: every one, every second and so on.
const pointsStep = 3
