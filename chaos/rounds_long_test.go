//go:build long

package chaos_test

import "time"

// How much of a mix is run.
const (
	seeds     = 12
	mixLength = 5 * time.Minute

	conditionRounds = 3
	conditionFault  = 10 * time.Second
)

// mixOfFaults is what is done to servers.
var mixOfFaults = []string{"all"}
