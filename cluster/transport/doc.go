// Package transport carries the messages of all raft groups of a server, calls and streams of files over the two raft
// links that there are to each other server.
package transport
