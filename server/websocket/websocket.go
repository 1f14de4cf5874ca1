// Package websocket turns an HTTP upgrade into a net.Conn that carries NATS
// bytes.
//
// NATS over WebSocket has no meaning attached to frames: a protocol line may
// begin in one frame and end in another, and one frame may hold many lines.
// So the connection is a byte stream again: Read joins the payload of
// whatever data frames arrive (binary or text, fragmented or empty, with
// control frames in between), Write sends one binary message a call.
//
// The frame layer is our own. What a general library offers as a net.Conn
// refuses text frames, closes on a deadline and keeps buffers for every
// connection; here an idle connection owns no buffer at all. The frames are
// decoded in place, in the buffer that the caller of Read brings, and payload
// is never gathered: only control frames (125 bytes) and, while a compressed
// message is arriving, one pooled inflater of about 50 KiB are held.
//
// What a hostile peer can do is bounded: a ping is answered from a slot that
// holds the newest one only and never by the reader, a long row of frames
// without any data ends the connection, and a compressed message is inflated
// piece by piece into the caller's buffer, at most Config.ReadLimitBytes.
package websocket

import (
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// Config says how upgrades are accepted. The zero value accepts everybody,
// without compression.
type Config struct {
	// SameOrigin refuses a browser whose Origin names another host or port
	// than the one that it asked for.
	SameOrigin bool
	// AllowedOrigins, if not empty, lists the origins (scheme://host[:port])
	// that a browser may come from. With SameOrigin both must hold. A request
	// without an Origin header is not from a browser and passes.
	AllowedOrigins []string
	// Compression accepts permessage-deflate, without context takeover in
	// either direction.
	Compression bool
	// HandshakeTimeout limits the time that the upgrade may take; 0 for no
	// limit.
	HandshakeTimeout time.Duration
	// JWTCookie, UserCookie, PasswordCookie and TokenCookie name the cookies
	// whose values are handed over in Request.Cookies; "" for none.
	JWTCookie, UserCookie, PasswordCookie, TokenCookie string
	// Headers are added to the response that switches protocols.
	Headers map[string]string
	// ReadLimitBytes is the most that one message may carry, after inflating;
	// 0 for no limit. Memory does not depend on it, since messages are not
	// gathered. Who exceeds it is closed with MessageTooBig.
	ReadLimitBytes int64
	// Rejected, if set, is told why an upgrade was refused: the address to
	// show and the reason. It may be called by many goroutines at once.
	Rejected func(remoteAddr string, err error)
}

// Request is an accepted upgrade.
type Request struct {
	// Conn is a *Conn. Whoever gets the Request owns it and must close it.
	Conn net.Conn
	// RemoteAddr is the peer as host:port for people to read. The host is the
	// first address in X-Forwarded-For, if there is one; anybody can write
	// that header, so it is not to be trusted.
	RemoteAddr string
	// Cookies are the credentials that came with the request.
	Cookies Cookies
	// Compressed says that compression was agreed on.
	Compressed bool
	// TLS describes the TLS connection below; nil for none.
	TLS *tls.ConnectionState
}

// Cookies are credentials out of the cookies that Config names; "" where the
// request has no such cookie.
type Cookies struct{ JWT, User, Password, Token string }

// Status is the code of a close frame.
type Status uint16

// The close codes that the server sends.
const (
	// NormalClosure: nothing is wrong.
	NormalClosure Status = 1000
	// GoingAway: the server shuts down.
	GoingAway Status = 1001
	// ProtocolError: the peer broke the rules of the frames.
	ProtocolError Status = 1002
	// InvalidData: a compressed message could not be inflated.
	InvalidData Status = 1007
	// PolicyViolation: not authorized, or a flood.
	PolicyViolation Status = 1008
	// MessageTooBig: a limit on size was exceeded.
	MessageTooBig Status = 1009
)

// FrameError is what Read returns when the peer sent what it must not.
// Close then sends Status.
type FrameError struct {
	Status Status
	Reason string
}

// Error describes the fault and the close code.
func (e *FrameError) Error() string {
	return fmt.Sprintf("websocket: %s (close code %d)", e.Reason, e.Status)
}
