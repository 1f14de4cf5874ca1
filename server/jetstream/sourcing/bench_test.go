package sourcing_test

import (
	"runtime"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/jetstream/sourcing"
)

// BenchmarkCopy measures a message from an origin, until it is stored in memory.
func BenchmarkCopy(b *testing.B) {
	for name, cfg := range map[string]config.Stream{"mirror": mirror(config.Source{}), "source": source(config.Source{})} {
		b.Run(name, func(b *testing.B) {
			o := newOrigin()
			cfg.MaxMessages = 10_000
			l := newLog(b, cfg)
			told := make(chan uint64, 1024)
			all := sourcing.New(sourcing.Config{Subscribe: o.subscribe, Publish: o.publish})
			s := all.Open(new(accounts.Account), l, sourcing.Hooks{Stored: func(m jetlog.Message, _ jetlog.Result) { told <- m.Sequence }})
			defer s.Close()
			for o.consumer() == "" {
				runtime.Gosched()
			}
			m := jetlog.Message{Subject: "a.b", Payload: make([]byte, 128)}
			const burst = 1000
			b.ReportAllocs()
			b.SetBytes(int64(len(m.Payload)))
			for done := 0; done < b.N; {
				n := min(burst, b.N-done)
				go func() {
					for i := range n {
						one := m
						one.Sequence = uint64(done + i + 1)
						o.push(one)
					}
				}()
				for range n {
					<-told
				}
				done += n
			}
		})
	}
}
