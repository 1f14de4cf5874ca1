//go:build !linux

package engine

import (
	"net"

	"runnel/server/wire"
)

// poller exists on Linux only; here every connection has a goroutine.
type poller struct{}

func (e *Engine) startPollers(int) error { return nil }

func (e *Engine) stopPollers() {}

func (e *Engine) closePollers() {}

func (e *Engine) poll(*Conn, net.Conn, *wire.Info) bool { return false }
