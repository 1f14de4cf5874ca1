package jetlog_test

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// durable is a consumer as the service asks for it.
func durable(i int) *command.ConsumerCreate {
	name := fmt.Sprintf("consumer-%d", i)
	return &command.ConsumerCreate{Time: 1, Config: config.Consumer{
		Name: name, Durable: name, Ack: config.AckExplicit, AckWait: 30 * time.Second, MaxDeliver: -1,
		MaxWaiting: 512, MaxAckPending: 1000, Metadata: map[string]string{"_nats.req.level": "0"},
	}}
}

// heapBytes is what is in use once all garbage has gone.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestIdleSize holds consumers on which nothing happens to what they may take of the memory: there are many of them, and
// what they are configured to is mostly the same. Commands come decoded, as from a log, so that nothing is shared by
// accident.
func TestIdleSize(t *testing.T) {
	const streams, each, mostBytes = 100, 20, 440
	list := make([]*jetlog.Stream, streams)
	memory := jetlog.NewMemory()
	for i := range list {
		list[i] = jetlog.New(uint64(i+1), unlimited(), 1)
	}
	before := heapBytes()
	for _, s := range list {
		for k := range each {
			c, err := command.Decode(command.Append(nil, durable(k)))
			if err != nil {
				t.Fatal(err)
			}
			mustApply(t, s, memory, c)
		}
	}
	bytes := (heapBytes() - before) / streams / each
	t.Logf("a consumer has %d bytes", bytes)
	if bytes > mostBytes {
		t.Errorf("a consumer has %d bytes, it should have %d at most", bytes, mostBytes)
	}
	runtime.KeepAlive(list)
}

// TestShared sees that consumers that are configured alike share what they have in common, and that one that is configured
// anew leaves the others as they are; also after a restart.
func TestShared(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	for k := range 3 {
		mustApply(t, s, m, durable(k))
	}
	other := durable(1)
	other.Config.AckWait = time.Minute
	mustApply(t, s, m, other)
	restored, err := jetlog.Restore(s.AppendSnapshot(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*jetlog.Stream{s, restored} {
		for k := range 3 {
			want := durable(k).Config
			if k == 1 {
				want = other.Config
			}
			if got := s.Consumer(want.Name).Config(); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
	}
	mustApply(t, s, m, durable(1)) // as it was
	a, b := s.Consumer("consumer-0").Common(), s.Consumer("consumer-1").Common()
	if a != b || b != s.Consumer("consumer-2").Common() {
		t.Error("consumers that are alike do not share their configuration")
	}
}
