package engine_test

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"runnel/server/accounts"
)

// FuzzConnection sends whatever comes on one connection. It must not disturb another one, which subscribes,
// publishes and pings on the same engine meanwhile, and must leave nothing behind.
func FuzzConnection(f *testing.F) {
	for _, s := range []string{
		"", "\r\n", "PING\r\n", quiet, "CONNECT {}\r\nSUB > 1\r\nPUB a 0\r\n\r\n", "CONNECT {\r\n", "CONNECT {}\r\nCONNECT {}\r\n",
		quiet + "SUB > q 1\r\nUNSUB 1 1\r\nPUB a r 5\r\nhello\r\nHPUB a r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
		"PUB a 18446744073709551617\r\n", "PUB a -1\r\n", "PUB a 1048577\r\n", "PUB a 1000000\r\nx", "HPUB a 20 10\r\n", "MSG a 1 0\r\n\r\n",
		quiet + "SUB a..b 1\r\nSUB .a 2\r\nSUB a.>.b 3\r\nSUB $SYS.> 4\r\nPUB _GR_.x 0\r\n\r\nPUB a _R_.x 0\r\n\r\nPUB a\x00b 0\r\n\r\n",
		"-ERR 'x'\r\n", "+OK\r\nINFO {}\r\nPONG\r\nPONG\r\n", "sub\ta\t1\npub a 00002\nhi\r\nunsub 1 99999999999999\n",
	} {
		f.Add([]byte(s))
	}
	type side struct {
		h         *harness
		bystander *client
	}
	var sides []side
	for _, tr := range transports {
		h := start(f, tr.pollers, accounts.Config{}, nil)
		sides = append(sides, side{h, h.connect()})
	}
	round := 0
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range sides {
			s.h.t, s.bystander.t = t, t
			round++
			s.h.journal.take()
			s.h.attack(text, func() {
				subject := fmt.Sprintf("bystander.%d.of.%s", round, t.Name())
				s.bystander.send("SUB %s %d\r\n%sUNSUB %d\r\nPING\r\n", subject, round, pub(subject, "all is well"), round)
				s.bystander.expect(fmt.Sprintf("MSG %s %d 11", subject, round), "all is well", "PONG")
			})
			if n := s.h.engine.ConnCount(); n != 1 {
				t.Fatalf("%d connections are left, want 1", n)
			}
			if n := s.h.policy.Global().Interest().Len(); n != 0 {
				t.Fatalf("%d subscriptions are left", n)
			}
		}
	})
}

// attack sends text on a new connection, lets another one work meanwhile and afterwards, and waits for the end of
// the new one.
func (h *harness) attack(text []byte, work func()) {
	h.t.Helper()
	nc, err := net.Dial("tcp", h.listener.Addr().String())
	if err != nil {
		h.t.Fatal(err)
	}
	defer nc.Close()
	half := len(text) / 2
	_, _ = nc.Write(text[:half]) // an error means that it was refused, which is fine
	work()
	_, _ = nc.Write(text[half:])
	_ = nc.(*net.TCPConn).CloseWrite()
	_ = nc.SetReadDeadline(time.Now().Add(patience))
	_, _ = io.Copy(io.Discard, nc)
	h.waitClosed()
	work()
}
