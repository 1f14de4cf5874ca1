package ingest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"runnel/jetlog/config"
	"runnel/jetlog/vfs"
	"runnel/server/accounts"
	"runnel/server/jetstream/ingest"
)

// A full disk refuses what is published in a way that says to try again, keeps what was acknowledged, and goes on by
// itself when there is room.
func TestDiskFull(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMemory())
	b := &bench{t: t, box: newMailbox(), account: new(accounts.Account), store: openStore(t, fault)}
	var err error
	if b.log, err = b.store.Create("A", streamConfig()); err != nil {
		t.Fatal(err)
	}
	b.open(ingest.Config{}, b.log, ingest.Hooks{})
	payload := strings.Repeat("x", 4000)
	stored := 0
	for ; stored < 10; stored++ {
		if got := b.ask("s.a", payload); !strings.HasPrefix(got, `{"stream"`) {
			t.Fatalf("got %s, want message %d stored", got, stored+1)
		}
	}
	fault.SetRoom(0)
	refused := false
	for range 2000 {
		got := b.ask("s.a", payload)
		if strings.Contains(got, `"error"`) {
			if !strings.Contains(got, `"code":503,"err_code":10077,`) || !strings.Contains(got, "no space: try again later") {
				t.Fatalf("got %s, want that there is no space", got)
			}
			refused = true
			break
		}
		stored++
	}
	if !refused {
		t.Fatal("a full disk has stored everything")
	}
	fault.SetRoom(1 << 30)
	for began := time.Now(); ; {
		if got := b.ask("s.a", payload); strings.HasPrefix(got, `{"stream"`) {
			break
		} else if time.Since(began) > 20*time.Second {
			t.Fatalf("got %s although there is room again", got)
		}
	}
	b.ingest.Close()
	if got := b.log.State().Last; got != uint64(stored)+1 {
		t.Errorf("got last sequence %d, want the %d messages that were acknowledged", got, stored+1)
	}
	if err := b.store.Close(); err != nil {
		t.Error(err)
	}
}

// Many streams and many publishers of each at once.
func TestManyStreams(t *testing.T) {
	b := newBench(t, ingest.Config{Ackers: 3})
	const streams, publishers, each = 8, 3, 100
	var wg sync.WaitGroup
	for i := range streams {
		name := string(rune('a' + i))
		log, err := b.store.Create("A", streamConfig(func(c *config.Stream) { c.Name = name }))
		if err != nil {
			t.Fatal(err)
		}
		s := b.ingest.Open(b.account, log, ingest.Hooks{})
		for range publishers {
			wg.Go(func() {
				for range each {
					s.Take([]byte("s.x"), []byte("reply"), nil, []byte("x"))
					s.Flush()
				}
			})
		}
		defer func() {
			s.Close()
			if got := log.State().Last; got != publishers*each {
				t.Errorf("stream %s: got last sequence %d, want %d", name, got, publishers*each)
			}
		}()
	}
	wg.Wait()
	for range streams * publishers * each {
		if got := b.next().payload; !strings.HasPrefix(got, `{"stream":`) {
			t.Errorf("got %s, want an acknowledgement", got)
		}
	}
}
