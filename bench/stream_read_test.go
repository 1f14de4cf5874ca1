package bench_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/bench"
)

// TestWhatEndsARun: every error does, as what it is, but for a heartbeat that a reader has missed, after which it asks
// again by itself.
func TestWhatEndsARun(t *testing.T) {
	broken := &net.OpError{Op: "write", Net: "tcp", Err: errors.New("connection reset by peer")}
	for _, test := range []struct {
		err                  error
		reported, complained string // what the reason begins with, empty for none
	}{
		{nats.ErrSlowConsumer, "nats: slow consumer", "consume: nats: slow consumer"},
		{broken, "connection lost: write tcp", "consume: write tcp"},
		{fmt.Errorf("flush: %w", broken), "connection lost: flush: write tcp", "consume: flush: write tcp"},
		{jetstream.ErrConsumerDeleted, "nats: ", "consume: nats: "},
		{jetstream.ErrNoHeartbeat, "nats: no heartbeat", ""},
	} {
		reported, complained := bench.EndedBy(test.err)
		if got := fmt.Sprint(reported); !strings.HasPrefix(got, test.reported) {
			t.Errorf("%v, reported: the run ends by %q, want %q", test.err, got, test.reported)
		}
		if got := fmt.Sprint(complained); (complained == nil) != (test.complained == "") || !strings.HasPrefix(got, test.complained) && complained != nil {
			t.Errorf("%v, complained of: the run ends by %q, want %q", test.err, got, test.complained)
		}
	}
}
