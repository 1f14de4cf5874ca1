package mesh

import (
	"bytes"
	"errors"
	"fmt"
)

// Why links end.
var (
	// ErrClosed means that this mesh was closed.
	ErrClosed = errors.New("the mesh is closed")
	// ErrStale means that the peer did not answer pings.
	ErrStale = errors.New("the other server does not answer pings")
	// ErrReplaced means that a newer connection between the two servers has taken the place.
	ErrReplaced = errors.New("replaced by a newer connection")
	// ErrGone means that the peer stops and has said so.
	ErrGone = errors.New("the other server is leaving")
)

// Codes of refusals that programs act on; all others are for people.
const (
	codeSelf      = "self"
	codeDuplicate = "duplicate"
)

// refusal is a no to a connection, told to the other side in words. It is the error at both ends.
type refusal struct {
	Code string `json:"code"`
	Text string `json:"text"`
	// ID is that of the server that refuses, for those that may know it.
	ID string `json:"id,omitempty"`

	theirs bool // read from the other side
}

// Error tells the reason, and who of the two has refused.
func (r *refusal) Error() string {
	if r.theirs {
		return "the other server refused: " + clipText(r.Text)
	}
	return r.Text
}

// clipText shortens what a peer has to say for a log line, and keeps it on that line.
func clipText(s string) string {
	if len(s) > 512 {
		s = s[:512] + "..."
	}
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, []byte(s)))
}

func refuse(code, format string, args ...any) *refusal {
	return &refusal{Code: code, Text: fmt.Sprintf(format, args...)}
}

// refused returns the refusal in err, with that code; "" is any.
func refused(err error, code string) *refusal {
	var r *refusal
	if errors.As(err, &r) && (code == "" || r.Code == code) {
		return r
	}
	return nil
}

// clientAnswer is what somebody hears who has come to the wrong port with the clients' protocol, or with none.
const clientAnswer = "-ERR 'this port is for servers of the cluster; clients have another'\r\n"

// strangeCaller says who may have dialled, going by first bytes that are not ours.
func strangeCaller(b []byte) *refusal {
	const code = "stranger"
	switch {
	case len(b) == 0:
		return refuse(code, "it sent nothing: perhaps a client, which must use the client port, or a port scan")
	case b[0] == 0x16:
		return refuse(code, "it wants TLS, and cluster.tls is not configured here: configure it on all servers of the cluster or on none")
	case bytes.HasPrefix(b, []byte("RUNNEL")):
		return refuse(code, "it speaks another version of the protocol between servers (%q, here %q): "+
			"upgrade one server after the other without leaving out releases", clip(string(b)), magic)
	case hasAnyPrefix(b, "GET ", "POST ", "HEAD ", "PUT ", "OPTIONS ", "DELETE "):
		return refuse(code, "it speaks HTTP: monitoring has a port of its own")
	case hasAnyPrefix(b, "CONNECT", "PING", "PONG", "SUB ", "PUB ", "HPUB ", "INFO ", "+OK", "-ERR"):
		return refuse(code, "it speaks the protocol of clients: clients must use the client port, and a server of another make cannot be part of the cluster")
	}
	return refuse(code, "its first bytes %q belong to no protocol known here", clip(string(b)))
}

// strangeAnswer says what may have been dialled.
func strangeAnswer(b []byte) *refusal {
	const code = "stranger"
	switch {
	case bytes.HasPrefix(b, []byte("RUNNEL")):
		return strangeCaller(b)
	case hasAnyPrefix(b, "INFO ", "-ERR", "+OK"):
		return refuse(code, "a client port answers there, or a server of another make: a route needs the cluster port of a server of this kind")
	case len(b) > 0 && (b[0] == 0x15 || b[0] == 0x16):
		return refuse(code, "it wants TLS, and cluster.tls is not configured here: configure it on all servers of the cluster or on none")
	case len(b) == 0:
		return refuse(code, "it ended the connection without a word: is it the cluster port of a server, and is TLS configured on both sides or on none?")
	}
	return refuse(code, "its first bytes %q belong to no protocol known here", clip(string(b)))
}

func hasAnyPrefix(b []byte, prefixes ...string) bool {
	for _, p := range prefixes {
		if bytes.HasPrefix(b, []byte(p)) {
			return true
		}
	}
	return false
}
