package engine_test

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"runnel/server/engine"
)

// message is one delivery.
type message struct {
	subject, sid, reply string
	header, payload     string
}

// read reads one delivery. Unlike the other methods of a client it may be called from any goroutine.
func (c *client) read() (message, error) {
	line, err := c.readLine()
	if err != nil {
		return message{}, fmt.Errorf("read line: %w (had %q)", err, line)
	}
	return c.body(line)
}

// body reads the rest of the delivery that begins with line.
func (c *client) body(line string) (message, error) {
	var m message
	words := strings.Fields(line)
	fixed := 4 // words of a line without reply
	if strings.HasPrefix(line, "HMSG ") {
		fixed = 5
	} else if !strings.HasPrefix(line, "MSG ") {
		return m, fmt.Errorf("got line %.200q, want a message", line)
	}
	if len(words) < fixed || len(words) > fixed+1 {
		return m, fmt.Errorf("malformed line %q", line)
	}
	m.subject, m.sid = words[1], words[2]
	if len(words) > fixed {
		m.reply = words[3]
	}
	total, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return m, err
	}
	body := make([]byte, total+2)
	if _, err := io.ReadFull(c.r, body); err != nil {
		return m, fmt.Errorf("read %d bytes: %w", total, err)
	}
	header := 0
	if fixed == 5 {
		if header, err = strconv.Atoi(words[len(words)-2]); err != nil {
			return m, err
		}
	}
	if string(body[total:]) != "\r\n" || header > total {
		return m, fmt.Errorf("%q is not followed by its body but %.60q", line, body)
	}
	m.header, m.payload = string(body[:header]), string(body[header:total])
	return m, nil
}

// message reads one delivery.
func (c *client) message() message {
	c.t.Helper()
	m, err := c.read()
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// drain reads deliveries until PONG answers a PING that it sends, and returns them.
func (c *client) drain() []message {
	c.t.Helper()
	c.send("PING\r\n")
	var all []message
	for {
		_ = c.nc.SetReadDeadline(time.Now().Add(patience))
		next, err := c.r.Peek(4)
		if err != nil {
			c.t.Fatalf("read: %v", err)
		}
		switch string(next) {
		case "PONG":
			c.expect("PONG")
			return all
		case "PING":
			c.expectPing()
			c.send("PONG\r\n")
		default:
			all = append(all, c.message())
		}
	}
}

// narrow makes the client one whose socket takes little, so that the engine soon has to wait for it.
func (c *client) narrow() *client {
	c.t.Helper()
	if err := c.nc.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// pub is the text of one message.
func pub(subject, payload string) string {
	return "PUB " + subject + " " + strconv.Itoa(len(payload)) + "\r\n" + payload + "\r\n"
}

// write sends text from any goroutine; an error shows in what does not arrive.
func (c *client) write(text string) { _, _ = io.WriteString(c.nc, text) }

// together runs n goroutines and waits for them.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// fill publishes far more than the sockets hold to subscriber, which does not read, so that the rest waits in the
// engine. It returns how many messages that took, numbered from 0 on; fewer when the subscriber is cut off before.
func (h *harness) fill(publisher, subscriber *client, subject string) (next int) {
	h.t.Helper()
	const socketsMost = 12 << 20
	s := h.served(subscriber)
	for ; next < socketsMost/len(numbered(0)) && s.Reason() == engine.ReasonNone; next++ {
		publisher.send("%s", pub(subject, numbered(next)))
		publisher.flush()
	}
	if s.PendingBytes() == 0 && s.Reason() == engine.ReasonNone {
		h.t.Fatal("nothing waits for a subscriber that does not read")
	}
	return next
}

// numbered is a payload of about 64 KiB that says which one it is.
func numbered(n int) string { return fmt.Sprintf("%08d%s", n, strings.Repeat("x", 64<<10)) }

func TestNumbered(t *testing.T) {
	if a, b := numbered(1), numbered(2); a == b || len(a) != len(b) {
		t.Errorf("payloads of %d and %d bytes, the same: %t", len(a), len(b), a == b)
	}
}
