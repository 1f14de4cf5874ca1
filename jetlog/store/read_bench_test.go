package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// BenchmarkRead consumes messages of 128 bytes, 256 a call, as a consumer's delivery does: from the memory
// table, from files that are in the cache of the operating system, and those that one filter of ten
// subjects matches.
func BenchmarkRead(b *testing.B) {
	const messages = 200_000
	for _, where := range []string{"hot", "cold"} {
		s := open(b, store.Config{FS: vfs.Disk{}, Dir: filepath.Join(b.TempDir(), "store"), ScrubBytes: -1, CacheBytes: 1 << 20})
		stream := create(b, s, unlimited("S"))
		publishMany(b, stream, messages, 10)
		if where == "cold" {
			if err := s.Flush(); err != nil {
				b.Fatal(err)
			}
		}
		for name, filter := range map[string]jetlog.Filter{"all": nil, "literal": {"S.3.new"}, "wildcard": {"S.3.*"}} {
			b.Run(where+"/"+name, func(b *testing.B) { benchRead(b, stream, filter) })
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchRead(b *testing.B, stream *store.Stream, filter jetlog.Filter) {
	b.ReportAllocs()
	bytes, from := 0, uint64(1)
	for n := 0; n < b.N; {
		before := n
		next, err := stream.Read(from, filter, min(256, b.N-n), 1<<20, func(m *jetlog.Message) bool {
			n++
			bytes += len(m.Payload)
			return true
		})
		if err != nil {
			b.Fatal(err)
		}
		if from = next; n == before {
			from = 1
		}
	}
	if bytes != b.N*128 {
		b.Errorf("%d bytes of %d messages", bytes, b.N)
	}
}

// publishMany publishes messages of 128 bytes on so many subjects in turn.
func publishMany(b testing.TB, stream *store.Stream, messages, subjects int) {
	b.Helper()
	var names []string
	for i := range subjects {
		names = append(names, fmt.Sprintf("%s.%d.new", stream.Name(), i))
	}
	slots := make(chan struct{}, 4096)
	for i := range messages {
		slots <- struct{}{}
		c := &command.Publish{Time: int64(i), Subject: names[i%subjects], Payload: make([]byte, 128)}
		err := stream.Start(context.Background(), c, func(_ jetlog.Result, err error) {
			if err != nil {
				b.Error(err)
			}
			<-slots
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
}
