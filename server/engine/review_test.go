package engine

import (
	"bufio"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"runnel/server/accounts"
	"runnel/server/wire"
)

// pipe serves a connection over a pipe, which takes only what the other end reads, and reads its INFO. It is for
// tests inside a bubble of synctest.
func (x *fixture) pipe(connect string) (c *Conn, r *bufio.Reader) {
	x.t.Helper()
	near, far := net.Pipe()
	x.t.Cleanup(func() {
		_ = near.Close()
		synctest.Wait() // until it has ended
	})
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
	return c, r
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
		c, r := x.pipe("SUB a 1\r\n")
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

// twoUsers have other permissions in the same account; all may answer what they are asked.
var twoUsers = accounts.Config{Users: []accounts.UserConfig{
	{Username: "wide", Password: "wide", Permissions: &accounts.Permissions{
		Responses: &accounts.ResponsePermission{Max: 1, Expires: time.Hour},
	}},
	{Username: "narrow", Password: "narrow", Permissions: &accounts.Permissions{
		Subscribe: accounts.Rules{Deny: []string{"secret"}},
		Responses: &accounts.ResponsePermission{Max: 1, Expires: time.Hour},
	}},
}}

// user is the identity of a user whose password is the name.
func (x *fixture) user(name string) *accounts.Identity {
	x.t.Helper()
	id, err := x.door.identity(accounts.Credentials{Username: name, Password: name})
	if err != nil {
		x.t.Fatal(err)
	}
	return id
}

// TestSubscribeAfterReload: a batch that a reload interrupts gets no subscription that the reload has come too early
// to remove.
func TestSubscribeAfterReload(t *testing.T) {
	x := newFixture(t, twoUsers)
	socket := &discarding{}
	c := x.connect(socket, "wide")
	w := newWorker(x.Engine, 64)
	w.adopt(c) // a batch begins
	if !c.Rebind(c.Identity(), x.user("narrow")) {
		t.Fatal("not bound")
	}
	for subject, sid := range map[string]string{"secret": "1", "open": "2"} {
		f := wire.Frame{Verb: wire.VerbSub, Subject: []byte(subject), SID: []byte(sid)}
		if err := w.subscribe(c, &f); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Subscriptions(); len(got) != 1 || got[0].Subject != "open" {
		t.Errorf("%d subscriptions, want the permitted one only", len(got))
	}
	w.flush()
	if socket.bytes == 0 {
		t.Error("the client was not told")
	}
}

// TestRebindOutdated: who has logged in again is not made what it was before.
func TestRebindOutdated(t *testing.T) {
	x := newFixture(t, twoUsers)
	c := x.connect(&discarding{}, "wide")
	before := c.Identity()
	c.bind(x.user("narrow")) // meanwhile
	now := c.Identity()
	if c.Rebind(before, x.user("wide")) || c.Identity() != now || c.profile.Load() != now.Profile {
		t.Error("an identity that is outdated came back")
	}
}

// TestAnswersSurviveReload: what a client was asked before a reload it may answer after it.
func TestAnswersSurviveReload(t *testing.T) {
	x := newFixture(t, twoUsers)
	c := x.connect(&discarding{}, "wide")
	owed := c.replies.Load()
	owed.Expect("inbox.1", time.Now())
	if !c.Rebind(c.Identity(), x.user("narrow")) || c.replies.Load() != owed {
		t.Error("who may answer as before no longer may")
	}
	c.bind(x.user("narrow"))
	if c.replies.Load() == owed {
		t.Error("who has logged in again may answer what was asked before")
	}
}

// barred is a door that lets nobody stay.
type barred struct{ *openDoor }

func (barred) Bound(c *Conn) { c.Close(ReasonAuthFailure, "Authorization Violation") }

// TestBoundTooLate: a client that a reload ends while it logs in has nothing carried out.
func TestBoundTooLate(t *testing.T) {
	x := newFixture(t, openConfig)
	x.handler = barred{x.door}
	socket := &discarding{}
	subscriber := x.connect(socket, "")
	x.subscribe(subscriber, "a", "", "1")
	c := x.NewConn(&Meta{Start: time.Now()})
	c.line.Attach(&discarding{})
	if !x.register(&c.line) {
		t.Fatal("the engine is closed")
	}
	w := newWorker(x.Engine, 64)
	if _, err := w.input(c, []byte("CONNECT {}\r\nPUB a 1\r\nx\r\n")); err == nil {
		t.Error("no error after the connection has ended")
	}
	w.flush()
	if socket.bytes != 0 || c.Connected() {
		t.Errorf("%d bytes delivered, connected: %t", socket.bytes, c.Connected())
	}
}

// kept is what the entries of a cache have in memory, and how many there are.
func (m *matchCache) kept() (bytes, entries int) {
	all := slices.Clone(m.prefixes)
	for _, b := range m.exact {
		all = append(all, b.entries[:]...)
	}
	for _, e := range all {
		if e == nil {
			continue
		}
		entries++
		bytes += len(e.subject)
		for _, targets := range append(e.queues, e.plain) {
			bytes += cap(targets) * int(unsafe.Sizeof(target{}))
			for _, t := range targets {
				bytes += len(t.prefix)
			}
		}
	}
	return bytes, entries
}

// TestMatchCacheBytes: subjects that are long and have many subscribers do not make a cache larger than others do.
func TestMatchCacheBytes(t *testing.T) {
	const size = 2048
	x := newFixture(t, openConfig)
	c := x.connect(&discarding{}, "")
	for i := range 100 {
		x.subscribe(c, "long.>", []string{"", "group"}[i%2], strconv.Itoa(i))
	}
	x.subscribe(c, "short.*", "", "s")
	m := newMatchCache(size)
	most, p := 0, c.profile.Load()
	for i := range 2 * size {
		subject := []byte("long." + strconv.Itoa(i/2) + strings.Repeat("x", 1000) + "." + strconv.Itoa(i/2))
		if e := m.lookup(p, subject, fromClient); len(e.plain) != 50 || len(e.queues) != 1 || len(e.queues[0]) != 50 {
			t.Fatalf("%d subscriptions and %d groups found", len(e.plain), len(e.queues))
		}
		bytes, _ := m.kept()
		most = max(most, bytes)
	}
	if limit := size * entryBytes * 3 / 2; most > limit { // slices have room to spare, which is not counted
		t.Errorf("kept %d bytes, want %d at most", most, limit)
	}
	for i := range 2 * size {
		m.lookup(p, []byte("short."+strconv.Itoa(i/2)), fromClient)
	}
	if _, entries := m.kept(); entries < size/2 {
		t.Errorf("%d entries with one target kept, want most of %d", entries, size)
	}
	c.removeAllSubscriptions()
	m.sweep()
	if bytes, entries := m.kept(); entries != 0 || m.bytes != 0 {
		t.Errorf("%d entries are left of %d bytes, which count as %d", entries, bytes, m.bytes)
	}
}

// slowDoor takes its time for each login.
type slowDoor struct {
	*openDoor
	inside, most, asked atomic.Int32
	open                chan struct{}
}

func (d *slowDoor) MayBlock(*Conn, *wire.Connect) bool { return true }

func (d *slowDoor) Authenticate(c *Conn, o *wire.Connect) (*accounts.Identity, error) {
	d.asked.Add(1)
	n := d.inside.Add(1)
	for most := d.most.Load(); n > most && !d.most.CompareAndSwap(most, n); most = d.most.Load() {
	}
	<-d.open
	d.inside.Add(-1)
	return d.openDoor.Authenticate(c, o)
}

// TestChecksAreBounded: however many log in, few credentials are checked at a time, and those of who has gone not at
// all.
func TestChecksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t, openConfig)
		door := &slowDoor{openDoor: x.door, open: make(chan struct{})}
		x.handler = door
		const clients, leave = 50, 20
		var conns []*Conn
		for range clients {
			c, _ := x.pipe("CONNECT {\"verbose\":false}\r\n")
			conns = append(conns, c)
		}
		synctest.Wait()
		most := int(door.most.Load())
		if most != cap(x.checks) {
			t.Errorf("%d checks at once, want %d", most, cap(x.checks))
		}
		// All that are not being checked yet may be among those who leave.
		for _, c := range conns[:leave] {
			c.Close(ReasonKicked, "")
		}
		close(door.open)
		synctest.Wait()
		if got := int(door.asked.Load()); got > clients-leave+most || got < clients-leave {
			t.Errorf("%d credentials checked, want those of %d clients who stayed", got, clients-leave)
		}
		for i, c := range conns {
			if i >= leave && !c.Connected() {
				t.Errorf("client %d is not connected", i)
			}
		}
	})
}

