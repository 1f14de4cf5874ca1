//go:build !unix && !windows

package monitor

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
