//go:build !linux

package vfs

import "os"

// syncData is a full sync: there is no call for less.
func syncData(f *os.File) error { return f.Sync() }
