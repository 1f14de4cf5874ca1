//go:build unix

package soak

import "syscall"

// openFiles is how many files this process may have open, 0 where that is not known. Go has raised the limit as far as it may be.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30))
}
