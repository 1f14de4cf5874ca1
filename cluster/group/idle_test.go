package group_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/hashicorp/raft"

	"runnel/cluster/group"
)

// TestIdleGroups says what a replica costs that does nothing: a follower has raft's three goroutines.
func TestIdleGroups(t *testing.T) {
	const n = 1000
	var groups []*group.Group
	members := []string{"a", "b", "c"}
	before, goroutines := heap(), runtime.NumGoroutine()
	for range n {
		d := newDisk(1)
		d.flushed = &snapshot{place: group.Birth(members)}
		l := d.open()
		_, trans := raft.NewInmemTransport("a")
		g, err := group.Open(group.Config{ID: 1, Self: "a", Machine: newMachine("a", d, l, nil), Log: l, Transport: trans})
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	bytes, each := (heap()-before)/n, float64(runtime.NumGoroutine()-goroutines)/n
	t.Logf("%d groups: %d bytes and %.1f goroutines each, fakes of the test included", n, bytes, each)
	if each > 3.1 {
		t.Errorf("%.1f goroutines a group, want 3", each)
	}
	if bytes > 128<<10 {
		t.Errorf("%d bytes a group, want at most 128 KiB", bytes)
	}
	for _, g := range groups {
		_ = g.Close()
	}
}

// heap is what is in use, stacks included.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkPropose has one replica alone take small proposals, many at a time.
func BenchmarkPropose(b *testing.B) {
	l := &quickLog{values: map[string][]byte{}}
	_, trans := raft.NewInmemTransport("a")
	trans.Connect("a", trans)
	leads := make(chan struct{}, 1)
	m := &counter{place: group.Birth([]string{"a"})}
	g, err := group.Open(group.Config{ID: 1, Self: "a", Machine: m, Log: l, Transport: trans, Lead: func(uint64) { leads <- struct{}{} }})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	_ = g.Campaign()
	<-leads
	window := make(chan struct{}, 256)
	b.ReportAllocs()
	for b.Loop() {
		window <- struct{}{}
		if err := g.Propose(context.Background(), ticket{window}); err != nil {
			b.Fatal(err)
		}
	}
	for range cap(window) {
		window <- struct{}{}
	}
	b.ReportMetric(float64(m.records.Load())/float64(m.entries.Load()), "records/entry")
}
