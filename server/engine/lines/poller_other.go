//go:build !linux

package lines

import (
	"errors"
	"log/slog"
	"net"

	"runnel/server/engine/outbound"
)

// Poller exists on Linux only; elsewhere every line has a goroutine.
type Poller struct{}

// NewPoller fails.
func NewPoller(Host, *outbound.Env, Worker, *slog.Logger) (*Poller, error) {
	return nil, errors.ErrUnsupported
}

// Run does nothing, like all methods here.
func (*Poller) Run() {}

// Stop does nothing.
func (*Poller) Stop() {}

// Close does nothing.
func (*Poller) Close() error { return nil }

func (l *Line) poll(net.Conn, []byte, []*Poller) (served, ok bool) { return false, false }
