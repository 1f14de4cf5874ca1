//go:build !linux

package sockets

// Vectors is the scratch of a Write, which there is none of here.
type Vectors struct{}
