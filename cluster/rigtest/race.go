//go:build race

package rigtest

// race says whether the tests run with the race detector.
const race = true
