package websocket

import "net"

// NewTestConn makes a Conn without a handshake.
func NewTestConn(sock net.Conn, compressed bool, readLimitBytes int64) *Conn {
	return newConn(sock, &codec{readLimitBytes: readLimitBytes}, nil, compressed)
}

// MaxDataless and MaxBarrenBytes are the limits on floods.
const (
	MaxDataless    = maxDataless
	MaxBarrenBytes = maxBarrenBytes
)
