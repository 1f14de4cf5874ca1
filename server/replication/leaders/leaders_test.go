package leaders_test

import (
	"testing"

	"runnel/server/replication/leaders"
)

// hear gives to what from says.
func hear(t *testing.T, to *leaders.Table, from string, notice []byte) {
	t.Helper()
	if notice == nil {
		t.Fatalf("%s has nothing to say", from)
	}
	if err := to.Hear(from, notice); err != nil {
		t.Fatal(err)
	}
}

// expect compares who leads.
func expect(t *testing.T, table *leaders.Table, id uint64, want string) {
	t.Helper()
	if got, _ := table.Leader(id, "self"); got != want {
		t.Errorf("stream %d is led by %q, want %q", id, got, want)
	}
}

// TestLeaders follows a stream from one leader to the next, with notices that come late.
func TestLeaders(t *testing.T) {
	a, b, c := leaders.New(), leaders.New(), leaders.New()
	a.Lead(1, 3)
	a.Lead(2, 3)
	expect(t, a, 1, "self")
	first := a.News()
	hear(t, c, "a", first)
	expect(t, c, 1, "a")

	b.Lead(1, 4)
	hear(t, c, "b", b.News())
	expect(t, c, 1, "b")
	hear(t, c, "a", first) // once more, and late
	expect(t, c, 1, "b")
	a.End(1)
	hear(t, c, "a", a.News())
	expect(t, c, 1, "b")
	expect(t, c, 2, "a")
	if got := a.News(); got != nil {
		t.Errorf("news = %s, want none", got)
	}
	if got := a.Led(); got != 1 {
		t.Errorf("leads %d streams, want 1", got)
	}
}

// TestAll checks that what a server says anew replaces what was known of it, and of nobody else.
func TestAll(t *testing.T) {
	a, b, c := leaders.New(), leaders.New(), leaders.New()
	a.Lead(1, 1)
	a.Lead(2, 1)
	b.Lead(3, 1)
	hear(t, c, "a", a.All())
	hear(t, c, "b", b.All())
	again := leaders.New() // a has started anew
	again.Lead(2, 2)
	hear(t, c, "a", again.All())
	expect(t, c, 1, "")
	expect(t, c, 2, "a")
	expect(t, c, 3, "b")
	c.Forget(3)
	expect(t, c, 3, "")
	c.Lead(2, 3)
	expect(t, c, 2, "self")
	c.End(2)
	expect(t, c, 2, "a")
}

// TestBriefLead checks that who leads for a moment only does not say that he still does.
func TestBriefLead(t *testing.T) {
	a, c := leaders.New(), leaders.New()
	a.Lead(1, 1)
	a.End(1)
	a.End(2) // never led
	hear(t, c, "a", a.News())
	expect(t, c, 1, "")
}

// TestHearNonsense checks that what cannot be read changes nothing.
func TestHearNonsense(t *testing.T) {
	c := leaders.New()
	c.Lead(1, 1)
	for _, bad := range []string{"", "[]", `{"leads":{"x":1}}`, `{"ends":"1"}`} {
		if err := c.Hear("a", []byte(bad)); err == nil {
			t.Errorf("%q was taken in", bad)
		}
	}
	expect(t, c, 1, "self")
}

// TestWait waits for streams to be led, here and elsewhere.
func TestWait(t *testing.T) {
	a, b := leaders.New(), leaders.New()
	here, stopHere := a.Wait(1)
	there, stopThere := b.Wait(1)
	other, stopOther := b.Wait(2)
	again, stopAgain := b.Wait(1)
	stopAgain() // gives up
	defer stopOther()
	a.Lead(1, 3)
	hear(t, b, "a", a.News())
	<-here
	<-there
	stopHere()
	stopThere()
	for name, c := range map[string]<-chan struct{}{"another stream": other, "one who has given up": again} {
		select {
		case <-c:
			t.Errorf("%s: told that somebody leads", name)
		default:
		}
	}
}
