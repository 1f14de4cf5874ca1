package api_test

import (
	"errors"
	"testing"
	"time"

	"runnel/headers"
	"runnel/server/jetstream/api"
)

// TestStatus pins every status, and which say what is left of a request.
func TestStatus(t *testing.T) {
	tests := []struct {
		status  api.Status
		line    string
		pending bool
	}{
		{api.StatusNoMessages, "404 No Messages", false},
		{api.StatusRequestTimeout, "408 Request Timeout", true},
		{api.StatusRequestsPending, "408 Requests Pending", false},
		{api.StatusInterestExpired, "408 Interest Expired", true},
		{api.StatusMaxWaiting, "409 Exceeded MaxWaiting", false},
		{api.StatusMessageSize, "409 Message Size Exceeds MaxBytes", true},
		{api.StatusBatchCompleted, "409 Batch Completed", true},
		{api.StatusConsumerDeleted, "409 Consumer Deleted", false},
		{api.StatusLeadershipChange, "409 Leadership Change", false},
		{api.StatusServerShutdown, "409 Server Shutdown", true},
		{api.StatusPushBased, "409 Consumer is push based", false},
		{api.StatusLevelRequired, "412 Required Api Level", false},
		{api.StatusWrongPin, "423 Nats-Wrong-Pin-Id", true},
		{api.StatusPinMismatch, "423 Nats-Pin-Id mismatch", false},
		{api.StatusFlowControl, "100 FlowControl Request", false},
		{api.StatusEmptyRequest, "408 Empty Request", false},
		{api.StatusMalformedRequest, "408 Malformed Request", false},
		{api.StatusBadRequest, "408 Bad Request", false},
		{api.StatusMessageNotFound, "404 Message Not Found", false},
		{api.StatusNoResults, "404 No Results", false},
		{api.StatusTooManyResults, "413 Too Many Results", false},
		{api.StatusBackupEnd, "204", false},
		{api.StatusBackupNoInterest, "408 No Interest", false},
		{api.StatusBackupNoAcks, "408 No Flow Response", false},
		{api.StatusTooManyRequests, "429 Too Many Requests", false},
	}
	for i, tt := range tests {
		if int(tt.status) != i+1 {
			t.Errorf("%s is not tried in its order", tt.line)
		}
		want := "NATS/1.0 " + tt.line + "\r\n"
		if got := string(tt.status.Block()); got != want+"\r\n" {
			t.Errorf("block: got %q, want %q", got, want)
		}
		if tt.pending {
			want += "Nats-Pending-Messages: 5\r\nNats-Pending-Bytes: 100\r\n"
		}
		want += "\r\n"
		if got := string(tt.status.Append([]byte("x"), 5, 100)); got != "x"+want || tt.status.Pending() != tt.pending {
			t.Errorf("got %q, want %q", got, want)
		}
		if !headers.Valid(tt.status.Append(nil, 0, 0)) {
			t.Errorf("%s is no header block", tt.line)
		}
	}
	for _, none := range []api.Status{api.StatusNone, api.Status(len(tests) + 1), 255} {
		if got := none.Append(nil, 1, 1); none.Block() != nil || len(got) > 0 || none.Pending() {
			t.Errorf("no status %d: got %q", none, got)
		}
	}
}

// TestStatusOfLimits pins the statuses with a limit or a reason in them.
func TestStatusOfLimits(t *testing.T) {
	tests := []struct {
		got  []byte
		want string
	}{
		{api.ExceededBatch(10), "409 Exceeded MaxRequestBatch of 10"},
		{api.ExceededExpires(90 * time.Second), "409 Exceeded MaxRequestExpires of 1m30s"},
		{api.ExceededBytes(1024), "409 Exceeded MaxRequestMaxBytes of 1024"},
		{api.BadRequest(api.NotOverflow), "400 Bad Request - Not a Overflow Priority consumer"},
		{api.BadRequest(api.NotPinned), "400 Bad Request - Not a Pinned Client Priority consumer"},
		{api.BadRequest(api.PriorityRange), "400 Bad Request - Priority must be between 0 and 9"},
		{api.BadRequest(api.GroupMissing), "400 Bad Request - Priority Group missing"},
		{api.BadRequest(api.GroupUnknown), "400 Bad Request - Invalid Priority Group"},
		{api.Failed(errors.New("read the block\r\nagain")), "500 read the block again"},
	}
	for _, tt := range tests {
		if want := "NATS/1.0 " + tt.want + "\r\n\r\n"; string(tt.got) != want {
			t.Errorf("got %q, want %q", tt.got, want)
		}
	}
}

// TestHeartbeat pins what is said while nothing happens.
func TestHeartbeat(t *testing.T) {
	const block = "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 3\r\nNats-Last-Stream: 7\r\n"
	if got := string(api.AppendHeartbeat(nil, 3, 7, "")); got != block+"\r\n" {
		t.Errorf("got %q", got)
	}
	if got := string(api.AppendHeartbeat(nil, 3, 7, "$JS.FC.S.C.x")); got != block+"Nats-Consumer-Stalled: $JS.FC.S.C.x\r\n\r\n" {
		t.Errorf("stalled: got %q", got)
	}
}

// TestStatusAllocations checks that what is said often costs no garbage.
func TestStatusAllocations(t *testing.T) {
	out := make([]byte, 0, 300)
	got := testing.AllocsPerRun(100, func() {
		out = api.StatusRequestTimeout.Append(out[:0], 1000, 1<<40)
		out = api.AppendHeartbeat(out[:0], 1<<40, 1<<40, "x")
		api.StatusNoMessages.Block()
	})
	if got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

func BenchmarkStatus(b *testing.B) {
	out := make([]byte, 0, 300)
	b.ReportAllocs()
	for b.Loop() {
		out = api.StatusRequestTimeout.Append(out[:0], 500, 0)
	}
}
