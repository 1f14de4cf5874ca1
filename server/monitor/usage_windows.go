package monitor

import (
	"syscall"
	"time"
)

// cpuTime is the user and system time that the process has used.
func cpuTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, exited, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(self, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	return filetime(kernel) + filetime(user)
}

// filetime reads an interval, which Windows counts in units of 100 ns.
func filetime(f syscall.Filetime) time.Duration {
	return time.Duration(uint64(f.HighDateTime)<<32|uint64(f.LowDateTime)) * 100
}
