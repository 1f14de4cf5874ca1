//go:build !long

package wal_test

// longByDefault: the build tag long means the flag.
const longByDefault = false
