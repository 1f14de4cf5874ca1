package engine

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/accounts"
)

// pipe serves a connection over a pipe, which takes only what the other end reads, and reads its INFO.
func (x *fixture) pipe(connect string) (c *Conn, near net.Conn, r *bufio.Reader) {
	x.t.Helper()
	near, far := net.Pipe()
	c = x.NewConn(&Meta{Type: accounts.Standard, Start: time.Now()})
	info := x.door.Info(c)
	x.Serve(c, far, &info)
	r = bufio.NewReader(near)
	if _, err := r.ReadString('\n'); err != nil {
		x.t.Fatal(err)
	}
	if _, err := io.WriteString(near, connect); err != nil {
		x.t.Fatal(err)
	}
	return c, near, r
}

// TestSlowButNotStuck: who takes what waits for it in pieces, each of them in time, is no slow consumer, also where
// the whole takes much longer than the deadline.
func TestSlowButNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Second
		x := newFixture(t, openConfig)
		s := x.Settings()
		s.WriteDeadline = limit
		x.SetSettings(s)
		c, near, r := x.pipe("SUB a 1\r\n")
		defer near.Close()
		if _, err := r.ReadString('\n'); err != nil { // +OK
			t.Fatal(err)
		}
		const messages = 64
		for range messages {
			x.Publish(x.door.policy.Global(), "a", "", nil, []byte(strings.Repeat("x", 64<<10)))
		}
		for range messages {
			time.Sleep(limit / 4)
			if _, err := io.CopyN(io.Discard, r, 64<<10); err != nil {
				t.Fatalf("cut off: %v, reason %q", err, c.Reason())
			}
		}
		time.Sleep(2 * limit)
		synctest.Wait()
		if c.Reason() != ReasonSlowDeadline {
			t.Error("who reads no more is still there")
		}
	})
}
