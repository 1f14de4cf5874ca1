package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/chaos/history"
)

// sink is a file in memory that can be made to fail.
type sink struct {
	mu     sync.Mutex
	data   bytes.Buffer
	broken error // what Write answers, if it is not nil
	closed int
	gate   chan struct{} // if not nil, every Write waits until it can receive
}

func (s *sink) Write(p []byte) (int, error) {
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return 0, s.broken
	}
	return s.data.Write(p)
}

func (s *sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.String()
}

func publish(process, n int) history.Operation {
	return history.Operation{
		Process: process, Node: "n1", Workload: "W1", Kind: history.Publish, Stream: "LOG", Key: "log.a",
		Value: fmt.Sprintf("%d-%d", process, n), Sequence: uint64(n), Start: time.Duration(n), End: time.Duration(n + 1),
		Result: history.OK,
	}
}

func TestRecordFromManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	r, err := history.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const processes, each = 8, 2000
	var all sync.WaitGroup
	for p := range processes {
		all.Go(func() {
			for n := range each {
				r.Record(publish(p, n))
			}
		})
	}
	all.Wait()
	if err := r.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	got, err := history.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	next := make([]int, processes)
	for _, o := range got {
		if want := publish(o.Process, next[o.Process]); o != want {
			t.Fatalf("got %+v, want %+v", o, want)
		}
		next[o.Process]++
	}
	if len(got) != processes*each {
		t.Errorf("got %d operations, want %d", len(got), processes*each)
	}
}

func TestAllFieldsComeBack(t *testing.T) {
	want := history.Operation{
		Process: 7, Node: "n2", Workload: "W8", Kind: history.Commit, Stream: "B", Consumer: "c", Batch: "b-1",
		Key: "b.<x>", Value: "7-9", Sequence: 1 << 63, Expected: 12, Start: time.Second, End: 2 * time.Second,
		Result: history.Failed, Error: "line one\nline \"two\" \x00 <b>",
	}
	s := &sink{}
	r := history.NewRecorder(s)
	r.Record(want)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for got, err := range history.Parse(strings.NewReader(s.text())) {
		if err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if n := strings.Count(s.text(), "\n"); n != 1 {
		t.Errorf("got %d lines, want 1", n)
	}
}

func TestWriteErrorIsToldAtClose(t *testing.T) {
	full := errors.New("no space left")
	s := &sink{broken: full}
	r := history.NewRecorder(s)
	const n = 20_000 // more than the buffers hold, so that a write fails while operations still come
	for i := range n {
		r.Record(publish(1, i))
	}
	err := r.Close()
	if !errors.Is(err, full) || !strings.Contains(err.Error(), "are missing") {
		t.Errorf("got %v, want the error of the file and what is missing", err)
	}
	if again := r.Close(); !errors.Is(again, full) {
		t.Errorf("second Close: got %v, want the same", again)
	}
	if s.closed != 1 {
		t.Errorf("the file was closed %d times, want once", s.closed)
	}
}

func TestInvalidOperationIsToldAtClose(t *testing.T) {
	tests := []struct {
		name string
		o    history.Operation
		want string
	}{
		{"no kind", history.Operation{Result: history.OK}, "no kind"},
		{"ends before it starts", history.Operation{Kind: history.Ack, Start: 2, End: 1}, "end 1 is before start 2"},
		{"before the run", history.Operation{Kind: history.Ack, Start: -2, End: 1}, "before the run"},
		{"process", history.Operation{Kind: history.Ack, Process: -1}, "below 0"},
		{"result", history.Operation{Kind: history.Ack, Result: 9}, "none of ok, failed, unknown"},
		{"too long", history.Operation{Kind: history.Ack, Error: strings.Repeat("x", 2<<20)}, "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := history.NewRecorder(&sink{})
			r.Record(tt.o)
			if err := r.Close(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{gate: make(chan struct{})}
		r := history.NewRecorder(s)
		recorded := make(chan int)
		go func() {
			n := 0
			for ; n < 1_000_000; n++ {
				select {
				case <-recorded:
					recorded <- n
					return
				default:
					r.Record(publish(1, n))
				}
			}
		}()
		synctest.Wait() // now the file does not take anything, and Record waits
		close(s.gate)
		recorded <- 0
		if n := <-recorded; n > 20_000 {
			t.Errorf("%d operations were taken while the file was stuck", n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFlushedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		r := history.NewRecorder(s)
		r.Record(publish(1, 1))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s.text() == "" {
			t.Error("nothing is in the file after two seconds")
		}
		if got := r.Now(); got != 2*time.Second {
			t.Errorf("Now: got %v, want 2s", got)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r.Record(publish(1, 2)) // after the run: nothing happens
		if n := strings.Count(s.text(), "\n"); n != 1 {
			t.Errorf("got %d lines, want 1", n)
		}
	})
}

func TestCreateTellsWhere(t *testing.T) {
	if _, err := history.Create(filepath.Join(t.TempDir(), "no", "such", "folder")); err == nil {
		t.Error("got no error for a folder that is not there")
	}
}

func BenchmarkRecord(b *testing.B) {
	r := history.NewRecorder(&discard{})
	o := publish(1, 123456)
	b.ReportAllocs()
	for b.Loop() {
		r.Record(o)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }
