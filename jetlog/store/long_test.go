//go:build long

package store_test

// How thoroughly crashes are tried.
const (
	cutSeeds  = 40
	cutEvery  = 1
	failEvery = 1
)
