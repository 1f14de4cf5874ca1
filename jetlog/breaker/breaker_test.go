package breaker_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/breaker"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "failures=50%,window=1m,min=20,pause=30s",
		"failures=100%":                "failures=100%,window=1m,min=20,pause=30s",
		" pause = 1h , min = 1 ":       "failures=50%,window=1m,min=1,pause=1h",
		"window=90s,failures=1%,min=3": "failures=1%,window=1m30s,min=3,pause=30s",
	} {
		p, err := breaker.Parse(text)
		if err != nil || p.String() != want {
			t.Errorf("%q: got %v, %v, want %s", text, p, err, want)
			continue
		}
		if again, err := breaker.Parse(p.String()); err != nil || again != p {
			t.Errorf("%q: %v is read as %v, %v", text, p, again, err)
		}
	}
	for text, want := range map[string]string{
		"failures=50":            "1% to 100%",
		"failures=0%":            "1% to 100%",
		"failures=101%":          "1% to 100%",
		"failures":               "has no value",
		"window=1ms":             "from 1s to 1h",
		"pause=25h":              "from 1s to 24h",
		"min=0":                  "from 1 to 1000000",
		"min=1,min=2":            "twice",
		"often=1":                "there are failures, window, min, pause",
		strings.Repeat("x", 300): "at most 256",
	} {
		if _, err := breaker.Parse(text); !errors.Is(err, breaker.ErrPolicy) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}

func parse(t *testing.T, text string) *breaker.Breaker {
	t.Helper()
	p, err := breaker.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return breaker.New(p)
}

const second = int64(time.Second)

func TestTrip(t *testing.T) {
	const start = 1_000_000 * second
	type event struct {
		kind string // done, nak, again
		n    int
		at   int64 // seconds after the start
	}
	for _, test := range []struct {
		name     string
		events   []event
		at       int64
		failed   int
		attempts int
		trips    bool
	}{
		{"nothing", nil, 0, 0, 0, false},
		{"too few", []event{{"nak", 9, 0}}, 0, 9, 9, false},
		{"all fail", []event{{"nak", 10, 0}}, 0, 10, 10, true},
		{"half", []event{{"nak", 10, 0}, {"done", 10, 0}}, 0, 10, 20, true},
		{"less than half", []event{{"nak", 10, 0}, {"done", 11, 0}}, 0, 10, 21, false},
		{"nobody answers", []event{{"again", 10, 0}}, 0, 10, 10, true},
		{"told, and delivered again", []event{{"nak", 9, 0}, {"again", 9, 1}, {"done", 5, 1}}, 1, 9, 14, true},
		{"told once, and failed twice", []event{{"nak", 5, 0}, {"again", 5, 1}, {"again", 5, 2}}, 2, 10, 10, true},
		{"spread over the window", []event{{"nak", 5, 0}, {"nak", 5, 7}}, 7, 10, 10, true},
		{"out of the window", []event{{"nak", 9, 0}, {"done", 5, 30}, {"nak", 4, 30}}, 30, 4, 9, false},
		{"partly out of it", []event{{"nak", 8, 0}, {"nak", 4, 5}, {"nak", 5, 12}}, 12, 9, 9, false},
		{"a clock that goes back", []event{{"nak", 5, 20}, {"nak", 5, 0}}, 0, 10, 10, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := parse(t, "window=10s,min=10")
			for _, e := range test.events {
				for seq := range uint64(e.n) {
					switch at := start + e.at*second; e.kind {
					case "done":
						b.Done(at)
					case "nak":
						b.Failed(seq, at)
					default:
						b.Again(seq, at)
					}
				}
			}
			failed, attempts, trips := b.Trip(start + test.at*second)
			if failed != test.failed || attempts != test.attempts || trips != test.trips {
				t.Errorf("%d of %d failed, trips %v, want %d of %d, %v", failed, attempts, trips, test.failed, test.attempts, test.trips)
			}
			if failed, attempts, trips := b.Trip(start + test.at*second); test.trips && (failed != 0 || attempts != 0 || trips) {
				t.Errorf("after it has tripped: %d of %d failed, trips %v", failed, attempts, trips)
			}
		})
	}
}

// TestBounded has more messages fail than are remembered.
func TestBounded(t *testing.T) {
	b := parse(t, "min=1000000,window=1h")
	const n = 40_000
	for seq := range uint64(n) {
		b.Failed(seq, second)
	}
	for seq := range uint64(n) {
		b.Again(seq, second)
	}
	failed, _, _ := b.Trip(second)
	if failed < n || failed >= 2*n {
		t.Errorf("%d failures are counted", failed)
	}
}
