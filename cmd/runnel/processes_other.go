//go:build !linux

package main

import "errors"

// processesNamed is known on Linux only.
func processesNamed(string) ([]int, error) {
	return nil, errors.New("not known on this system, name the process id or the pid file: --signal reload=PID")
}
