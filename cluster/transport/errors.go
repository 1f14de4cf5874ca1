package transport

import (
	"errors"
	"fmt"
)

// What can go wrong between two servers. All are wrapped with the peer that they are about; a request that has failed
// with one of them may have been carried out, except where it says that it was not.
var (
	// ErrUnreachable says that there is no link to the peer, or that it broke before the answer came. It can be tried
	// again once the peer is linked.
	ErrUnreachable = errors.New("unreachable")
	// ErrTimeout says that the peer has not answered in time.
	ErrTimeout = errors.New("no answer in time")
	// ErrBusy says that the peer has refused the request, unread, since too much is waiting there.
	ErrBusy = errors.New("busy")
	// ErrNoGroup says that the peer has no such group (yet, or any more). Nothing was done.
	ErrNoGroup = errors.New("no such group")
	// ErrNoService says that the peer does not serve such calls. Nothing was done.
	ErrNoService = errors.New("no such service")
	// ErrTooLarge says that a request or an answer has more bytes than its service allows.
	ErrTooLarge = errors.New("too large")
	// ErrClosed says that the transport, the group, the pipeline or the stream was closed here.
	ErrClosed = errors.New("closed")
)

// RemoteError is what a handler of the peer has answered, by its text.
type RemoteError struct {
	Node string
	Text string
}

func (e *RemoteError) Error() string { return fmt.Sprintf("%s (from %s)", e.Text, e.Node) }

// about says which peer an error is about.
func about(node string, err error) error { return fmt.Errorf("peer %s: %w", node, err) }
