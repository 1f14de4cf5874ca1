package servertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"runnel/server"
)

// Quiet is the CONNECT of an ordinary client without credentials.
const Quiet = `CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1}` + "\r\n"

// Client is a raw connection: it sends the bytes that it is told to, and compares lines. What fails ends the
// test. It is for one goroutine.
type Client struct {
	t    testing.TB
	nc   net.Conn
	r    *bufio.Reader
	info map[string]any
}

// Dial connects to s over TCP and reads its INFO. The connection is closed when the test ends.
func Dial(t testing.TB, s *server.Server) *Client {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	c := NewClient(t, nc)
	c.ReadInfo()
	return c
}

// DialQuiet is [Dial] and an ordinary CONNECT without credentials.
func DialQuiet(t testing.TB, s *server.Server) *Client {
	t.Helper()
	c := Dial(t, s)
	c.Send(Quiet)
	c.Flush()
	return c
}

// NewClient talks over a connection that exists, and closes it when the test ends. Nothing is read yet.
func NewClient(t testing.TB, nc net.Conn) *Client {
	t.Cleanup(func() { _ = nc.Close() }) // most often it is closed already
	return &Client{t: t, nc: nc, r: bufio.NewReader(nc)}
}

// Conn is the connection underneath. What was read ahead of it is lost to others.
func (c *Client) Conn() net.Conn { return c.nc }

// Info is the last INFO that was read.
func (c *Client) Info() map[string]any { return c.info }

// Send writes a text. With args it is a format.
func (c *Client) Send(text string, args ...any) {
	c.t.Helper()
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	if _, err := io.WriteString(c.nc, text); err != nil {
		c.t.Fatalf("send %.60q: %v", text, err)
	}
}

// Line reads the next line and returns it without its end. An INFO is a line too, and remembered.
func (c *Client) Line() string {
	c.t.Helper()
	line, err := c.read()
	if err != nil {
		c.t.Fatalf("read a line: %v, after %q", err, line)
	}
	return line
}

func (c *Client) read() (string, error) {
	if err := c.nc.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		return "", err
	}
	line, err := c.r.ReadString('\n')
	line = strings.TrimRight(line, "\r\n")
	if text, ok := strings.CutPrefix(line, "INFO "); ok && err == nil {
		c.info = nil
		if err := json.Unmarshal([]byte(text), &c.info); err != nil {
			return line, fmt.Errorf("INFO: %w", err)
		}
	}
	return line, err
}

// ReadInfo reads an INFO, which must be the next line.
func (c *Client) ReadInfo() {
	c.t.Helper()
	if line := c.Line(); !strings.HasPrefix(line, "INFO {") {
		c.t.Fatalf("got line %.200q, want an INFO", line)
	}
}

// Expect reads lines and compares them. What a server may say at any time is passed over: an INFO, and a PING,
// which is answered.
func (c *Client) Expect(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		got := c.Line()
		for got != want && c.anytime(got) {
			got = c.Line()
		}
		if got != want {
			c.t.Fatalf("got line %.300q, want %.300q", got, want)
		}
	}
}

// anytime deals with a line that a server may send at any time, and tells whether it was one.
func (c *Client) anytime(line string) bool {
	if line == "PING" {
		_, _ = io.WriteString(c.nc, "PONG\r\n") // the connection may have ended; the next read tells
		return true
	}
	return strings.HasPrefix(line, "INFO {")
}

// Flush sends PING and expects PONG and, as [Client.Expect], nothing before it: what was sent earlier had no
// other answer, and the server has dealt with it.
func (c *Client) Flush() {
	c.t.Helper()
	c.Send("PING\r\n")
	c.Expect("PONG")
}

// ExpectClosed expects the end of the connection and, as [Client.Expect], nothing before it.
func (c *Client) ExpectClosed() {
	c.t.Helper()
	for {
		line, err := c.read()
		switch {
		case err == nil && c.anytime(line):
			continue
		case err == nil || line != "":
			c.t.Fatalf("got %.200q, want the end of the connection", line)
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.t.Fatal("the connection is still open")
		case !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrClosedPipe):
			c.t.Fatalf("got error %v, want the end of the connection", err)
		}
		return
	}
}

// Close closes the connection from the client's side.
func (c *Client) Close() { _ = c.nc.Close() } // a second time is an error that means nothing
