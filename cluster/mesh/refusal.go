package mesh

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// Codes of refusals. Programs act on the first four; all others are for people, who read the text.
const (
	codeSelf      = "self"
	codeDuplicate = "duplicate"
	codeStranger  = "stranger" // it does not speak this protocol
	codeSilent    = "silent"   // it went without a word, as those do that only look whether the port is open

	codeAuthorization = "authorization"
	codeCluster       = "cluster"
	codeName          = "name"
	codeID            = "id"
	codeTLS           = "tls"
	codeProtocol      = "protocol"
	codeSession       = "session"
	codeClosing       = "closing"
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
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}

func refuse(code, format string, args ...any) *refusal {
	return &refusal{Code: code, Text: fmt.Sprintf(format, args...)}
}

// gist is what an error comes down to, without what is different each time, such as the port of this side.
func gist(err error) string {
	if r := refused(err, ""); r != nil {
		return r.Code
	}
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err.Error()
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

// Advice that fits several cases.
const (
	adviceTLS      = "cluster.tls must be configured on all servers of the cluster or on none"
	adviceVersions = "upgrade one server after the other, and leave out no release"
)

// strangeCaller says who may have dialled, going by first bytes that are not ours.
func strangeCaller(b []byte, err error) *refusal {
	switch {
	case len(b) == 0 && !timedOut(err):
		return refuse(codeSilent, "it ended the connection without a word")
	case len(b) == 0:
		return refuse(codeStranger, "it sent nothing: perhaps a client, which must use the client port")
	case hasAnyPrefix(b, "CONNECT", "PING", "PONG", "SUB ", "PUB ", "HPUB ", "INFO ", "+OK", "-ERR"):
		return refuse(codeStranger, "it speaks the protocol of clients: clients must use the client port, "+
			"and a server of another make cannot be part of the cluster")
	case hasAnyPrefix(b, "GET ", "POST ", "HEAD ", "PUT ", "OPTIONS ", "DELETE "):
		return refuse(codeStranger, "it speaks HTTP: monitoring has a port of its own")
	}
	return stranger(b)
}

// strangeAnswer says what may have been dialled.
func strangeAnswer(b []byte, err error) *refusal {
	switch {
	case len(b) == 0 && timedOut(err):
		return refuse(codeStranger, "it does not answer: is it the cluster port of a server? If it is, %s", adviceTLS)
	case len(b) == 0:
		return refuse(codeSilent, "it ended the connection without a word: is it the cluster port of a server? If it is, %s", adviceTLS)
	case hasAnyPrefix(b, "INFO ", "-ERR", "+OK"):
		return refuse(codeStranger, "a client port answers there, or a server of another make: "+
			"the routes of the configuration must name the cluster ports of servers of this kind")
	}
	return stranger(b)
}

// stranger is what can be said of bytes whoever has sent them.
func stranger(b []byte) *refusal {
	switch {
	case b[0] == 0x15 || b[0] == 0x16: // an alert, a handshake
		return refuse(codeStranger, "it speaks TLS, and this server does not: %s", adviceTLS)
	case hasAnyPrefix(b, magic[:len(magic)-2]):
		return refuse(codeStranger, "it speaks another version of the protocol between servers (%q, here %q): %s",
			clip(string(b)), magic, adviceVersions)
	}
	return refuse(codeStranger, "its first bytes %q belong to no protocol known here", clip(string(b)))
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func hasAnyPrefix(b []byte, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return bytes.HasPrefix(b, []byte(p)) })
}
