package body_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"runnel/jetlog/body"
)

// TestOverlay plans at random, and compares the answers with those of a body in which that has been done.
func TestOverlay(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 5))
		below, done, p := body.NewMemory(), body.NewMemory(), plain{}
		next := uint64(1)
		subject := func() string { return fmt.Sprintf("s.%d", rng.IntN(4)) }
		for range rng.IntN(40) {
			next += uint64(rng.IntN(3))
			name := subject()
			add(below, plain{}, next, name, int64(next))
			add(done, p, next, name, int64(next))
			next++
		}
		o := body.Over(below, next-1)
		for step := range 60 {
			if live := p.matching(body.Filter{subject()}, 0, top); rng.IntN(3) == 0 && len(live) > 0 {
				meta := p[live[0]]
				o.PlanRemoval(&meta)
				done.Remove(&meta, body.Deleted)
				delete(p, live[0])
			} else {
				next += uint64(rng.IntN(2) * rng.IntN(5))
				add(done, p, next, subject(), int64(next))
				meta := p[next]
				message, _ := done.Load(next)
				o.Plan(&meta, message.Header, message.Payload)
				next++
			}
			alike(t, fmt.Sprintf("seed %d, step %d", seed, step), o, done, next)
		}
	}
}

func alike(t *testing.T, where string, o *body.Overlay, want *body.Memory, end uint64) {
	t.Helper()
	equal := func(what string, a, b any, errs ...error) {
		t.Helper()
		if errors.Join(errs...) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("%s: %s: got %v, want %v, %v", where, what, a, b, errs)
		}
	}
	for seq := range end + 2 {
		a, errA := o.Meta(seq)
		b, errB := want.Meta(seq)
		equal("meta", a, b, errA, errB)
		x, errA := o.Load(seq)
		y, errB := want.Load(seq)
		equal("load", x, y, errA, errB)
		n, errA := o.Next(seq)
		k, errB := want.Next(seq)
		equal("next", n, k, errA, errB)
		for _, filter := range []body.Filter{{"s.1"}, {"s.*"}, {"s.2", "s.3"}, {"none"}} {
			n, errA := o.NextOf(filter, seq)
			k, errB := want.NextOf(filter, seq)
			equal("next of", n, k, errA, errB)
		}
	}
	for i := range 5 {
		name := fmt.Sprintf("s.%d", i)
		a, errA := o.Subject(name)
		b, errB := want.Subject(name)
		equal(name, a, b, errA, errB)
	}
}
