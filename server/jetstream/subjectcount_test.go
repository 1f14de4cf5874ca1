package jetstream_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/jetlog/store"
	"runnel/server/servertest"
)

// TestSubjectCount asks for the number of subjects while they are in memory, and after a restart, when they are in files:
// that of a stream with many messages may come later, but it comes.
func TestSubjectCount(t *testing.T) {
	if testing.Short() {
		t.Skip("many messages")
	}
	const few, lots = 500, 30_000
	dir := t.TempDir()
	s, nc := runIn(t, dir)
	fill := &before{t, nc}
	for name, n := range map[string]int{"few": few, "lots": lots} {
		fill.stream(name, `"allow_direct":true`)
		js, err := nc.JetStream(nats.PublishAsyncMaxPending(1024))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if _, err := js.PublishAsync(fmt.Sprintf("%s.%d", name, i/2), nil, nats.StallWait(servertest.Patience)); err != nil {
				t.Fatal(err)
			}
		}
		<-js.PublishAsyncComplete()
	}
	for _, stream := range []string{"few", "lots"} {
		fill.ask("STREAM.PURGE."+stream, fmt.Sprintf(`{"filter":"%s.7"}`, stream))
	}
	count := func(name string) int {
		var info struct {
			State struct {
				Subjects int `json:"num_subjects"`
			}
		}
		if err := ask(nc, "STREAM.INFO."+name, nil, &info); err != nil {
			t.Fatal(err)
		}
		return info.State.Subjects
	}
	for name, want := range map[string]int{"few": few/2 - 1, "lots": lots/2 - 1} {
		if got := count(name); got != want {
			t.Errorf("%s: %d subjects, want %d", name, got, want)
		}
	}
	dir = restarts["closed"](t, s, dir)
	kept, _, err := store.Open(store.Config{Dir: filepath.Join(dir, "runnel")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(kept.Flush(), kept.Close()); err != nil {
		t.Fatal(err)
	}
	_, nc = runIn(t, dir)
	if got := count("few"); got != few/2-1 {
		t.Errorf("few, in files: %d subjects", got)
	}
	servertest.Eventually(t, "the count of many subjects", func() bool { return count("lots") == lots/2-1 })
	var page struct {
		State struct {
			Subjects map[string]uint64
			Deleted  []uint64
		}
	}
	if err := ask(nc, "STREAM.INFO.lots", map[string]any{"subjects_filter": "lots.1*", "deleted_details": true}, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.State.Subjects) != 0 || !slices.Equal(page.State.Deleted, []uint64{15, 16}) {
		t.Errorf("got %+v", page.State)
	}
}
