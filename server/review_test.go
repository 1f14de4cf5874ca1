package server_test

import (
	"fmt"
	"testing"
	"time"

	"runnel/server/servertest"
)

// TestWebSocketPingLate: a ping on the level of WebSocket is answered also when the time limit for the last message
// to the client has long passed, and the client is served as before.
func TestWebSocketPingLate(t *testing.T) {
	const limit = 100 * time.Millisecond
	s := servertest.Start(t, fmt.Sprintf("write_deadline: %q\n", limit)+fmt.Sprintf(plainWeb, ""))
	c := dialWeb(t, s)
	<-time.After(2 * limit) // nothing shows that a deadline was not lifted but its passing
	c.frame(frameFinal|framePing, "still there?")
	if opcode, payload := c.read(); opcode != framePong || string(payload) != "still there?" {
		t.Fatalf("ping is answered by a frame with opcode %d and %q", opcode, payload)
	}
	c.send("PING\r\n")
	if got := c.until("\r\n"); got != "PONG\r\n" {
		t.Errorf("PING is answered by %q", got)
	}
}
