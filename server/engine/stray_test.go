package engine

import (
	"fmt"
	"slices"
	"testing"

	"runnel/server/accounts"
)

// TestStray: of a message that another server sends here since it does not know yet that nobody wants it any more somebody is told, if
// its publisher waits for an answer.
func TestStray(t *testing.T) {
	p := newRouted(t, "a.*", "")
	var strays []string
	p.y.routing.cfg.Stray = func(a *accounts.Account, subject, reply []byte) {
		strays = append(strays, fmt.Sprintf("%s %s %s", a.Name(), subject, reply))
	}
	message := "PUB a.b r 1\r\nx\r\n"
	p.send(t, []byte(message))
	if len(strays) > 0 {
		t.Errorf("%q went astray while somebody wants it", strays)
	}
	if _, err := p.wy.input(p.subscriber, []byte("UNSUB 1\r\n")); err != nil {
		t.Fatal(err)
	}
	p.send(t, []byte(message+"PUB a.c 1\r\nx\r\nHPUB a.d s 12 13\r\nNATS/1.0\r\n\r\nx\r\n"))
	name := p.subscriber.Account().Name()
	if want := []string{name + " a.b r", name + " a.d s"}; !slices.Equal(strays, want) {
		t.Errorf("%q went astray, want %q", strays, want)
	}
}
