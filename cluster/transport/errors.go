package transport

import (
	"errors"
	"fmt"
	"strings"
)

// What can go wrong between two servers. All are wrapped with the peer that they are about; a request that has failed
// with one of them may have been carried out, except where it says that it was not.
var (
	// ErrUnreachable says that there is no link to the peer, or that it broke before the answer came. It can be tried
	// again once the peer is linked.
	ErrUnreachable = errors.New("unreachable")
	// ErrTimeout says that the peer has not answered in time.
	ErrTimeout = errors.New("no answer in time")
	// ErrBusy says that the peer has refused the request, unread, since too much is waiting there. Nothing was done.
	ErrBusy = errors.New("too much is waiting there already")
	// ErrNoGroup says that the peer has no such group (yet, or any more).
	ErrNoGroup = errors.New("no such group")
	// ErrNoService says that the peer does not serve such calls. Nothing was done.
	ErrNoService = errors.New("no such service")
	// ErrTooLarge says that a request or an answer has more bytes than is allowed.
	ErrTooLarge = errors.New("too large")
	// ErrClosed says that the transport, the group, the pipeline or the stream was closed here.
	ErrClosed = errors.New("closed")
)

// RemoteError is what a handler of the peer, or raft there, has answered.
type RemoteError struct {
	Node string
	Text string
}

// Error is the text with where it comes from.
func (e *RemoteError) Error() string { return fmt.Sprintf("%s (says peer %s)", e.Text, e.Node) }

// about says which peer an error is about.
func about(node string, err error) error { return fmt.Errorf("peer %s: %w", node, err) }

// code tells in an answer what it is.
type code uint8

const (
	codeOK code = iota
	codeError
	codeBusy
	codeNoGroup
	codeNoService
	codeTooLarge
)

// codeOf is how an error is told to the peer.
func codeOf(err error) (c code, text string) {
	switch {
	case err == nil:
		return codeOK, ""
	case errors.Is(err, ErrBusy):
		return codeBusy, ""
	case errors.Is(err, ErrNoGroup):
		return codeNoGroup, ""
	case errors.Is(err, ErrNoService):
		return codeNoService, ""
	case errors.Is(err, ErrTooLarge):
		return codeTooLarge, ""
	}
	text = err.Error()
	if len(text) > textBytes {
		text = strings.ToValidUTF8(text[:textBytes], "")
	}
	return codeError, text
}

// errorOf is what the peer has told by codeOf.
func errorOf(node string, c code, text []byte) error {
	switch c {
	case codeOK:
		return nil
	case codeBusy:
		return about(node, ErrBusy)
	case codeNoGroup:
		return about(node, ErrNoGroup)
	case codeNoService:
		return about(node, ErrNoService)
	case codeTooLarge:
		return about(node, ErrTooLarge)
	}
	return &RemoteError{Node: node, Text: string(text)}
}
