//go:build unix

package replicas_test

import (
	"flag"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"
)

var many = flag.Int("many", 0, "how many streams TestMany makes; 0 leaves it out")

// TestMany says what idle streams of three replicas cost, all three servers together.
func TestMany(t *testing.T) {
	if *many == 0 {
		t.Skip("for people who want to know")
	}
	w := newWorldOf(t, 256<<20, "a", "b", "c")
	defer w.close()
	before, cpu, begin := heap(), spent(), time.Now()
	var ids []uint64
	for i := range *many {
		ids = append(ids, w.create(fmt.Sprintf("S%d", i), []string{"a", "b", "c"}[i%3], []string{"b", "c", "a"}[i%3], []string{"c", "a", "b"}[i%3]).ID)
	}
	for _, id := range ids {
		w.leader(id)
	}
	t.Logf("%d streams are led after %v and %v of processor; %d KB and %.1f goroutines each",
		*many, time.Since(begin), spent()-cpu, (heap()-before)/1024/uint64(*many), float64(runtime.NumGoroutine())/float64(*many))
	for _, wait := range []time.Duration{40 * time.Second, 30 * time.Second} {
		cpu = spent()
		<-time.After(wait)
		t.Logf("idle for %v: %.1f %% of a processor", wait, 100*float64(spent()-cpu)/float64(wait))
	}
	cpu, begin = spent(), time.Now()
	w.net.Leave("a")
	for _, id := range ids {
		for !w.node("b").leads(id) && !w.node("c").leads(id) {
			<-time.After(10 * time.Millisecond)
		}
	}
	t.Logf("all are led %v after one server died, and %v of processor", time.Since(begin), spent()-cpu)
}

// spent is the processor time of this process.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap is what is in use, stacks included.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
