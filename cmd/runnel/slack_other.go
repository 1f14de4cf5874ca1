//go:build !linux

package main

// coarsenTimers is for Linux, whose timers are finer than a server needs.
func coarsenTimers() {}
