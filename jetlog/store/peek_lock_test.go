package store

import (
	"testing"

	"runnel/jetlog"
)

// TestPeekWhileChanged: who peeks does not wait for who changes the stream.
func TestPeekWhileChanged(t *testing.T) {
	stream := &Stream{state: new(jetlog.Stream), messages: jetlog.NewMemory()}
	for _, changing := range []bool{false, true} {
		if changing {
			stream.mu.Lock()
			defer stream.mu.Unlock()
		}
		if _, known := stream.Peek(1); known == changing {
			t.Errorf("a message is known: %v while the stream changes: %v", known, changing)
		}
		if _, known := stream.PeekLast("S"); known == changing {
			t.Errorf("a last message is known: %v while the stream changes: %v", known, changing)
		}
	}
}
