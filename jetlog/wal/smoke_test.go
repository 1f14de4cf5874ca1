package wal_test

import (
	"context"
	"fmt"
	"testing"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

func TestSmoke(t *testing.T) {
	for _, fsys := range []vfs.FS{vfs.NewMemory(), vfs.Disk{}} {
		dir := t.TempDir()
		ctx := context.Background()
		n := 0
		for round := range 5 {
			l, rec, err := wal.Open(wal.Config{FS: fsys, Dir: dir, SegmentBytes: 32 << 10, MaxBytes: 16 << 20})
			if err != nil {
				t.Fatal(err)
			}
			if rec.Torn != nil || rec.Damage != nil {
				t.Fatal(rec.Torn, rec.Damage)
			}
			got := 0
			for e, err := range rec.All() {
				if err != nil {
					t.Fatal(err)
				}
				if e.Index != uint64(got) || string(e.Payload) != fmt.Sprint("payload ", got) {
					t.Fatalf("round %d: %+v, want index %d", round, e, got)
				}
				got++
			}
			if got != n {
				t.Fatalf("round %d: %d records, want %d", round, got, n)
			}
			for range 1000 {
				p, err := l.Append(ctx, wal.Record{Group: 1, Index: uint64(n), Payload: []byte(fmt.Sprint("payload ", n))})
				if err != nil {
					t.Fatal(err)
				}
				if n%100 == 0 {
					if err := l.Wait(ctx, p); err != nil {
						t.Fatal(err)
					}
				}
				n++
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", l.Stats())
		}
	}
}
