package lanes_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"runnel/server/jetstream/lanes"
)

// request is one of a stream, with a number.
type request struct {
	stream, number string
	bytes          int
}

func (r *request) Lane() string { return r.stream }
func (r *request) Bytes() int   { return r.bytes }
func (r *request) Brief() bool  { return r.number == "brief" }
func (r *request) Finish()      {}
func (r *request) Answered()    {}

// nowhere is an outlet of which nothing comes.
type nowhere struct{}

func (nowhere) Flush() {}
func (nowhere) Close() {}

func start(most, limit int, handle func(stream, number string)) *lanes.Lanes[string, *request, nowhere] {
	return lanes.New(lanes.Config[string, *request, nowhere]{
		Most: most, Limit: func() int { return limit }, Outlet: func() nowhere { return nowhere{} },
		Handle:  func(_ nowhere, r *request) { handle(r.stream, r.number) },
		Follows: func(*request, []*request) bool { return false },
	})
}

// TestLanes has one stream's requests wait while those of others go on.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		var mu sync.Mutex
		seen := map[string][]string{}
		ls := start(3, 1000, func(stream, number string) {
			if stream == "held" {
				<-held
			}
			mu.Lock()
			defer mu.Unlock()
			seen[stream] = append(seen[stream], number)
		})
		for i := range 200 {
			for _, stream := range []string{"held", "a", "b"} {
				if !ls.Offer(&request{stream, strconv.Itoa(i), 10}) {
					t.Fatalf("request %d of %s is dropped", i, stream)
				}
			}
		}
		synctest.Wait()
		mu.Lock()
		for _, stream := range []string{"a", "b"} {
			if len(seen[stream]) != 200 {
				t.Errorf("%s: %d requests were carried out while another stream's waited", stream, len(seen[stream]))
			}
		}
		mu.Unlock()
		close(held)
		synctest.Wait()
		for stream, numbers := range seen {
			for i, number := range numbers {
				if number != strconv.Itoa(i) {
					t.Fatalf("%s: request %s comes as number %d", stream, number, i)
				}
			}
		}
		if len(seen["held"]) != 200 {
			t.Errorf("held: %d requests", len(seen["held"]))
		}
		if n := ls.Workers(); n > 2 {
			t.Errorf("%d workers stay with nothing to do", n)
		}
		ls.Close()
	})
}

// TestLanesAreBounded drops what comes when too much waits, and carries out what it took before it closes.
func TestLanesAreBounded(t *testing.T) {
	for name, test := range map[string]struct{ limit, bytes, want int }{
		"number": {limit: 10, bytes: 1, want: 10},
		"bytes":  {limit: 1000, bytes: 16 << 20, want: 4},
		"large":  {limit: 10, bytes: 100 << 20, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				held := make(chan struct{})
				carried := 0
				ls := start(1, test.limit, func(stream, number string) {
					<-held
					carried++
				})
				ls.Offer(&request{"s", "first", 0})
				synctest.Wait() // the worker has it, so it does not wait any more
				taken := 0
				for i := range 20 {
					if ls.Offer(&request{fmt.Sprint(i), "", test.bytes}) {
						taken++
					}
				}
				if taken != test.want {
					t.Errorf("%d requests were taken, want %d", taken, test.want)
				}
				close(held)
				ls.Close()
				if carried != taken+1 {
					t.Errorf("%d requests were carried out, %d taken", carried, taken+1)
				}
				if ls.Offer(&request{"s", "late", 0}) {
					t.Error("a request was taken after the end")
				}
			})
		})
	}
}

// step is a request that notes what becomes of it.
type step struct {
	name string
	log  *[]string
}

func (s *step) Lane() int   { return 0 }
func (s *step) Bytes() int  { return 1 }
func (s *step) Brief() bool { return s.name[0] == 'b' }
func (s *step) Finish()     { *s.log = append(*s.log, "finish "+s.name) }
func (s *step) Answered()   { *s.log = append(*s.log, "answered "+s.name) }

// flushes notes when answers are written.
type flushes struct{ log *[]string }

func (f flushes) Flush() { *f.log = append(*f.log, "flush") }
func (f flushes) Close() {}

// TestOrder: what follows is handled before those ahead of it are finished; what takes its time lets them be answered first,
// what is brief does not.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		held := make(chan struct{})
		ls := lanes.New(lanes.Config[int, *step, flushes]{
			Most: 1, Limit: func() int { return 100 }, Outlet: func() flushes { return flushes{&log} },
			Handle: func(_ flushes, s *step) {
				if s.name == "first" {
					<-held
				}
				log = append(log, s.name)
			},
			Follows: func(s *step, ahead []*step) bool {
				return s.name[0] == 'f' && len(ahead) > 0 && ahead[0].name[0] == 'f'
			},
		})
		ls.Offer(&step{"first", &log})
		synctest.Wait()
		for _, name := range []string{"f1", "f2", "b1", "slow"} {
			ls.Offer(&step{name, &log})
		}
		close(held)
		ls.Close()
		want := []string{
			"flush", "first", "finish first", "flush", "answered first",
			"flush", "f1", "f2", "finish f1", "finish f2", "b1", "finish b1", "flush", "answered f1", "answered f2", "answered b1", "slow",
			"finish slow", "flush", "answered slow",
		}
		if !slices.Equal(log, want) {
			t.Errorf("got  %q\nwant %q", log, want)
		}
	})
}
