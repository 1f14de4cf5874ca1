//go:build !linux

package main

import "errors"

// monotonicMicroseconds is for systemd, which runs on Linux only.
func monotonicMicroseconds() (int64, error) {
	return 0, errors.New("not known on this system")
}
