package transport

import (
	"context"
	"io"
	"log/slog"

	"runnel/cluster/mesh"
)

// Config says who this server is and how much it lets wait.
type Config struct {
	// Node is the id of this server: raft's ServerID and ServerAddress in every group.
	Node string
	// Authorized says whether a peer is one of this cluster. It is asked whenever a link comes; nil lets in every peer
	// that has a node id. It must not call the transport.
	Authorized func(peer mesh.Member) bool
	// Rate bounds the bytes a second that all streams of files from here have together; 0 for no bound.
	Rate int64
	// OutboundBytes is how much of entries and calls may wait for one peer before groups wait too; 16 MiB if zero.
	OutboundBytes int
	// InboundBytes is how much of entries may wait for the groups of this server before more is refused; 256 MiB if
	// zero.
	InboundBytes int
	// Calls and Streams are how many of each are served to one peer at a time; 64 and 32 if zero.
	Calls, Streams int
	// Logger gets diagnostics; nil discards them.
	Logger *slog.Logger
}

// Link is what the transport needs of a link to a peer; *mesh.Link is one. One goroutine reads it and another one writes.
type Link interface {
	io.ReadWriter
	// CloseWith closes the link, which makes Read and Write fail. It may be called more than once.
	CloseWith(reason error)
}

// Handler answers a call. ctx ends when the caller has given up, when the link to it breaks and when the transport is
// closed. The payload belongs to it. An error is told to the caller by its text.
type Handler func(ctx context.Context, from string, payload []byte) ([]byte, error)

// Service is a kind of calls.
type Service struct {
	Handle Handler
	// MaxBytes bounds the request and the answer; 1 MiB if zero, and never more than 64 MiB.
	MaxBytes int
}

// FetchHandler opens what request asks for, from offset on. The transport closes what it returns.
type FetchHandler func(ctx context.Context, from string, request []byte, offset int64) (io.ReadCloser, error)
