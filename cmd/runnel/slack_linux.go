package main

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	// usualSlack is how late Linux may fire the timers of a thread if nobody has asked for anything, in nanoseconds.
	usualSlack = 50_000
	// serverSlack is what a server asks for. Go's monitor thread sleeps for 20 µs at a time whenever the program has
	// just woken up, as one that waits for disks and other servers does all the time: at the usual slack it takes a
	// quarter of the processor time of a replicated stream on a virtual machine, where a timer is dear.
	serverSlack = 1_000_000
)

// timersVariable is set in the environment once the program has been started again; somebody who sets it keeps the usual timers.
const timersVariable = "RUNNEL_TIMERS"

// coarsenTimers asks the kernel to fire the timers of this process up to serverSlack late, if it has the usual setting;
// another one is somebody's choice, as is that of real-time scheduling. Threads inherit the setting from the one that makes
// them, and the monitor is made before main: so the program is started again in its place, once. Where that cannot be done the
// server runs as well, only dearer.
func coarsenTimers() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Getenv(timersVariable) != "" {
		return
	}
	if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || slack != usualSlack {
		return
	}
	program, err := os.Executable()
	if err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, serverSlack, 0, 0, 0) != nil {
		return
	}
	_ = unix.Exec(program, os.Args, append(os.Environ(), timersVariable+"=coarse"))
}
