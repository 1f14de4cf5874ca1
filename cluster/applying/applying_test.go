package applying_test

import (
	"testing"

	"runnel/cluster/applying"
)

// Raft stands for raft's. That the real one is recognised too is a test of cluster/group.
type Raft struct{}

func (r *Raft) processLogs()   { read() }
func (r *Raft) appendEntries() { read() }

// read is what is between raft and its log.
func read() { applying.Stop() }

// TestStop ends whoever applies, and nobody else.
func TestStop(t *testing.T) {
	for _, test := range []struct {
		name string
		f    func()
		ends bool
	}{
		{"the main loop applies", new(Raft).processLogs, true},
		{"the main loop compares", new(Raft).appendEntries, false},
		{"somebody else", read, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ended := true
			done := make(chan struct{})
			go func() {
				defer close(done)
				test.f()
				ended = false
			}()
			<-done
			if ended != test.ends {
				t.Errorf("its goroutine ended: %t, want %t", ended, test.ends)
			}
		})
	}
}
