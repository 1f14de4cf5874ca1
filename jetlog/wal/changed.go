package wal

// Changed returns a channel that is closed when an Append that would have waited may not wait any more,
// or when the log has failed. So somebody who must not wait in Append, since others wait for him, can try
// with a context that has ended, and wait here before he tries again. Take the channel before the try.
func (l *Log) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.change()
}
