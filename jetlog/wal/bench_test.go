package wal_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"sync"
	"testing"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// appender is a log as the benchmark drives it. Positions never decrease.
type appender interface {
	append(group, index uint64, payload []byte) (position uint64)
	wait(position uint64)
	durable() uint64
	close()
}

// BenchmarkAppend measures records that are appended and made safe on a real disk, by one goroutine with so
// many in flight, over the log of this package and over a control: the same idea reduced to what cannot be
// left out (copy, checksum, write, sync; no recovery). Their ratio says what the rest costs.
func BenchmarkAppend(b *testing.B) {
	open := map[string]func(*testing.B) appender{"log": openLogged, "control": openControl}
	for _, groups := range []int{1, 100} {
		for _, inFlight := range []int{1, 16, 256, 4096} {
			for _, name := range []string{"control", "log"} {
				b.Run(fmt.Sprintf("groups=%d/inflight=%d/%s", groups, inFlight, name), func(b *testing.B) {
					run(b, open[name](b), inFlight, groups)
				})
			}
		}
	}
}

func run(b *testing.B, a appender, inFlight, groups int) {
	payload := make([]byte, 128)
	window := make([]uint64, 0, inFlight) // positions that are not safe yet
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	start := processorTime(b)
	b.ResetTimer()
	for i := range b.N {
		if len(window) == inFlight {
			a.wait(window[0])
			n, safe := 0, a.durable()
			for n < len(window) && window[n] <= safe {
				n++
			}
			window = window[:copy(window, window[n:])]
		}
		window = append(window, a.append(uint64(i%groups), uint64(i), payload))
	}
	if len(window) > 0 {
		a.wait(window[len(window)-1])
	}
	b.StopTimer()
	b.ReportMetric(float64(processorTime(b)-start)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	a.close()
}

// logged is the log of this package; what is older than some segments is released.
type logged struct {
	b    *testing.B
	log  *wal.Log
	more int
}

func openLogged(b *testing.B) appender {
	log, _, err := wal.Open(wal.Config{FS: vfs.Disk{}, Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	a := &logged{b: b, log: log}
	for range 1000 { // until segments are used again, as in a log that has run for a while
		p := a.append(0, 0, make([]byte, 128<<10))
		log.Release(0, wal.Position(p))
	}
	for log.Stats().Ready < 3 {
		changed := log.Changed()
		if log.Stats().Ready < 3 {
			<-changed
		}
	}
	return a
}

func (a *logged) append(group, index uint64, payload []byte) uint64 {
	p, err := a.log.Append(context.Background(), wal.Record{Group: group, Kind: 1, Index: index, Payload: payload})
	if err != nil {
		a.b.Fatal(err)
	}
	if a.more++; a.more == 100_000 {
		a.more = 0
		if pinned, ok := a.log.Pinned(); ok {
			for _, g := range pinned.Groups {
				a.log.Release(g, p)
			}
		}
	}
	return uint64(p)
}

func (a *logged) wait(p uint64) {
	if err := a.log.Wait(context.Background(), wal.Position(p)); err != nil {
		a.b.Fatal(err)
	}
}

func (a *logged) durable() uint64 { return uint64(a.log.Durable()) }

func (a *logged) close() {
	if err := a.log.Close(); err != nil {
		a.b.Fatal(err)
	}
}

// BenchmarkOpen measures a start: all records of 128 MiB are read twice, once to check them and once to
// hand them out.
func BenchmarkOpen(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("records=%d", batch), func(b *testing.B) {
			cfg := wal.Config{FS: vfs.Disk{}, Dir: b.TempDir(), Policy: wal.OS}
			log, _, err := wal.Open(cfg)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for ; n < 128<<20/164; n += batch {
				records := make([]wal.Record, batch)
				for i := range records {
					records[i] = wal.Record{Group: uint64(n % 100), Index: uint64(n + i), Payload: make([]byte, 128)}
				}
				p, err := log.Append(context.Background(), records...)
				if err == nil && batch > 1 {
					err = log.Wait(context.Background(), p)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if err := log.Close(); err != nil {
					b.Fatal(err)
				}
				var r *wal.Recovered
				if log, r, err = wal.Open(cfg); err != nil {
					b.Fatal(err)
				}
				got := 0
				for _, err := range r.All() {
					if err != nil {
						b.Fatal(err)
					}
					got++
				}
				if got != n {
					b.Fatalf("%d records, want %d", got, n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
			if err := log.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// control is group commit and nothing else: two buffers, one writer, one zero-filled file that is written
// round and round.
type control struct {
	b            *testing.B
	file         vfs.File
	mu           sync.Mutex
	work, done   sync.Cond
	buf, spare   []byte
	batch, safe  uint64 // the batch that takes records; the last one that is synced
	closed       bool
	ended        chan struct{}
	table        *crc32.Table
	offset, size int64
}

func openControl(b *testing.B) appender {
	f, err := vfs.Disk{}.Create(filepath.Join(b.TempDir(), "control"))
	if err != nil {
		b.Fatal(err)
	}
	c := &control{b: b, file: f, batch: 1, ended: make(chan struct{}), table: crc32.MakeTable(crc32.Castagnoli), size: 64 << 20}
	c.work.L, c.done.L = &c.mu, &c.mu
	for at := int64(0); at < c.size; at += 1 << 20 {
		if _, err := f.WriteAt(make([]byte, 1<<20), at); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	go c.write()
	return c
}

func (c *control) append(group, index uint64, payload []byte) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := len(c.buf)
	c.buf = append(c.buf, make([]byte, 28)...)
	h := c.buf[at:]
	binary.LittleEndian.PutUint32(h[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(h[8:], group)
	binary.LittleEndian.PutUint64(h[16:], index)
	c.buf = append(c.buf, payload...)
	binary.LittleEndian.PutUint32(c.buf[at:], crc32.Update(0, c.table, c.buf[at+4:]))
	if at == 0 {
		c.work.Signal()
	}
	return c.batch
}

func (c *control) write() {
	defer close(c.ended)
	for {
		c.mu.Lock()
		for len(c.buf) == 0 && !c.closed {
			c.work.Wait()
		}
		buf, batch := c.buf, c.batch
		c.buf, c.spare = c.spare[:0], buf
		c.batch++
		c.mu.Unlock()
		if len(buf) == 0 {
			return
		}
		if c.offset+int64(len(buf)) > c.size {
			c.offset = 0
		}
		if _, err := c.file.WriteAt(buf, c.offset); err != nil {
			c.b.Error(err)
		}
		if err := c.file.SyncData(); err != nil {
			c.b.Error(err)
		}
		c.offset += int64(len(buf))
		c.mu.Lock()
		c.safe = batch
		c.done.Broadcast()
		c.mu.Unlock()
	}
}

func (c *control) wait(batch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.safe < batch {
		c.done.Wait()
	}
}

func (c *control) durable() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.safe
}

func (c *control) close() {
	c.mu.Lock()
	c.closed = true
	c.work.Signal()
	c.mu.Unlock()
	<-c.ended
	if err := c.file.Close(); err != nil {
		c.b.Error(err)
	}
}
