package jetlog_test

import (
	"fmt"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// unlimited is the configuration of a stream that keeps everything.
func unlimited() config.Stream {
	return config.Stream{
		Name: "S", Subjects: []string{"s.>"}, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1,
		MaxPerSubject: -1, MaxMessageBytes: -1, Replicas: 1,
	}
}

// BenchmarkPublish is Apply of a publish of 128 bytes with the body in memory. The memory stream is
// emptied now and then, so that figures do not depend on how long it runs.
func BenchmarkPublish(b *testing.B) {
	tests := []struct {
		name     string
		change   func(*config.Stream)
		subjects int
		consumer int
	}{
		{"unlimited", func(*config.Stream) {}, 1, 0},
		{"max_msgs", func(c *config.Stream) { c.MaxMessages = 1000 }, 1, 0},
		{"per_subject", func(c *config.Stream) { c.MaxPerSubject = 1 }, 1000, 0},
		{"consumers", func(*config.Stream) {}, 100, 100},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			cfg := unlimited()
			tt.change(&cfg)
			s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
			for i := range tt.consumer {
				name := fmt.Sprintf("c%d", i)
				c := config.Consumer{Name: name, FilterSubject: fmt.Sprintf("s.%d", i), Ack: config.AckExplicit}
				mustApply(b, s, m, &command.ConsumerCreate{Time: 1, Config: c})
			}
			names := make([]string, tt.subjects)
			for i := range names {
				names[i] = fmt.Sprintf("s.%d", i)
			}
			payload := make([]byte, 128)
			c := &command.Publish{Payload: payload}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				c.Time, c.Subject = int64(n), names[n%len(names)]
				if _, err := s.Apply(c, m); err != nil {
					b.Fatal(err)
				}
				if n%(1<<17) == 0 {
					mustApply(b, s, m, &command.Purge{Time: int64(n)})
				}
			}
		})
	}
}

func mustApply(t testing.TB, s *jetlog.Stream, m jetlog.Messages, c command.Command) jetlog.Result {
	t.Helper()
	r, err := s.Apply(c, m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// BenchmarkNew is what an empty stream costs.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		jetlog.New(1, unlimited(), 1)
	}
}

// BenchmarkRestore is a snapshot with two consumers and back.
func BenchmarkRestore(b *testing.B) {
	s, _ := sample(b)
	data := s.AppendSnapshot(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jetlog.Restore(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDeliver is one message through a consumer: noted as delivered, acknowledged, and removed
// where the retention says so. Commands have 64 messages each; figures are of one message.
func BenchmarkDeliver(b *testing.B) {
	for _, retention := range []config.Retention{config.LimitsRetention, config.InterestRetention, config.WorkQueueRetention} {
		name, _ := retention.MarshalText()
		b.Run(string(name), func(b *testing.B) {
			cfg := unlimited()
			cfg.Retention = retention
			s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
			mustApply(b, s, m, &command.ConsumerCreate{
				Config: config.Consumer{Name: "c", Ack: config.AckExplicit, AckWait: 1 << 40},
			})
			c := s.Consumer("c")
			const batch = 64
			ack := &command.Ack{Consumer: "c", Replies: make([]command.Reply, batch)}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%batch > 0 {
					continue
				}
				b.StopTimer()
				mustApply(b, s, m, &command.Purge{Time: int64(n)})
				for range batch {
					mustApply(b, s, m, &command.Publish{Time: int64(n), Subject: "s.a"})
				}
				d := choose(s, m, c, batch, int64(n))
				for i, delivery := range d.Messages {
					ack.Replies[i].Sequence = delivery.Sequence
				}
				b.StartTimer()
				mustApply(b, s, m, d)
				mustApply(b, s, m, ack)
			}
		})
	}
}

// BenchmarkDecode is a publish of 128 bytes from its encoded form.
func BenchmarkDecode(b *testing.B) {
	data := command.Append(nil, &command.Publish{Time: 1 << 60, Subject: "orders.new", Payload: make([]byte, 128)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := command.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBatch is Apply of a hundred messages at once, all or none, and BenchmarkCopy of as many from another
// stream.
func BenchmarkBatch(b *testing.B) {
	members := make([]command.Publish, 100)
	for i := range members {
		members[i] = command.Publish{Subject: fmt.Sprintf("s.%d", i), Payload: make([]byte, 128)}
	}
	for name, limit := range map[string]int64{"unlimited": -1, "per_subject": 1} {
		b.Run(name, func(b *testing.B) {
			cfg := unlimited()
			cfg.AllowAtomic, cfg.MaxPerSubject, cfg.MaxMessages = true, limit, 100000
			s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
			b.ReportAllocs()
			for b.Loop() {
				if r := mustApply(b, s, m, &command.Batch{Members: members}); r.Count != len(members) {
					b.Fatal(r)
				}
			}
		})
	}
}

func BenchmarkCopy(b *testing.B) {
	cfg := unlimited()
	cfg.MaxMessages = 100000
	s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
	messages := make([]command.Copied, 100)
	b.ReportAllocs()
	for b.Loop() {
		next := s.State().Last + 1
		for i := range messages {
			messages[i] = command.Copied{Sequence: next + uint64(i), Time: int64(next), Subject: "s.a"}
		}
		if r := mustApply(b, s, m, &command.Copy{From: next, Messages: messages}); r.Count != len(messages) {
			b.Fatal(r)
		}
	}
}
