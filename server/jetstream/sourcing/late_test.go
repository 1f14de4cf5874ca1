package sourcing_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog/config"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
)

// TestMirrorHasItAlready sees that a message which a mirror has costs nothing when it comes again, whether that one is stored
// or about to be.
func TestMirrorHasItAlready(t *testing.T) {
	for _, stored := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := newOrigin()
			f := begin(t, mirror(config.Source{}), o)
			if !stored {
				f.log.hold()
			}
			o.add(1, "a", "x")
			o.add(2, "a", "y")
			synctest.Wait()
			for _, m := range o.messages {
				o.push(m) // as a consumer of its own would never do
			}
			o.add(3, "a", "z")
			synctest.Wait()
			f.log.release()
			f.has(t, "1 a x, 2 a y, 3 a z")
			if n := len(f.asked()); n != 1 {
				t.Errorf("stored %v: %d requests, want one", stored, n)
			}
			if got := f.told(); got != "1 a, 2 a, 3 a" {
				t.Errorf("stored %v: told of %q", stored, got)
			}
		})
	}
}

// TestFormerSessionIsIgnored sees that what still comes for a consumer that was given up does no harm to the next.
func TestFormerSessionIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.add(1, "a", "x")
		f := begin(t, mirror(config.Source{}), o)
		former := o.handler(o.deliver)
		f.all.Appeared(f.account, "O")
		f.has(t, "1 a x")
		if n := len(f.asked()); n != 2 {
			t.Fatalf("%d requests, want a second one", n)
		}
		for i := range 3 { // the first of which the next session would take for its own
			former(&engine.Message{Subject: []byte("a"), Payload: []byte("late"), Reply: api.AppendAckSubject(nil, &api.AckSubject{
				Stream: "O", Consumer: "C1", Deliveries: 1, StreamSequence: uint64(i) + 2, ConsumerSequence: uint64(i) + 1,
			})})
		}
		synctest.Wait()
		o.add(2, "a", "y")
		f.has(t, "1 a x, 2 a y")
		if n := len(f.asked()); n != 2 {
			t.Errorf("%d requests, want no third one", n)
		}
	})
}

// handler returns who has subscribed.
func (o *origin) handler(subject string) func(*engine.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.handlers[subject]
}

// TestFailureIsNotAwaited sees that a mirror whose message could not be stored asks for it again after a pause, whatever
// else comes.
func TestFailureIsNotAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		f := begin(t, mirror(config.Source{}), o)
		f.log.mu.Lock()
		f.log.lost = true
		f.log.mu.Unlock()
		o.add(1, "a", "x")
		synctest.Wait()
		failed := time.Now()
		f.log.mu.Lock()
		f.log.lost = false
		f.log.mu.Unlock()
		o.beatAll(3 * time.Second) // it is there, and sends
		asked := f.asked()
		if len(asked) != 2 {
			t.Fatalf("%d requests, want a second one", len(asked))
		}
		if got := asked[1].at.Sub(failed); got > 200*time.Millisecond {
			t.Errorf("asked again after %v", got)
		}
		f.has(t, "1 a x")
	})
}

// TestOverflowIsNoticed sends a mirror more than it keeps while its log takes nothing: what had no room comes again, in its
// place.
func TestOverflowIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		f := begin(t, mirror(config.Source{}), o)
		f.log.hold()
		large := strings.Repeat("x", 1<<20)
		const many = 110
		for i := range uint64(many) {
			o.add(i+1, "a", large)
			if i%10 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		for f.log.release() > 0 {
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s := f.log.State(); s.Last != many || s.Messages != many {
			t.Errorf("%d messages up to %d, want %d", s.Messages, s.Last, many)
		}
		if n := len(f.asked()); n != 2 {
			t.Errorf("%d requests, want a second one for what had no room", n)
		}
	})
}
