package server_test

import (
	"fmt"
	"strings"
	"sync"
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

// TestReloadWhileMoving: clients that move between accounts while the server reloads are counted where they are.
func TestReloadWhileMoving(t *testing.T) {
	const config = `http_port: -1, accounts { A { users: [{user: a, password: x}] }, B { users: [{user: b, password: x}] } }`
	s := servertest.Start(t, config)
	done := make(chan struct{})
	var moving sync.WaitGroup
	for range 4 {
		c := servertest.Dial(t, s)
		moving.Go(func() {
			for i := range 1000 {
				name := string(rune('a' + i%2))
				c.Send("%sSUB x.%d %d\r\nPUB x.%d 1\r\nm\r\n", user(name, "x"), i, i, i)
				if i%10 == 0 {
					c.Send("PING\r\n")
					for c.Line() != "PONG" {
					}
				}
			}
			c.Close()
		})
	}
	go func() {
		defer close(done)
		moving.Wait()
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			reload(t, s, config)
		}
	}
	servertest.Eventually(t, "no connection is counted", func() bool {
		stats := page[struct {
			Accounts []struct {
				Name  string `json:"acc"`
				Conns int
			} `json:"account_statz"`
		}](t, s, "/accstatz?unused=1").Accounts
		idle := 0
		for _, a := range stats {
			if (a.Name == "A" || a.Name == "B") && a.Conns == 0 {
				idle++
			}
		}
		return idle == 2
	})
}

// TestReloadKeepsWhatListenersNeed: a reload that would take the certificate from a listener, which itself stays until
// a restart, changes nothing.
func TestReloadKeepsWhatListenersNeed(t *testing.T) {
	block := servertest.NewAuthority(t).Server().Block("")
	tests := []struct{ name, before, after, want string }{
		{"monitoring", "https_port: -1\n" + block, "http_port: -1", "https: it needs a tls block"},
		{
			"WebSocket", "websocket { listen: \"127.0.0.1:-1\"\n" + block + "}",
			"websocket { listen: \"127.0.0.1:-1\", no_tls: true }", "websocket: it needs a tls block",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := servertest.Start(t, tt.before)
			before := s.Ports()
			_, err := s.Reload(servertest.Options(t, tt.after))
			mustContain(t, "error", fmt.Sprint(err), "restart", tt.want)
			if got := s.Ports(); fmt.Sprint(got) != fmt.Sprint(before) {
				t.Errorf("URLs are %v now, and were %v", got, before)
			}
		})
	}
}

// TestLargeQuestion: a question to a system service that is far larger than any needs be is not kept for an answer.
func TestLargeQuestion(t *testing.T) {
	s := servertest.Start(t, "")
	c := servertest.Dial(t, s)
	c.Send("%sSUB answer.* 1\r\n", login(""))
	for _, size := range []int{100 << 10, 10 << 10} {
		c.Send("PUB $SYS.REQ.USER.INFO answer.%d %d\r\n%s\r\n", size, size, strings.Repeat(" ", size))
	}
	line := c.Line()
	if want := fmt.Sprintf("MSG answer.%d 1 ", 10<<10); !strings.HasPrefix(line, want) {
		t.Errorf("first answer is %q, want %q", line, want)
	}
}
