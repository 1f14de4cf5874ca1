//go:build !linux && !darwin

package sockets

import "net"

// Writer is never made here, where nothing can be written without waiting.
type Writer struct{}

// NewWriter returns nil.
func NewWriter(net.Conn) *Writer { return nil }

// Write takes nothing.
func (*Writer) Write([][]byte) (int, error) { return 0, ErrFull }
