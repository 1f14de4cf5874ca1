//go:build unix

package rigtest_test

import (
	"fmt"
	"testing"

	"runnel/cluster/rigtest"
)

// TestLateCopies: what stands still on its way to a server that led the stream, and comes when that leads it again, is not carried out there: the
// leader between has done so. It is neither stored a second time, nor is what was stored since purged.
func TestLateCopies(t *testing.T) {
	t.Parallel()
	c := rigtest.Start(t, rigtest.Config{Servers: 3, JetStream: true})
	first, between, other := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	nc := between.Connect()
	c.CreateStream(nc, stream, 3)
	c.WaitReplicas(nc, stream)
	c.Lead(nc, stream, first)
	publisher := other.Connect()
	publish := func(n int) {
		t.Helper()
		for i := range n {
			if _, err := publisher.Request(stream+".x", fmt.Append(nil, i), rigtest.Patience); err != nil {
				t.Fatal(err)
			}
		}
	}
	publish(5)

	c.Cut(first, other)
	c.Lead(nc, stream, between)
	publish(10)
	if _, err := publisher.Request("$JS.API.STREAM.PURGE."+stream, nil, rigtest.Patience); err != nil {
		t.Fatal(err)
	}
	publish(20)
	c.Lead(nc, stream, first)
	c.Heal()

	heard, err := first.Connect().SubscribeSync("heard")
	if err != nil {
		t.Fatal(err)
	}
	rigtest.Eventually(t, "what waited has come", func() error {
		if err := publisher.Publish("heard", nil); err != nil {
			return err
		}
		_, err := heard.NextMsg(rigtest.Patience / 100)
		return err
	})
	publish(1)
	info, err := rigtest.StreamInfo(nc, stream)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.State; got.Msgs != 21 || got.LastSeq != 36 {
		t.Errorf("the stream has %d messages, the last is %d, want 21 and 36", got.Msgs, got.LastSeq)
	}
}
