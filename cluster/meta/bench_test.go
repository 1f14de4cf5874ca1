package meta_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"runnel/cluster/meta"
	"runnel/cluster/meta/state"
)

// BenchmarkCreate creates streams, 16 at a time, on one server with a log on the real disk.
func BenchmarkCreate(b *testing.B) {
	b.ReportAllocs()
	m, err := meta.Open(alone(b.TempDir() + "/meta"))
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	<-m.Formed()
	for !m.Leads() {
		if _, err := m.Propose(b.Context(), &state.Raise{}); err != nil {
			continue
		}
	}
	var n atomic.Int64
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			r, err := m.Propose(b.Context(), &state.CreateStream{Account: "A", Config: stream(fmt.Sprint("s", n.Add(1)), 1)})
			if err != nil || r.Code != 0 {
				b.Error(err, r.Code)
				return
			}
		}
	})
}
