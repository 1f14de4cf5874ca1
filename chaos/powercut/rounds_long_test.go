//go:build long

package powercut_test

// cuts is how often the power goes off in a test.
const cuts = 50
