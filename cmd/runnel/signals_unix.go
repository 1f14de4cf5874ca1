//go:build unix

package main

import (
	"os"
	"syscall"
)

// handledSignals are those that the server acts on.
func handledSignals() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
}

// actionOf says what a signal asks for.
func actionOf(s os.Signal) action {
	switch s {
	case syscall.SIGTERM:
		return actionTerminate
	case syscall.SIGINT:
		return actionInterrupt
	case syscall.SIGHUP:
		return actionReload
	case syscall.SIGUSR1:
		return actionReopen
	case syscall.SIGUSR2:
		return actionLameDuck
	}
	return actionNone
}

// sendSignal sends what a name of --signal stands for.
func sendSignal(name string, pid int) error {
	signals := map[string]syscall.Signal{
		"reload": syscall.SIGHUP,
		"reopen": syscall.SIGUSR1,
		"ldm":    syscall.SIGUSR2,
		"quit":   syscall.SIGINT,
		"term":   syscall.SIGTERM,
		"stop":   syscall.SIGKILL,
	}
	return syscall.Kill(pid, signals[name])
}
