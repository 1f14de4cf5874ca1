package engine

import (
	"runtime"
	"testing"
	"time"
	"weak"
)

// TestPings goes through the life of a connection by a clock of its own.
func TestPings(t *testing.T) {
	x := newFixture(t, openConfig)
	s := &Settings{PingInterval: 2 * time.Minute, PingMax: 2, WriteDeadline: time.Hour, AuthTimeout: time.Hour}
	socket := &fakeSocket{t: t, generous: true}
	c := x.connect(socket, "")
	now := c.meta.Start
	steps := []struct {
		name  string
		after time.Duration // the step before
		pongs bool          // the peer has answered since
		busy  bool          // the peer has published since
		want  string        // what it is sent
	}{
		{"new", time.Second, false, false, ""},
		{"first PING, early", 2 * time.Second, false, false, "PING\r\n"},
		{"not again", time.Minute, true, false, ""},
		{"idle", time.Minute, false, false, "PING\r\n"},
		{"busy, round trip known", 2 * time.Minute, true, true, ""},
		{"busy and no answer to an old PING", 2 * time.Minute, false, true, ""},
		{"idle again", 2 * time.Minute, false, false, "PING\r\n"},
		{"round trip too old", 61 * time.Minute, true, true, "PING\r\n"},
		{"unanswered", 2 * time.Minute, false, false, "PING\r\n"},
		{"answered late", 2 * time.Minute, true, false, "PING\r\n"},
		{"one unanswered", 2 * time.Minute, false, false, "PING\r\n"},
		{"two unanswered", 2 * time.Minute, false, false, "-ERR 'Stale Connection'\r\n"},
	}
	for _, step := range steps {
		if step.pongs {
			c.pulse.Pong(now.Add(time.Millisecond))
		}
		if step.busy {
			c.line.InMessages.Add(1)
		}
		now = now.Add(step.after)
		socket.got = nil
		x.check(&c.line, s, now)
		if got := string(socket.got); got != step.want {
			t.Fatalf("%s: sent %q, want %q", step.name, got, step.want)
		}
	}
	if c.RTT() <= 0 || c.Reason() != ReasonStale || socket.shuts != 1 {
		t.Errorf("round trip %v, reason %q, shut %d times", c.RTT(), c.Reason(), socket.shuts)
	}
}

// TestTick: housekeeping looks often enough for the shortest time-out, and no more often than it must.
func TestTick(t *testing.T) {
	for _, tt := range []struct{ ping, write, auth, most time.Duration }{
		{2 * time.Minute, 10 * time.Second, 2 * time.Second, 500 * time.Millisecond},
		{time.Hour, time.Hour, time.Hour, tickMax},
		{40 * time.Millisecond, time.Hour, time.Hour, 20 * time.Millisecond},
		{0, time.Hour, time.Hour, tickMin},
	} {
		s := Settings{PingInterval: tt.ping, WriteDeadline: tt.write, AuthTimeout: tt.auth}
		if got := s.tick(); got > tt.most || got < tickMin || got > tickMax {
			t.Errorf("%+v: every %v, want at most %v", tt, got, tt.most)
		}
	}
}

// TestSlots: connections take the places of those that are gone.
func TestSlots(t *testing.T) {
	x := newFixture(t, openConfig)
	for range 100 {
		a, b := x.connect(&discarding{}, ""), x.connect(&discarding{}, "")
		if a.line.Slot == b.line.Slot {
			t.Fatalf("two connections in place %d", a.line.Slot)
		}
		a.line.Ended(ReasonClientClosed)
		b.line.Ended(ReasonClientClosed)
	}
	if n := len(x.lines); n != 2 {
		t.Errorf("%d places for two connections at a time", n)
	}
}

// TestStaleStage: a worker that still has something for a connection that is gone does not give it to the one that
// took its place.
func TestStaleStage(t *testing.T) {
	x := newFixture(t, openConfig)
	w := newWorker(x.Engine, 64)
	before, after := &fakeSocket{t: t, generous: true}, &fakeSocket{t: t, generous: true}
	gone := x.connect(before, "")
	w.reply(gone, []byte("for the one that is gone"))
	gone.line.Ended(ReasonClientClosed)
	comes := x.connect(after, "")
	if comes.line.Slot != gone.line.Slot {
		t.Fatalf("place %d after %d", comes.line.Slot, gone.line.Slot)
	}
	w.reply(comes, []byte("hello"))
	w.flush()
	if len(before.got) != 0 || string(after.got) != "hello" {
		t.Errorf("written %q and %q", before.got, after.got)
	}
}

// TestWorkerForgetsSlowTarget: a publisher is not paused for what a former user of its worker sent.
func TestWorkerForgetsSlowTarget(t *testing.T) {
	x := newFixture(t, openConfig)
	socket := &fakeSocket{t: t, generous: true}
	slow := x.connect(socket, "")
	x.crowd(slow, socket)
	slow.Send([]byte("PING\r\n"))
	if w := x.borrow(); w.slow != nil {
		t.Error("a worker that is given back still names a slow target")
	}
}

// TestIdleSweep: neither a Publisher that nobody uses just now nor an idle worker keeps connections alive that are
// gone. In a batch, a Publisher is left alone.
func TestIdleSweep(t *testing.T) {
	x := newFixture(t, openConfig)
	account := x.door.policy.Global()
	p := x.NewPublisher()
	defer p.Close()
	gone := func() weak.Pointer[Conn] {
		c := x.connect(&discarding{}, "")
		x.subscribe(c, "a.*", "", "1")
		for range 2 {
			x.Publish(account, "a.b", "", nil, nil)
			p.Publish(account, "a.b", "", nil, nil)
			p.Publish(account, "a.c", "", nil, make([]byte, 1000))
		}
		p.Flush()
		c.line.Ended(ReasonClientClosed)
		return weak.Make(c)
	}()
	p.begin()
	x.env.Clock.Add(2 * sweepInterval)
	x.sweepIdle() // leaves the one that is in use
	if p.w.swept >= x.env.Clock.Load() {
		t.Error("swept in a batch")
	}
	p.begun = false // not Flush, which sweeps
	p.mu.Unlock()
	x.sweepIdle()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("a connection that is gone is kept alive")
	}
}
