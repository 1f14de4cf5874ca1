package soak

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

var errRefused = errors.New("refused")

// TestSome: messages go one after the other, each in a limited time, until one is not acknowledged.
func TestSome(t *testing.T) {
	tests := []struct {
		name          string
		refused       string // the message that is not acknowledged
		acked, unsure int
	}{
		{"all are acknowledged", "", 5, 0},
		{"the first is not", "m1", 0, 1},
		{"a later one is not, and ends it", "m4", 3, 1},
		{"the last one is not", "m5", 4, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := ledgerOf(&fakeJetStream{publish: func(ctx context.Context, name string) error {
				if _, limited := ctx.Deadline(); !limited {
					t.Errorf("%s may wait for ever", name)
				}
				if name == test.refused {
					return errRefused
				}
				return nil
			}})
			err := l.some(t.Context(), 5, 10)
			if errors.Is(err, errRefused) != (test.refused != "") || err != nil && test.refused == "" {
				t.Errorf("got error %v, want one: %v", err, test.refused != "")
			}
			if l.count() != test.acked || l.unanswered() != test.unsure {
				t.Errorf("%d acknowledged and %d not, want %d and %d", l.count(), l.unanswered(), test.acked, test.unsure)
			}
		})
	}
}

// slowly acknowledges each message after the next of some times, and all after them at once, when the test ends.
func slowly(stop func(), times ...time.Duration) func(context.Context, string) error {
	return func(context.Context, string) error {
		if len(times) == 0 {
			stop()
			return nil
		}
		<-time.After(max(times[0], -times[0])) // a time below 0 ends without an answer
		failed := times[0] < 0
		times = times[1:]
		if failed {
			return errRefused
		}
		return nil
	}
}

// gaps are the times between acknowledgements, and the longest time without one.
var gaps = []struct {
	name  string
	times []time.Duration // until each message is answered, below 0 by an error
	want  time.Duration
}{
	{"at once", nil, 0},
	{"the longest of some", []time.Duration{time.Second, 3 * time.Second, 2 * time.Second}, 3 * time.Second},
	{"errors are no acknowledgements", []time.Duration{time.Second, -2 * time.Second, -4 * time.Second, time.Second}, 7 * time.Second},
	{"an error in the beginning", []time.Duration{-5 * time.Second, time.Second, 2 * time.Second}, 6 * time.Second},
	{"as long as may be", []time.Duration{gapMost}, gapMost},
	{"longer", []time.Duration{time.Second, gapMost + time.Millisecond}, gapMost + time.Millisecond},
	{"longer in parts", []time.Duration{-gapMost / 2, -gapMost / 2, time.Second}, gapMost + time.Second},
}

// TestKeep: what counts is the time between two acknowledgements, whatever errors there are between them.
func TestKeep(t *testing.T) {
	for _, test := range gaps {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				l := ledgerOf(&fakeJetStream{publish: slowly(stop, test.times...)})
				if got := l.keep(ctx, 10); got != test.want {
					t.Errorf("got %v, want %v", got, test.want)
				}
				if got := l.count() + l.unanswered(); got != len(test.times)+1 {
					t.Errorf("%d messages are in the books, want %d", got, len(test.times)+1)
				}
			})
		})
	}
}

// TestBeside: a publisher that waits too long is a violation, one that does not is a note, and an error of what runs beside it is returned.
func TestBeside(t *testing.T) {
	for _, test := range gaps {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				done := make(chan struct{})
				stop := func() {
					select {
					case <-done:
					default:
						close(done)
					}
				}
				// A publisher that is never made to wait would not let the time of the test go on.
				publish := slowly(stop, append(slices.Clone(test.times), time.Millisecond)...)
				r := &rig{ledger: ledgerOf(&fakeJetStream{publish: publish}), result: Result{Verdict: Passed}}
				err := r.beside(t.Context(), func(context.Context) error {
					<-done
					return errRefused
				})
				if !errors.Is(err, errRefused) {
					t.Errorf("got error %v, want that of what runs beside", err)
				}
				want := Passed
				if test.want > gapMost {
					want = Violated
				}
				if r.result.Verdict != want || len(r.result.Why)+len(r.result.Notes) != 1 {
					t.Errorf("got %+v, want %s and why", r.result, want)
				}
			})
		})
	}
}

// TestRead: a reader has all there is, or an error that says how far it came. It never takes a part for the whole.
func TestRead(t *testing.T) {
	three := []fakeMessage{{name: "m1", sequence: 1}, {name: "m2", sequence: 2}, {name: "m3", sequence: 3}}
	unreadable := []fakeMessage{{name: "m1", sequence: 1}, {name: "m2", failed: errRefused}}
	tests := []struct {
		name string
		fake fakeJetStream
		want map[string]uint64
		err  string
	}{
		{"nothing", fakeJetStream{}, map[string]uint64{}, ""},
		{"nothing any more", fakeJetStream{last: 9}, map[string]uint64{}, ""},
		{"all", fakeJetStream{has: three, last: 3}, map[string]uint64{"m1": 1, "m2": 2, "m3": 3}, ""},
		{"what came later", fakeJetStream{has: three, last: 2}, map[string]uint64{"m1": 1, "m2": 2}, ""},
		{"the end does not come", fakeJetStream{has: three, last: 4}, map[string]uint64{"m1": 1, "m2": 2, "m3": 3}, "read after 3 messages"},
		{"one without a sequence", fakeJetStream{has: unreadable, last: 2}, map[string]uint64{"m1": 1}, "refused"},
		{"no stream", fakeJetStream{fails: map[string]error{"stream": errRefused}}, nil, "refused"},
		{"no state", fakeJetStream{fails: map[string]error{"info": errRefused}}, nil, "refused"},
		{"no consumer", fakeJetStream{has: three, fails: map[string]error{"consumer": errRefused}}, nil, "refused"},
		{"no messages", fakeJetStream{has: three, fails: map[string]error{"messages": errRefused}}, nil, "refused"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := ledgerOf(&test.fake).read(t.Context())
			if !maps.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
}

// TestMissing: what was acknowledged has to be there, at the sequence that was told. What was not acknowledged may be there.
func TestMissing(t *testing.T) {
	tests := []struct {
		name string
		has  []fakeMessage
		want []string
	}{
		{"all are there", []fakeMessage{{name: "m1", sequence: 1}, {name: "m2", sequence: 2}, {name: "m3", sequence: 3}}, nil},
		{"and one that was not acknowledged", []fakeMessage{{name: "m1", sequence: 1}, {name: "m2", sequence: 2}, {name: "m9", sequence: 2}, {name: "m3", sequence: 3}}, nil},
		{"one is gone", []fakeMessage{{name: "m1", sequence: 1}, {name: "m3", sequence: 3}}, []string{"m2"}},
		{"two are in each other's place", []fakeMessage{{name: "m2", sequence: 1}, {name: "m1", sequence: 2}, {name: "m3", sequence: 3}}, []string{"m1", "m2"}},
		{"all are gone", nil, []string{"m1", "m2", "m3"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fakeJetStream{}
			l := ledgerOf(f)
			if err := l.some(t.Context(), 3, 1); err != nil {
				t.Fatal(err)
			}
			f.has = test.has
			got, err := l.missing(t.Context())
			slices.Sort(got)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
	l := ledgerOf(&fakeJetStream{last: 1, has: []fakeMessage{{name: "m1", sequence: 0}}})
	if got, err := l.missing(t.Context()); got != nil || !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("got %q, %v of a stream that cannot be read, want its error", got, err)
	}
}
