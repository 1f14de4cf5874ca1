package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"runnel/jetlog/command"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// ordered notes the sequences of all packs in the order of the answers.
type ordered struct {
	answers
	mu  *sync.Mutex
	all *[]uint64
}

// Answered implements store.Answers.
func (o *ordered) Answered() store.Flusher {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.results {
		*o.all = append(*o.all, r.Sequence)
	}
	return o.answers.Answered()
}

// TestHelp: whoever applies, the goroutine that writes the log when there is little to do or the applier otherwise,
// commands are answered in their order: packs and single commands, few and many at a time, of several streams, with
// files to read for some.
func TestHelp(t *testing.T) {
	fs := vfs.NewMemory()
	cfg := small(fs)
	cfg.Shards = 1
	s := open(t, cfg)
	var all sync.WaitGroup
	for i, limit := range []int64{-1, -1, 50} {
		c := unlimited(fmt.Sprint("S", i))
		c.MaxMessages = limit
		stream := create(t, s, c)
		all.Go(func() { burst(t, stream) })
	}
	all.Go(func() {
		for range 20 {
			if err := s.Flush(); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	closeStore(t, s)
}

// burst publishes packs of growing size, some at a time, single commands between them, and checks the order of the
// answers.
func burst(t *testing.T, stream *store.Stream) {
	var mu sync.Mutex
	var sequences []uint64
	published := 0
	for round := range 60 {
		var waiting []*ordered
		for range 1 + round%4 {
			o := &ordered{answers: *newAnswers(), mu: &mu, all: &sequences}
			publishes := make([]command.Publish, 1+round)
			for i := range publishes {
				publishes[i] = command.Publish{Time: 1, Subject: stream.Name() + ".a", Payload: []byte("x")}
			}
			if err := stream.StartAll(context.Background(), publishes, o); err != nil {
				t.Error(err)
				return
			}
			published += len(publishes)
			waiting = append(waiting, o)
		}
		if round%5 == 0 {
			if _, err := stream.Propose(context.Background(), &command.Expire{Time: 1}); err != nil {
				t.Error(err)
			}
		}
		for _, o := range waiting {
			<-o.ended
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(sequences) != published {
		t.Errorf("stream %s has answered %d publishes of %d", stream.Name(), len(sequences), published)
	}
	for i, seq := range sequences {
		if seq != uint64(i)+1 {
			t.Fatalf("stream %s: answer %d has sequence %d", stream.Name(), i+1, seq)
		}
	}
}

// BenchmarkPack measures packs of messages of 128 bytes that are stored and safe, one after the other.
func BenchmarkPack(b *testing.B) {
	for _, n := range []int{1, 16, 256} {
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			s := open(b, store.Config{FS: vfs.Disk{}, Dir: filepath.Join(b.TempDir(), "store"), ScrubBytes: -1, ReserveBytes: -1})
			stream := createMany(b, s, 1)[0]
			publishes := make([]command.Publish, n)
			for i := range publishes {
				publishes[i] = command.Publish{Subject: stream.Name() + ".orders.new", Payload: make([]byte, 128)}
			}
			b.ReportAllocs()
			start := processorTime(b)
			b.ResetTimer()
			for range b.N {
				proposeAll(b, stream, publishes)
			}
			b.StopTimer()
			report(b, start)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
