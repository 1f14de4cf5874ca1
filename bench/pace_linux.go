package bench

import (
	"runtime"
	"syscall"
	"time"
)

// prSetTimerSlack is the prctl operation that sets by how much the kernel may
// delay this thread's timers, 50 µs by default.
const prSetTimerSlack = 29

// lockPreciseTimer binds the goroutine to a thread whose timers are exact. The
// thread ends with the goroutine, which must not unlock it.
func lockPreciseTimer() {
	runtime.LockOSThread()
	// Without the permission the timer is merely less exact.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 1, 0)
}

// sleepPrecisely waits in the kernel: the runtime's own timers are rounded up to
// a millisecond while the process idles.
func sleepPrecisely(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	// A signal that interrupts it makes the caller look at the clock again.
	_ = syscall.Nanosleep(&ts, nil)
}
