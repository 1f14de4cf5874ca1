//go:build !long

package chaos_test

import "time"

// How much of a mix is run.
const (
	seeds     = 1
	mixLength = 30 * time.Second
)

// mixOfFaults is what is done to servers.
var mixOfFaults = []string{"kill", "cut", "pause", "kill-all"}
