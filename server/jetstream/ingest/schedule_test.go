package ingest_test

import (
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/ingest"
)

func allowSchedules(c *config.Stream) { c.AllowSchedules, c.AllowRollup = true, true }

// The first time of a schedule is computed here, since it depends on the data of time zones.
func TestSchedules(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	target := []string{"Nats-Schedule-Target", "s.target"}
	tests := map[string]struct {
		fields []string
		want   string
		due    time.Time
	}{
		"at":        {[]string{"Nats-Schedule", "@at 2030-01-02T15:04:05Z"}, ok1, time.Date(2030, 1, 2, 15, 4, 5, 0, time.UTC)},
		"every":     {[]string{"Nats-Schedule", "@every 1h"}, ok1, now.Add(time.Hour)},
		"in a zone": {[]string{"Nats-Schedule", "0 30 9 * * *", "Nats-Schedule-Time-Zone", "Asia/Kolkata"}, ok1, time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)},
		"an unknown zone": {
			[]string{"Nats-Schedule", "0 30 9 * * *", "Nats-Schedule-Time-Zone", "Mars/Base"},
			refusal(400, 10223, "message schedules time zone is invalid"),
			time.Time{},
		},
		"no pattern": {[]string{"Nats-Schedule", "soon"}, refusal(400, 10189, "message schedules pattern is invalid"), time.Time{}},
		"none":       {[]string{"A", "b"}, ok1, time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, ingest.Config{Clock: func() time.Time { return now }}, allowSchedules)
			fields := test.fields
			if name != "none" {
				fields = append(fields, target...)
			}
			if got := b.ask("s.a", "x", fields...); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			var due int64
			err := b.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
				due = s.NextSchedule()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := test.due; want.IsZero() != (due == 0) || !want.IsZero() && due != want.UnixNano() {
				t.Errorf("got due at %v, want %v", time.Unix(0, due).UTC(), want)
			}
		})
	}
}
