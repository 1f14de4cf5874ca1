package workload_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
	"runnel/chaos/workload"
)

func TestResults(t *testing.T) {
	api := func(code int) error {
		return fmt.Errorf("nats: %w", &jetstream.APIError{Code: 400, ErrorCode: jetstream.ErrorCode(code), Description: "no"})
	}
	for _, c := range []struct {
		name string
		err  error
		want history.Result
	}{
		{"no error", nil, history.OK},
		{"time-out of a context", context.DeadlineExceeded, history.Unknown},
		{"cancelled", context.Canceled, history.Unknown},
		{"time-out of the library", nats.ErrTimeout, history.Unknown},
		{"no responders", nats.ErrNoResponders, history.Unknown},
		{"no stream answers", jetstream.ErrNoStreamResponse, history.Unknown},
		{"connection closed", nats.ErrConnectionClosed, history.Unknown},
		{"connection lost", nats.ErrDisconnected, history.Unknown},
		{"connection stale", nats.ErrStaleConnection, history.Unknown},
		{"nothing is buffered", nats.ErrReconnectBufExceeded, history.Unknown},
		{"an answer that is none, as of a full queue", jetstream.ErrInvalidJSAck, history.Unknown},
		{"leadership change", jetstream.ErrConsumerLeadershipChanged, history.Unknown},
		{"server shutdown", jetstream.ErrServerShutdown, history.Unknown},
		{"no heartbeat", jetstream.ErrNoHeartbeat, history.Unknown},
		{"any other", errors.New("what"), history.Unknown},

		{"no meta leader", api(10008), history.Unknown},
		{"insufficient resources", api(10023), history.Unknown},
		{"store failed", api(10077), history.Unknown},
		{"sequence mismatch", api(10063), history.Unknown},
		{"duplicate in process", api(10158), history.Unknown},
		{"expected sequence not ready", api(10163), history.Unknown},
		{"too many requests", api(10167), history.Unknown},
		{"stream offline", api(10118), history.Unknown},
		{"message delete failed", api(10057), history.Unknown},
		{"a code that nobody knows", api(19999), history.Unknown},

		{"wrong last sequence", api(10071), history.Failed},
		{"wrong last sequence, another on its way", api(10164), history.Failed},
		{"wrong last message id", api(10070), history.Failed},
		{"other stream expected", api(10060), history.Failed},
		{"stream not found", jetstream.ErrStreamNotFound, history.Failed},
		{"stream name in use", jetstream.ErrStreamNameAlreadyInUse, history.Failed},
		{"consumer not found", jetstream.ErrConsumerNotFound, history.Failed},
		{"consumer exists", jetstream.ErrConsumerExists, history.Failed},
		{"consumer does not exist", jetstream.ErrConsumerDoesNotExist, history.Failed},
		{"subjects overlap", api(10065), history.Failed},
		{"message too large", api(10054), history.Failed},
		{"account limit", api(10002), history.Failed},
		{"no such message", api(10037), history.Failed},
		{"no such sequence", api(10043), history.Failed},
		{"batch incomplete", api(10176), history.Failed},
		{"too many batches", api(10210), history.Failed},
		{"joined with another", errors.Join(errors.New("what"), api(10071)), history.Failed},
	} {
		if got := workload.ResultOf(c.err); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTextOfErrors(t *testing.T) {
	if got := workload.TextOf(nil); got != "" {
		t.Errorf("no error: got %q, want nothing", got)
	}
	if got := workload.TextOf(errors.New(strings.Repeat("x", 5000))); len(got) != 200 {
		t.Errorf("a long error: got %d bytes, want 200", len(got))
	}
	if got := workload.TextOf(errors.New("short")); got != "short" {
		t.Errorf("got %q, want short", got)
	}
}
