//go:build !long

package chaos_test

import "time"

// How much is done to disks.
const (
	diskLength = 12 * time.Second
	diskRate   = 40
)

// diskFaults are what is done to disks.
var diskFaults = []string{"damage-wal"}
