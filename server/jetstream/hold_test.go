package jetstream_test

import (
	"testing"
	"time"

	"runnel/server/jetstream"
	"runnel/server/servertest"
)

// TestHold: while memory is scarce whoever publishes to a stream is kept waiting, also one whose messages are refused: or who is asked to
// send less would send more.
func TestHold(t *testing.T) {
	const hold = 50 * time.Millisecond
	for _, tt := range []struct {
		name       string
		queueBytes int
		refused    bool
	}{
		{"taken", 0, false},
		{"refused", 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1, func(c *jetstream.Config) {
				c.QueueBytes = tt.queueBytes
				c.Hold = func(int) time.Duration { return hold }
			})
			nc := w.connect()
			w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s"],"storage":"memory"}`, nil)
			began := time.Now()
			for range 3 {
				m, err := nc.Request("s", []byte("hello"), servertest.Patience)
				if err != nil {
					t.Fatal(err)
				}
				if refused := m.Header.Get("Status") == "429"; refused != tt.refused {
					t.Fatalf("got %v %s, want a refusal: %t", m.Header, m.Data, tt.refused)
				}
			}
			if took := time.Since(began); took < 2*hold {
				t.Errorf("three messages took %v, want %v between each two", took, hold)
			}
		})
	}
}
