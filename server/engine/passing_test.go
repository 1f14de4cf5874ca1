package engine

import (
	"bytes"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine/frames"
)

// TestRoutePassesOn: a message for a queue group that has no member here any more goes to one on another server, once.
func TestRoutePassesOn(t *testing.T) {
	x, y, _ := linked(t, "y")
	z := x.link("z", 0)
	socket := &keeping{}
	z.Attach(socket)
	if !x.register(&z.Line) {
		t.Fatal("the engine is closed")
	}
	x.routing.add(z)
	w := newWorker(x.Engine, 64)
	a := x.door.policy.Global()
	member := x.connect(&discarding{}, "")
	x.subscribe(member, "a", "q", "1")
	x.tell()
	z.hears(t, w, frames.AppendInterest(frames.AppendAccount(nil, 7, accounts.GlobalName), 7, "a", "q", 1))
	message := func(flags uint8, group string) []byte {
		queues, _ := frames.AppendQueue(nil, group)
		h := frames.Head{Number: a.Number(), Flags: flags, Queues: queues, Subject: []byte("a"), BodyBytes: 5, TailBytes: len("5\r\nhello\r\n")}
		return append(h.Append(nil), "5\r\nhello\r\n"...)
	}
	arrives := func(flags uint8, group string) []byte {
		socket.last = socket.last[:0]
		y.hears(t, w, message(flags, group))
		return socket.last
	}
	if got := arrives(0, "q"); len(got) != 0 || member.Counters().OutMessages != 1 {
		t.Errorf("with a member here %q goes elsewhere, and that one gets %d", got, member.Counters().OutMessages)
	}
	member.line.End(ReasonClientClosed, nil, true)
	var f frames.Frame
	got := arrives(0, "q")
	if n, _, err := frames.Next(got, &f); n != len(got) || err != nil || f.Kind != frames.Message {
		t.Fatalf("without a member here %q goes elsewhere, %v", got, err)
	}
	group, _, ok := frames.CutQueue(f.Queues)
	if !ok || string(group) != "q" || f.Number != 7 || string(f.Subject) != "a" || !bytes.HasSuffix(f.Tail, []byte("hello\r\n")) || f.Flags != frames.Again {
		t.Errorf("%+v goes elsewhere", f)
	}
	if got := arrives(frames.Again, "q"); len(got) != 0 {
		t.Errorf("%q is passed on a second time", got)
	}
	if got := arrives(0, "unknown"); len(got) != 0 {
		t.Errorf("for a group without any member %q goes elsewhere", got)
	}
}
