//go:build !linux

package engine

import "net"

// poller exists on Linux only; here every connection has a goroutine.
type poller struct{}

func (e *Engine) startPollers(int) error { return nil }

func (e *Engine) stopPollers() {}

func (e *Engine) closePollers() {}

func (e *Engine) poll(*line, net.Conn, []byte) (served, ok bool) { return false, false }
