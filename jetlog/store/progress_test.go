package store_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// TestProgress opens a store on a clock by which everything takes long: it says how far it is, with both what there is to
// do and what is done.
func TestProgress(t *testing.T) {
	memory := vfs.NewMemory()
	s := open(t, store.Config{FS: memory, Dir: dir})
	publish(t, createMany(t, s, 100)[0], 200)
	killed := memory.PowerCut(vfs.Lose)
	closeStore(t, s)
	var log bytes.Buffer
	now := time.Unix(0, 0)
	closeStore(t, open(t, store.Config{
		FS: killed, Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Clock: func() time.Time { now = now.Add(time.Second); return now },
		// What runs beside it must not ask the clock.
		ScrubBytes: -1, FlushAge: time.Hour,
	}))
	for _, want := range []string{
		"step=streams done=64 of=100", `step="records of the log" done=64 of=200`, `step="records of the log" done=192 of=200`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
}
