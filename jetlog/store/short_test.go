//go:build !long

package store_test

// How thoroughly crashes are tried: with the tag long, every one.
const (
	cutSeeds  = 6
	cutEvery  = 3
	failEvery = 7
)
