// Package sockets makes the system calls of connections that must not wait: it reads, writes and polls descriptors that do
// not block. Where a system has no such calls, there is a portable way, and what is missing says so.
package sockets

import "errors"

// ErrFull says that a socket took less than it was offered. It is to be tried again when the socket is writable.
var ErrFull = errors.New("socket is full")
