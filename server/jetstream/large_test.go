package jetstream_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestMoreThanOneCommand removes more than one command may: a purge and the removal of a consumer are answered when all is
// gone, and what a message replaces goes soon after it.
func TestMoreThanOneCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("many messages")
	}
	js, err := start(t, "").JetStream()
	if err != nil {
		t.Fatal(err)
	}
	const many = 9000
	fill := func(stream string) {
		t.Helper()
		for range many {
			if _, err := js.PublishAsync(stream+".a", nil, nats.StallWait(servertest.Patience)); err != nil {
				t.Fatal(err)
			}
		}
		<-js.PublishAsyncComplete()
	}
	state := func(stream string) nats.StreamState {
		t.Helper()
		info, err := js.StreamInfo(stream)
		if err != nil {
			t.Fatal(err)
		}
		return info.State
	}
	for name, remove := range map[string]func(string) error{
		"purged": func(stream string) error {
			return js.PurgeStream(stream, &nats.StreamPurgeRequest{Subject: stream + ".a"})
		},
		"unwanted": func(stream string) error { return js.DeleteConsumer(stream, "c") },
		"rolled": func(stream string) error {
			m := nats.NewMsg(stream + ".a")
			m.Header.Set("Nats-Rollup", "sub")
			_, err := js.PublishMsg(m)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &nats.StreamConfig{Name: name, Subjects: []string{name + ".>"}, AllowRollup: true}
			if name == "unwanted" {
				cfg.Retention = nats.InterestPolicy
			}
			if _, err := js.AddStream(cfg); err != nil {
				t.Fatal(err)
			}
			if _, err := js.AddConsumer(name, &nats.ConsumerConfig{Durable: "c", AckPolicy: nats.AckExplicitPolicy}); err != nil {
				t.Fatal(err)
			}
			fill(name)
			if got := state(name).Msgs; got != many {
				t.Fatalf("%d messages", got)
			}
			if err := remove(name); err != nil {
				t.Fatal(err)
			}
			want := uint64(0)
			if name == "rolled" {
				want = 1
			}
			for deadline := time.Now().Add(10 * time.Second); name == "rolled" && state(name).Msgs > want; {
				if time.Now().After(deadline) {
					break
				}
			}
			if got := state(name); got.Msgs != want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
