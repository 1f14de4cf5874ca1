//go:build long

package wal_test

// longByDefault: the build tag means the flag.
const longByDefault = true
