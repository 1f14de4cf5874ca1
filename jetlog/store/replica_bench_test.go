package store_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"runnel/jetlog/command"
	"runnel/jetlog/entries"
	"runnel/jetlog/manifest"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// BenchmarkApplyEntry measures messages of 128 bytes on a replica: an entry of so many messages is appended to the log of the
// group, and applied once it is safe. A follower decodes them; where they were proposed they are answered.
func BenchmarkApplyEntry(b *testing.B) {
	for _, messages := range []int{1, 64} {
		for _, local := range []bool{false, true} {
			b.Run(fmt.Sprintf("messages=%d/local=%v", messages, local), func(b *testing.B) { benchApply(b, messages, local) })
		}
	}
}

// packer makes one entry of each proposal.
type packer struct {
	data  []byte
	local []*store.Proposal
}

// Propose implements store.Proposer.
func (p *packer) Propose(_ context.Context, one *store.Proposal) error {
	p.data, p.local = one.Append(nil), append(p.local[:0], one)
	return nil
}

func benchApply(b *testing.B, messages int, local bool) {
	cfg := unlimited("S")
	cfg.MaxMessages = 1 << 40
	m := newMember(b, vfs.NewMemory(), assigned(cfg, birth()))
	m.stream.SetProposer(&packer{})
	p := &packer{}
	m.stream.SetProposer(p)
	publishes := make([]command.Publish, messages)
	for i := range publishes {
		publishes[i] = command.Publish{Time: 1, Subject: "S.orders.new", Payload: make([]byte, 128)}
	}
	l, ctx, index := m.stream.Entries(), context.Background(), uint64(1)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += messages {
		index++
		if err := m.stream.StartAll(ctx, publishes, &heard{}); err != nil {
			b.Fatal(err)
		}
		given := p.local
		if !local {
			given = nil
		}
		if err := l.Append(ctx, []entries.Entry{{Index: index, Term: 1, Data: p.data}}); err != nil {
			b.Fatal(err)
		}
		if err := m.stream.ApplyEntry(index, 1, p.data, given); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := m.store.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkIdleReplicas makes replicas and says what each takes in memory.
func BenchmarkIdleReplicas(b *testing.B) {
	s := open(b, store.Config{FS: vfs.NewMemory(), Dir: dir, ScrubBytes: -1, ReserveBytes: -1})
	place := birth()
	before := heapBytes()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		a := assigned(unlimited(fmt.Sprint("S", i)), place)
		a.ID = manifest.FirstAssigned + uint64(i)
		stream, err := s.CreateAssigned(a)
		if err != nil {
			b.Fatal(err)
		}
		if err := stream.Entries().Set("CurrentTerm", []byte("12345678")); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(heapBytes()-before)/float64(b.N), "bytes/replica")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
