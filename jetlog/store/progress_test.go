package store_test

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/store"
)

// TestProgress opens a store on a clock by which everything takes long: it says how far it is, with both what there is to
// do and what is done.
func TestProgress(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	s := open(t, store.Config{Dir: dir})
	publish(t, createMany(t, s, 100)[0], 200)
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	var log bytes.Buffer
	now := time.Unix(0, 0)
	closeStore(t, open(t, store.Config{
		Dir: killed, Logger: slog.New(slog.NewTextHandler(&log, nil)),
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
