package history_test

import (
	"testing"

	"runnel/chaos/history"
)

func TestRequest(t *testing.T) {
	for kind, want := range map[string]bool{
		history.Publish: true, history.Ack: true, history.Swap: true, history.Commit: true, history.DeleteConsumer: true,
		history.Fetch: false, history.Nak: false, history.Add: false, history.Read: false, history.Watch: false, history.Final: false, history.Drained: false,
		history.Fault: false, history.Leave: false, history.Listed: false, "": false, "other": false,
	} {
		if got := history.Request(kind); got != want {
			t.Errorf("Request(%q): got %v, want %v", kind, got, want)
		}
	}
}
