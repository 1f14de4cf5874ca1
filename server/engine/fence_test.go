package engine

import (
	"slices"
	"testing"

	"runnel/server/engine/frames"
)

// TestFence: a subscriber of the server itself knows of each message whether it was sent before the other server had heard of a fence.
func TestFence(t *testing.T) {
	p := newRouted(t, "other", "")
	told := &keeping{logs: true}
	p.in.Attach(told)
	fence := p.y.Fence()
	var since []bool
	p.y.Subscribe(p.subscriber.Account(), "a.*", "", func(m *Message) { since = append(since, m.Since(fence)) })
	asks := slices.Clone(told.all)
	message := []byte("PUB a.b 1\r\nx\r\n")
	frame := func() []byte { // as it was sent to this server, whatever it wants by now
		h := frames.Head{Number: p.subscriber.Account().Number(), Subject: []byte("a.b"), BodyBytes: 1, TailBytes: 6}
		return append(h.Append(nil), "1\r\nx\r\n"...)
	}()

	p.in.hears(t, p.wy, frame)
	p.in.hears(t, p.wy, frames.AppendNumber(nil, frames.Fence, 0)) // it knows of fences
	p.in.hears(t, p.wy, frame)
	p.socket.logs = true
	p.out.hears(t, p.wx, asks)
	p.in.hears(t, p.wy, append(slices.Clone(p.socket.all), frame...))
	p.send(t, message)
	publisher := p.y.connect(&discarding{}, "")
	if _, err := p.wy.input(publisher, message); err != nil {
		t.Fatal(err)
	}
	if want := []bool{true, false, true, true, true}; !slices.Equal(since, want) {
		t.Errorf("sent since the fence: %v, want %v", since, want)
	}

	fence = p.y.Fence()
	p.send(t, message)
	if _, err := p.wy.input(publisher, message); err != nil {
		t.Fatal(err)
	}
	if want := []bool{false, true}; !slices.Equal(since[5:], want) {
		t.Errorf("sent since the second fence: %v, want %v", since[5:], want)
	}
}

// TestFenceOfNewRoute: what comes on a route that is new counts as sent since all fences, once the other server has heard of them.
func TestFenceOfNewRoute(t *testing.T) {
	x, _, _ := linked(t, "y")
	fence := x.Fence()
	r := x.link("z", 0)
	socket := &keeping{logs: true}
	r.Attach(socket)
	if !x.register(&r.Line) {
		t.Fatal("the engine is closed")
	}
	x.routing.add(r)
	var f frames.Frame
	if _, _, err := frames.Next(socket.all, &f); err != nil || f.Kind != frames.Fence || f.Number != fence {
		t.Errorf("it is told %v %d, %v, want fence %d", f.Kind, f.Number, err, fence)
	}
}

// TestFenceAlone: a server alone has no fences, and everything was sent since.
func TestFenceAlone(t *testing.T) {
	x := newFixture(t, openConfig)
	fence, since := x.Fence(), false
	publisher := x.connect(&discarding{}, "")
	x.Subscribe(publisher.Account(), "a", "", func(m *Message) { since = m.Since(fence) })
	if _, err := newWorker(x.Engine, 64).input(publisher, []byte("PUB a 1\r\nx\r\n")); err != nil {
		t.Fatal(err)
	}
	if fence != 0 || !since {
		t.Errorf("fence %d, since %v", fence, since)
	}
}
