package bench_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/bench"
)

func TestProgressBar(t *testing.T) {
	var out bytes.Buffer
	c := small(t, "paced1-128", func(o *bench.Overrides) { o.Messages, o.Rate = 400, 1000 })
	r := run(t, &fake{}, c, func(target *bench.Target) { target.Progress = &out })
	if !r.OK() {
		t.Fatal(r.Error)
	}
	lines := strings.Split(out.String(), "\r")
	if !slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(line, c.Name) && strings.Contains(line, "%") && strings.Contains(line, "#")
	}) {
		t.Errorf("no bar in %q", lines)
	}
	if last := lines[len(lines)-1]; last != "" || strings.TrimSpace(lines[len(lines)-2]) != "" {
		t.Errorf("the line is not cleared at the end: %q", lines)
	}
}

func TestProgress(t *testing.T) {
	tests := []struct {
		name                        string
		state                       bench.ProgressState
		published, total, delivered int64
		fan                         int
		part                        float64
		count                       int64
	}{
		{"nothing yet", bench.ProgressState{}, 0, 100, 0, 1, 0, 0},
		{"half delivered", bench.ProgressState{}, 80, 100, 50, 1, 0.5, 80},
		{"fan-out counts deliveries", bench.ProgressState{}, 50, 100, 500, 10, 0.5, 500},
		{"nobody listens", bench.ProgressState{}, 25, 100, 0, 0, 0.25, 25},
		{"a duration, half over", bench.ProgressState{Duration: 2 * time.Second, Passed: time.Second}, 7, 0, 7, 1, 0.5, 7},
		{"no end known", bench.ProgressState{}, 7, 0, 9, 1, -1, 9},
	}
	for _, test := range tests {
		part, count := bench.Progress(test.state, test.published, test.total, test.delivered, test.fan)
		if part != test.part || count != test.count {
			t.Errorf("%s: got %v, %d, want %v, %d", test.name, part, count, test.part, test.count)
		}
	}
}

func TestBarLines(t *testing.T) {
	var out bytes.Buffer
	bench.DrawBar(&out, "pubsub-16", []float64{0, 0.5, 2, -1}, 1500)
	want := []string{
		"",
		"pubsub-16        [..............................]   0%  1.50k",
		"pubsub-16        [###############...............]  50%  1.50k",
		"pubsub-16        [##############################] 100%  1.50k",
		"pubsub-16        1.50k",
		"",
		"",
	}
	got := strings.Split(out.String(), "\r")
	for i := range got {
		got[i] = strings.TrimRight(got[i], " ")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	bench.DrawBar(nil, "nowhere", []float64{0.5}, 1)
}

// broken is a writer that takes a number of bytes and then fails.
type broken struct{ left int }

var errBroken = errors.New("broken pipe")

func (b *broken) Write(p []byte) (int, error) {
	if len(p) > b.left {
		n := b.left
		b.left = 0
		return n, errBroken
	}
	b.left -= len(p)
	return len(p), nil
}

// TestReportsPassWriteErrorsOn cuts every report at many places.
func TestReportsPassWriteErrorsOn(t *testing.T) {
	c := compared()
	c.Control, c.Partial = true, true
	writers := map[string]func(w *broken) error{"list": func(w *broken) error { return bench.Core().WriteList(w) }}
	for _, format := range []bench.Format{bench.Human, bench.CSV, bench.JSON} {
		writers["results as "+string(format)] = func(w *broken) error { return bench.WriteResults(w, format, results()) }
		writers["compared as "+string(format)] = func(w *broken) error { return bench.WriteCompared(w, format, &c) }
	}
	const plenty = 1 << 20
	for name, write := range writers {
		whole := &broken{left: plenty}
		if err := write(whole); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		size := plenty - whole.left
		for at := 0; at < size; at += max(1, size/50) {
			if err := write(&broken{left: at}); !errors.Is(err, errBroken) {
				t.Errorf("%s cut at byte %d of %d: got %v", name, at, size, err)
			}
		}
	}
}
