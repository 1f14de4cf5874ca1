package delays_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog/config"
	"runnel/server/jetstream/delays"
)

// block makes a header block of names and values, nil for none.
func block(fields ...string) (out []byte) {
	for i := 0; i+1 < len(fields); i += 2 {
		out = headers.Add(out, fields[i], fields[i+1])
	}
	return out
}

func TestWhen(t *testing.T) {
	now := time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	for _, c := range []struct {
		name   string
		fields []string
		want   time.Time
		no     bool
	}{
		{"nothing", []string{"A", "b"}, time.Time{}, false},
		{"a delay", []string{"Runnel-Delay", "1h30m"}, at(90 * time.Minute), false},
		{"no delay", []string{"Runnel-Delay", "0s"}, time.Time{}, false},
		{"a time", []string{"Runnel-Deliver-At", "2026-12-24T19:00:00+00:00"}, at(time.Hour), false},
		{"in another zone, with a fraction", []string{"Runnel-Deliver-At", "2026-12-24T19:00:00.5+01:00"}, at(500 * time.Millisecond), false},
		{"a time that has passed", []string{"Runnel-Deliver-At", "2001-01-01T00:00:00Z"}, time.Time{}, false},
		{"an id", []string{"Runnel-Delay", "1s", "Nats-Msg-Id", "m"}, at(time.Second), false},
		{"both", []string{"Runnel-Delay", "1s", "Runnel-Deliver-At", "2026-12-24T19:00:00Z"}, time.Time{}, true},
		{"a number", []string{"Runnel-Delay", "10"}, time.Time{}, true},
		{"back", []string{"Runnel-Delay", "-1s"}, time.Time{}, true},
		{"too long", []string{"Runnel-Delay", "2000000h"}, time.Time{}, true},
		{"too late", []string{"Runnel-Deliver-At", "2300-01-01T00:00:00Z"}, time.Time{}, true},
		{"no time", []string{"Runnel-Deliver-At", "24.12.2026"}, time.Time{}, true},
		{"empty", []string{"Runnel-Delay", ""}, time.Time{}, true},
		{"expectations", []string{"Runnel-Delay", "1s", "Nats-Expected-Stream", "S"}, time.Time{}, true},
		{"a TTL", []string{"Runnel-Delay", "1s", "Nats-TTL", "1s"}, time.Time{}, true},
		{"a producer", []string{"Runnel-Delay", "1s", "Runnel-Producer", "p", "Runnel-Producer-Seq", "1"}, time.Time{}, true},
		{"a counter", []string{"Runnel-Delay", "1s", "Nats-Incr", "1"}, time.Time{}, true},
		{"expectations, but now", []string{"Runnel-Delay", "0s", "Nats-Expected-Stream", "S"}, time.Time{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, rest, refusal := delays.When(block(append(c.fields, "Kept", "x")...), now)
			if (refusal != nil) != c.no || !got.Equal(c.want) {
				t.Fatalf("got %v, %v, want %v", got, refusal, c.want)
			}
			if c.no {
				return
			}
			for _, gone := range []string{"Runnel-Delay", "Runnel-Deliver-At"} {
				if _, there := headers.Get(rest, gone); there {
					t.Errorf("%s is left", gone)
				}
			}
			if _, there := headers.Get(rest, "Kept"); !there {
				t.Error("another header has gone")
			}
		})
	}
}

func TestWrap(t *testing.T) {
	at := time.Date(2026, 12, 24, 18, 0, 0, 5000, time.UTC)
	for _, fields := range [][]string{nil, {"A", "b", "Nats-Msg-Id", "m"}} {
		subject, header := delays.Wrap("S", "id", "orders.new", block(fields...), at)
		if subject != "$RUNNEL.DELAYED.S.wait.id.orders.new" {
			t.Errorf("kept on %s", subject)
		}
		kept := fields
		if len(fields) > 2 {
			kept = append(slices.Clone(fields), "Runnel-Delayed-Id", "m")
		}
		want := block(append(kept, "Nats-Schedule", "@at 2026-12-24T18:00:00.000005Z", "Nats-Schedule-Target", "$RUNNEL.DELAYED.S.due.orders.new")...)
		if !bytes.Equal(header, want) {
			t.Errorf("got %q, want %q", header, want)
		}
		// As the schedule publishes it, which leaves the id out.
		header = headers.Delete(header, "Nats-Msg-Id")
		header = headers.Add(headers.Add(headers.Add(header, "Nats-Scheduler", subject), "Nats-Schedule-Next", "purge"), "Nats-Rollup", "sub")
		if subject, header = delays.Unwrap("S", "$RUNNEL.DELAYED.S.due.orders.new", header); subject != "orders.new" || !bytes.Equal(header, block(fields...)) {
			t.Errorf("unwrapped: %s %q", subject, header)
		}
	}
}

func TestConfigOf(t *testing.T) {
	target := config.Stream{
		Name: "S", Subjects: []string{"s.>"}, Replicas: 3, Storage: config.MemoryStorage, MaxMessages: 5, MaxAge: time.Hour, Discard: config.DiscardNew,
		Placement: &config.Placement{Tags: []string{"ssd"}}, DuplicateWindow: time.Minute,
	}
	cfg, err := delays.ConfigOf(&target).Normalized(config.Limits{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Name != delays.Companion("S") || cfg.Replicas != 3 || cfg.Storage != config.MemoryStorage || cfg.Placement == nil || cfg.MaxMessages != -1 ||
		cfg.MaxAge != 0 || cfg.Discard != config.DiscardOld || cfg.DuplicateWindow != time.Minute || cfg.Metadata[config.MetadataDelayed] != "S" {
		t.Errorf("got %+v", cfg)
	}
}

func FuzzWhen(f *testing.F) {
	f.Add(block("Runnel-Delay", "1h"))
	f.Add(block("Runnel-Deliver-At", "2026-12-24T18:00:00Z"))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, header []byte) {
		at, _, refusal := delays.When(header, now)
		if refusal != nil && !at.IsZero() || !at.IsZero() && !at.After(now) {
			t.Errorf("%q: got %v, %v", header, at, refusal)
		}
	})
}
