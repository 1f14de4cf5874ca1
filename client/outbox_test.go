package client_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/client"
)

// TestOutboxDelayed adds messages to an outbox that a stream would refuse, and that would hold up those behind them for ever: the transaction hears of it.
func TestOutboxDelayed(t *testing.T) {
	for _, name := range []string{"Runnel-Delay", "Runnel-Deliver-At"} {
		m := nats.NewMsg("s.a")
		m.Header.Set(name, "1h")
		var o client.Outbox
		if err := o.Add(t.Context(), nil, m); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
