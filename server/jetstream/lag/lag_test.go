package lag_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/lag"
	"runnel/server/jetstream/own"
)

var now = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func TestOf(t *testing.T) {
	tests := []struct {
		name string
		lag  delivery.Lag
		want string
	}{
		{"nothing", delivery.Lag{}, "0 s, undelivered 0 0 s , unacked 0 0 s , drained in 0"},
		{"undelivered", delivery.Lag{Messages: 3, Undelivered: 3, OldestUndelivered: ago(time.Minute)}, "60 s, undelivered 3 60 s stored, unacked 0 0 s , drained never"},
		{
			"both",
			delivery.Lag{Messages: 5, Undelivered: 3, Unacked: 2, OldestUndelivered: ago(time.Minute), OldestUnacked: ago(time.Hour), Served: 2},
			"3600 s, undelivered 3 60 s stored, unacked 2 3600 s stored, drained in 2.5",
		},
		{
			"first delivery",
			delivery.Lag{Messages: 1, Unacked: 1, OldestUnacked: ago(time.Hour), FirstDelivered: ago(time.Second), Served: 4},
			"3600 s, undelivered 0 0 s , unacked 1 1 s delivered, drained in 0.25",
		},
		{"of the future", delivery.Lag{Messages: 1, Undelivered: 1, OldestUndelivered: ago(-time.Hour)}, "0 s, undelivered 1 0 s stored, unacked 0 0 s , drained never"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := lag.Of("S", "c", &delivery.State{Lag: tt.lag}, now)
			drained := "never"
			if l.DrainSeconds != nil {
				drained = fmt.Sprint("in ", *l.DrainSeconds)
			}
			got := fmt.Sprintf("%v s, undelivered %d %v s %s, unacked %d %v s %s, drained %s", l.Seconds,
				l.Undelivered.Messages, l.Undelivered.Seconds, l.Undelivered.Since, l.Unacked.Messages, l.Unacked.Seconds, l.Unacked.Since, drained)
			if got != tt.want || l.Stream != "S" || l.Consumer != "c" || !l.Time.Equal(now) || l.Stalled != nil {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
	l := lag.Of("S", "c", &delivery.State{Stalled: delivery.Paused, StalledUntil: ago(-time.Hour)}, now)
	if l.Stalled == nil || l.Stalled.Reason != "paused" || !l.Stalled.Until.Equal(ago(-time.Hour)) {
		t.Errorf("stalled: got %+v", l.Stalled)
	}
}

// call asks for a page of the streams A and B.
func call(body string) *own.Call {
	return &own.Call{Names: []string{"A", "B"}, Decode: func(into any) error { return json.Unmarshal([]byte(body), into) }}
}

// TestJoin makes pages of what servers have told: worst first, and of a stream whose leader has changed meanwhile the later word.
func TestJoin(t *testing.T) {
	parts := []json.RawMessage{
		json.RawMessage(`{"total":3,"consumers":[
			{"stream":"A","consumer":"x","lag_seconds":5,"lag_messages":1,"ts":"2026-01-01T00:00:02Z"},
			{"stream":"A","consumer":"y","lag_seconds":3,"lag_messages":1,"ts":"2026-01-01T00:00:00Z"},
			{"stream":"A","consumer":"z","lag_seconds":3,"lag_messages":2,"ts":"2026-01-01T00:00:00Z"}]}`),
		json.RawMessage(`{"total":2,"consumers":[
			{"stream":"A","consumer":"x","lag_seconds":9,"lag_messages":1,"ts":"2026-01-01T00:00:01Z"},
			{"stream":"B","consumer":"x","lag_seconds":4,"lag_messages":1,"ts":"2026-01-01T00:00:00Z"}]}`),
	}
	for body, want := range map[string]string{
		`{}`:                     "4 0 A/x/5 B/x/4 A/z/3 A/y/3",
		`{"offset":1,"limit":2}`: "4 1 B/x/4 A/z/3",
		`{"offset":7}`:           "4 4",
		`{"limit":100000}`:       "4 0 A/x/5 B/x/4 A/z/3 A/y/3",
	} {
		a, err := lag.Account().Join(call(body), parts, []string{"C"})
		if err != nil {
			t.Fatal(err)
		}
		l := a.(*api.LagAnswer)
		words := []string{fmt.Sprint(l.Total), fmt.Sprint(l.Offset)}
		for _, c := range l.Consumers {
			words = append(words, fmt.Sprintf("%s/%s/%v", c.Stream, c.Consumer, c.Seconds))
		}
		if got := strings.Join(words, " "); got != want || len(l.Missing) != 1 {
			t.Errorf("%s: got %s, missing %v, want %s", body, got, l.Missing, want)
		}
	}
}

func TestJoinRefuses(t *testing.T) {
	var refused *api.Error
	if _, err := lag.Account().Join(call(`{"stream":"C"}`), nil, nil); !errors.As(err, &refused) || refused.ErrCode != 10059 {
		t.Errorf("no stream: got %v", err)
	}
	a, err := lag.Account().Join(call(`{"stream":"B"}`), nil, []string{"A", "B"})
	if l, ok := a.(*api.LagAnswer); err != nil || !ok || len(l.Missing) != 1 || l.Missing[0] != "B" {
		t.Errorf("one stream: got %+v, %v", a, err)
	}
	if _, err := lag.Account().Join(call(`{`), nil, nil); err == nil {
		t.Error("a request that is none is answered")
	}
	if _, err := lag.Account().Join(call(`{}`), []json.RawMessage{json.RawMessage(`[]`)}, nil); err == nil {
		t.Error("a part that is none is taken")
	}
	if _, err := lag.Account().Part(call(`{`)); err == nil {
		t.Error("a part is made for a request that is none")
	}
}
