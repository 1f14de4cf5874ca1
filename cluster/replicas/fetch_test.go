package replicas_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog/command"
)

// TestFilesComeAtTheirRate has replicas filled that lack everything: the server that has it gives no more than it is to, to all of
// them together, and goes on with its work.
func TestFilesComeAtTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond, messages, messageBytes = 64 << 10, 24, 16 << 10
		w := emptyWorld(t)
		w.rate = perSecond
		w.begin("a", "b", "c")
		defer w.close()
		a := w.create("S", "a")
		stream, noise := w.leader(a.ID).stream(a.ID), rand.NewChaCha8([32]byte{})
		for range messages {
			payload := make([]byte, messageBytes)
			_, _ = noise.Read(payload)
			if _, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: "S.x", Payload: payload}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.node("a").log.Flush(); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		w.scale(a, "a", "b", "c")
		w.publish(a.ID, 1)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("a message was acked after %v, want it to wait for nobody's files", took)
		}
		w.settle(a.ID, messages+1, "a", "b", "c")
		const least = 2 * messages * messageBytes / perSecond * time.Second
		if took := time.Since(begin); took < least-time.Second || took > 3*least {
			t.Errorf("two replicas were filled in %v, want it to be a little more than %v", took, least)
		}
	})
}
