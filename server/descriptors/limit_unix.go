//go:build unix

package descriptors

import (
	"math"
	"syscall"
)

// limit is how many descriptors the process may have, 0 where nobody says so. Go has raised it as far as it may be.
func limit() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || uint64(l.Cur) > math.MaxInt32 {
		return 0
	}
	return int(l.Cur)
}
