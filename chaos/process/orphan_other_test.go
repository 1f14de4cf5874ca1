//go:build unix && !linux

package process_test

// parent does nothing: processes outlive their parents here.
func parent(string) {}
