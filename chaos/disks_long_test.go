//go:build long

package chaos_test

import "time"

// How much is done to disks.
const (
	diskLength = 40 * time.Second
	diskRate   = 100
)

// diskFaults are what is done to disks.
var diskFaults = []string{"damage-wal", "damage-files", "damage-meta", "damage-any", "disk-eio", "disk-full", "disk-read-only"}
