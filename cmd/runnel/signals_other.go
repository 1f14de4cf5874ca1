//go:build !unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// handledSignals are those that the server acts on.
func handledSignals() []os.Signal { return []os.Signal{syscall.SIGTERM, os.Interrupt} }

// actionOf says what a signal asks for.
func actionOf(s os.Signal) action {
	switch s {
	case syscall.SIGTERM:
		return actionTerminate
	case os.Interrupt:
		return actionInterrupt
	}
	return actionNone
}

// sendSignal ends a process at once; this system has nothing gentler.
func sendSignal(name string, pid int) error {
	if name != "stop" {
		return fmt.Errorf("this system only knows stop; %s can be asked for over the system account", name)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
