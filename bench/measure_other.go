//go:build !linux

package bench

// ReadUsage returns ErrNotMeasured.
func ReadUsage(int) (Usage, error) { return Usage{}, ErrNotMeasured }
