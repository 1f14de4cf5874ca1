package soak

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// answering accepts connections one after the other, hears what each says up to its ping, and answers it with the next of some texts; one
// that gets "" is closed, and one that gets an error has to close. What they have said comes out of the channel.
func answering(t *testing.T, answers ...string) (address string, said chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	said = make(chan string, len(answers))
	done := make(chan struct{})
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	go func() {
		defer close(done)
		for _, answer := range answers {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var text strings.Builder
			for lines := bufio.NewScanner(conn); lines.Scan() && lines.Text() != "PING"; {
				text.WriteString(lines.Text() + "\n")
			}
			said <- text.String()
			fmt.Fprint(conn, answer)
			switch {
			case answer == "":
				conn.Close()
			case strings.Contains(answer, "-ERR"):
				err := conn.SetReadDeadline(time.Now().Add(answerTime))
				if err == nil {
					_, err = io.Copy(io.Discard, conn) // the next one is not heard before
				}
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error("a client that was sent away has not closed its connection")
				}
				conn.Close()
			default:
				t.Cleanup(func() { conn.Close() })
			}
		}
	}()
	return l.Addr().String(), said
}

// TestJoin: a client is in when the server has heard all that it had to say, and not before.
func TestJoin(t *testing.T) {
	tests := []struct{ name, answer, err string }{
		{"in", "INFO {}\r\nPONG\r\n", ""},
		{"after other lines", "INFO {}\r\nPING\r\nMSG a 1 0\r\n\r\nPONG\r\n", ""},
		{"sent away", "INFO {}\r\n-ERR 'maximum connections exceeded'\r\n", "maximum connections exceeded"},
		{"asked, and sent away", "INFO {}\r\nPING\r\n-ERR 'Stale Connection'\r\n", "Stale Connection"},
		{"closed", "", "EOF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			address, said := answering(t, test.answer)
			var c crowd
			defer c.leave(false)
			err := c.join(address, "SUB a 1\r\n")
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
			if in := len(c.conns) == 1; in != (test.err == "") {
				t.Errorf("%d connections are known, want one if it is in", len(c.conns))
			}
			if got := <-said; !strings.HasPrefix(got, "CONNECT {") || !strings.HasSuffix(got, "}\nSUB a 1\n") {
				t.Errorf("it said %q", got)
			}
		})
	}
}

// TestJoinAll: who is sent away comes again, each says its own, and all of them leave.
func TestJoinAll(t *testing.T) {
	const in = "PONG\r\n"
	address, said := answering(t, "-ERR 'not yet'\r\n", in, "-ERR 'not yet'\r\n", in, in)
	var c crowd
	err := c.joinAll(t.Context(), address, 3, 1, func(i int) string { return fmt.Sprintf("SUB a %d\r\n", i) })
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for range 5 {
		_, sub, _ := strings.Cut(<-said, "SUB a ")
		got.WriteString(strings.TrimSpace(sub))
	}
	if got.String() != "00112" {
		t.Errorf("clients came in the order %s, want 00112", got.String())
	}
	if len(c.conns) != 3 {
		t.Errorf("%d connections are known, want the 3 that are in", len(c.conns))
	}
	c.leave(true)
	if len(c.conns) != 0 {
		t.Errorf("%d connections are left", len(c.conns))
	}
	c.leave(false) // of nobody
}
