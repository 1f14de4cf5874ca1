package delivery_test

import (
	"context"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

// FuzzClients: whatever a client sends to its consumers, the consumers of others get their messages, and the state
// stays sound.
func FuzzClients(f *testing.F) {
	f.Add(`{"batch":3,"expires":1000,"group":"A","min_pending":1}`, "-NAK 1ns", uint64(1), uint64(1), "Nats-Last-Stream: 1")
	f.Add(`{"batch":3,"no_wait":true,"group":"A","id":"x"}`, `-NAK {"delay":1}`, uint64(2), uint64(1), "")
	f.Add(``, "+NXT 5", uint64(0), uint64(9), "x")
	f.Add(`-1`, "+TERM why", uint64(1<<63), uint64(1), "")
	f.Add(`{"batch":1000000000000000000000}`, "+WPI", uint64(1), uint64(0), "")
	w := openWorld(f, streamConfig())
	f.Cleanup(func() {
		w.t = f
		w.close()
	})
	kinds := []config.Consumer{explicit(), {Ack: config.AckAll}, grouped(config.PriorityOverflow), grouped(config.PriorityPinned), flowing()}
	names := []string{"explicit", "all", "overflow", "pinned", "flow"}
	for i, cfg := range kinds {
		cfg.Name, cfg.Durable = names[i], names[i]
		w.makeConsumer(cfg)
	}
	good := explicit()
	good.Name = "good"
	w.makeConsumer(good)
	for _, inbox := range []string{"bad", "good", "to"} {
		w.net.subscribe(inbox)
	}
	f.Fuzz(func(t *testing.T, body, payload string, stream, sequence uint64, header string) {
		w.t = t
		for _, name := range names {
			w.stream.Pull(name, delivery.Request{Reply: "bad", Body: []byte(body), Header: []byte("NATS/1.0\r\n" + header + "\r\n\r\n")})
			a := api.AckSubject{Stream: "S", Consumer: name, StreamSequence: stream, ConsumerSequence: sequence, Deliveries: 1}
			w.stream.Ack(name, delivery.Ack{Subject: a, Payload: []byte(payload), Reply: "bad"})
			w.stream.FlowControl(name, body, []byte(header))
		}
		w.publish("s.a", "x")
		w.stream.Pull("good", delivery.Request{Reply: "good"})
		if err := w.stream.Settle(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		w.net.take("bad")
		w.net.take("to")
		got := w.net.take("good")
		if len(got) != 1 || got[0].payload != "x" {
			t.Fatalf("another client got %v, want one message", got)
		}
		w.stream.Ack("good", delivery.Ack{Subject: got[0].ack(t)})
		if err := w.log.View(func(s *jetlog.Stream, m jetlog.Messages) error { return s.Check(m) }); err != nil {
			t.Fatal(err)
		}
	})
}