// TestMessageBeforeLogin: who must log in is refused when it begins a message, and not kept waiting, and its bytes
// kept, until the message is complete.
func TestMessageBeforeLogin(t *testing.T) {
	x := newFixture(t, twoUsers)
	c := x.NewConn(&Meta{Start: time.Now()})
	c.line.Attach(&discarding{})
	if !x.register(&c.line) {
		t.Fatal("the engine is closed")
	}
	w := newWorker(x.Engine, 64)
	if _, err := w.input(c, []byte("PUB a 100000\r\nxx")); err == nil || c.Reason() != ReasonAuthFailure {
		t.Errorf("error %v, closed for %q, want %q", err, c.Reason(), ReasonAuthFailure)
	}
}

// TestMessageInPartsBeforeLogin: who need not log in may begin with a message that comes in parts.
func TestMessageInPartsBeforeLogin(t *testing.T) {
	x := newFixture(t, openConfig)
	socket := &discarding{}
	x.subscribe(x.connect(socket, ""), "a", "", "1")
	c := x.NewConn(&Meta{Start: time.Now()})
	c.line.Attach(&discarding{})
	if !x.register(&c.line) {
		t.Fatal("the engine is closed")
	}
	w := newWorker(x.Engine, 64)
	const whole = "PUB a 3\r\nabc\r\n"
	if used, err := w.input(c, []byte(whole[:10])); used != 0 || err != nil || w.parser.Need() != len(whole) {
		t.Fatalf("used %d, %v, needs %d, want 0 and the whole of %d", used, err, w.parser.Need(), len(whole))
	}
	if used, err := w.input(c, []byte(whole)); used != len(whole) || err != nil {
		t.Fatalf("used %d, %v", used, err)
	}
	if w.flush(); socket.bytes != len("MSG a 1 3\r\nabc\r\n") {
		t.Errorf("%d bytes delivered", socket.bytes)
	}
}

// TestNeedIsOfThisConnection: what the last connection of a worker was waiting for does not concern the next.
func TestNeedIsOfThisConnection(t *testing.T) {
	x := newFixture(t, openConfig)
	w := newWorker(x.Engine, 64)
	if _, err := w.input(x.connect(&discarding{}, ""), []byte("PUB a 1000000\r\n")); err != nil || w.parser.Need() == 0 {
		t.Fatalf("needs %d, %v", w.parser.Need(), err)
	}
	if _, err := w.input(x.connect(&discarding{}, ""), nil); err != nil || w.parser.Need() != 0 {
		t.Errorf("needs %d, %v, want nothing", w.parser.Need(), err)
	}
}

// TestDeliveryIsActivity: who is sent a message is not idle.
func TestDeliveryIsActivity(t *testing.T) {
	x := newFixture(t, openConfig)
	c := x.connect(&discarding{}, "")
	x.subscribe(c, "a", "", "1")
	later := time.Now().Add(time.Hour)
	x.env.Clock.Store(later.UnixNano())
	x.Publish(c.Account(), "a", "", nil, []byte("x"))
	if got := c.LastActivity(); got.Before(later) {
		t.Errorf("last activity %v, want %v", got, later)
	}
}
