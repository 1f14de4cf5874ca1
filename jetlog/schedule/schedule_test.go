package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/schedule"
)

func TestParse(t *testing.T) {
	valid := []string{
		"@at 2099-01-01T00:00:00Z", "@at 2099-01-01T00:00:00+02:00", "@at 2099-01-01T00:00:00.5Z", "@at 1999-01-01T00:00:00Z",
		"@every 1s", "@every 1.5s", "@every 1h30m",
		"@hourly", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight",
		"0 0 0 * * *", "* * * * * *", "*/5 * * * * *", "0-59/5 * * * * *", "* * * * JAN *", "* * * * jan-mar *",
		"* * * * * MON-FRI", "* * * * * sun", "? * * * * *", "0 0 0 ? * *", "1,2,3 * * * * *", "1,,2 * * * * *",
		"5/10 * * * * *", "*/70 * * * * *", "1-5/2,9 * * * * *", "01 * * * * *", "*,5 * * * * *", "5,* * * * * *",
		"0 0 0 29 2 *", "0 0 0 31 2 MON", "  0 0  0 * * *",
	}
	for _, pattern := range valid {
		if _, err := schedule.Parse(pattern); err != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	invalid := []string{
		"", "@", "@at", "@at ", "@at 2099-01-01T00:00:00", "@AT 2099-01-01T00:00:00Z", "@at  2099-01-01T00:00:00Z",
		"@at 2099-13-01T00:00:00Z", "@at 0001-01-01T00:00:00Z", "@at 9999-01-01T00:00:00Z",
		"@every 500ms", "@every -1s", "@every 0s", "@every 1", "@every  5s", "@EVERY 5s", "@every", "@every 2000000h",
		"@foo", "@Hourly", "@hourly @daily", "0 0 * * *", "* * * * * * *", "60 * * * * *", "* 60 * * * *", "* * 24 * * *",
		"* * * 0 * *", "* * * 32 * *", "* * * * 13 *", "* * * * 0 *", "* * * * * 7", "* * * * * 0-7", "* * * * janu *",
		"* * * * * FRI-MON", "* * * * * JAN", "* * * * anf *", "0 0 0 31 2 *", "0 0 0 30 FEB ?", "0 0 0 31 2,4,6,9,11 *",
		"0 0 0 L * *", "0 0 0 1W * *", "0 0 0 * * MON#1", "5-1 * * * * *", "*/0 * * * * *", "*/-1 * * * * *", "*/ * * * * *",
		"/5 * * * * *", "1- * * * * *", "-1 * * * * *", "*-5 * * * * *", "1-2-3 * * * * *", "1/2/3 * * * * *", ", * * * * *",
		"TZ=UTC * * * * * *", "CRON_TZ=UTC 0 0 * * * *", "*/99999999999999999999 * * * * *", "1.5 * * * * *",
	}
	for _, pattern := range invalid {
		if s, err := schedule.Parse(pattern); !errors.Is(err, schedule.ErrPattern) {
			t.Errorf("%q: got %+v, %v", pattern, s, err)
		}
	}
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestZone(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Amsterdam", "Asia/Kolkata"} {
		if zone, err := schedule.Zone(name); err != nil || zone.String() != name {
			t.Errorf("%s: %v, %v", name, zone, err)
		}
	}
	for _, name := range []string{"", "Local", "Nope/X", "../etc/passwd", "/etc/localtime"} {
		if _, err := schedule.Zone(name); !errors.Is(err, schedule.ErrZone) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestFirst sees when a schedule is due for the first times, the second being asked for at the first.
func TestFirst(t *testing.T) {
	const monday = "2026-11-30T00:14:01.9Z"
	tests := []struct {
		pattern, zone, from string
		want                string // times with a blank between
	}{
		{"@at 2030-01-02T03:04:05Z", "", monday, "2030-01-02T03:04:05Z never"},
		{"@at 2020-01-02T03:04:05Z", "", monday, "2020-01-02T03:04:05Z never"},
		{"@every 2s", "", monday, "2026-11-30T00:14:04Z 2026-11-30T00:14:06Z"},
		{"@every 1h", "", "2026-11-30T00:14:01Z", "2026-11-30T01:14:01Z 2026-11-30T02:14:01Z"},
		{"@every 1.5s", "", "2026-11-30T00:14:01Z", "2026-11-30T00:14:03Z 2026-11-30T00:14:04.5Z"},
		{"@hourly", "", monday, "2026-11-30T01:00:00Z 2026-11-30T02:00:00Z"},
		{"@midnight", "", monday, "2026-12-01T00:00:00Z 2026-12-02T00:00:00Z"},
		{"@weekly", "", monday, "2026-12-06T00:00:00Z 2026-12-13T00:00:00Z"},
		{"@monthly", "", monday, "2026-12-01T00:00:00Z 2027-01-01T00:00:00Z"},
		{"@yearly", "", monday, "2027-01-01T00:00:00Z 2028-01-01T00:00:00Z"},
		{"* * * * * *", "", "2026-11-30T00:14:01Z", "2026-11-30T00:14:02Z 2026-11-30T00:14:03Z"},
		{"*/20 * * * * *", "", "2026-11-30T00:14:50Z", "2026-11-30T00:15:00Z 2026-11-30T00:15:20Z"},
		{"5/25 59 23 31 12 *", "", monday, "2026-12-31T23:59:05Z 2026-12-31T23:59:30Z"},
		{"0 0 0 29 2 *", "", monday, "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z"},
		{"0 0 0 29 2 *", "", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z 2108-02-29T00:00:00Z"},
		// A day of either kind, unless one is a star.
		{"0 0 0 1 * MON", "", monday, "2026-12-01T00:00:00Z 2026-12-07T00:00:00Z"},
		{"0 0 0 1-31 * TUE", "", monday, "2026-12-01T00:00:00Z 2026-12-02T00:00:00Z"},
		{"0 0 0 * * TUE", "", monday, "2026-12-01T00:00:00Z 2026-12-08T00:00:00Z"},
		{"0 0 0 ? * TUE", "", monday, "2026-12-01T00:00:00Z 2026-12-08T00:00:00Z"},
		{"0 0 0 1,? * TUE", "", monday, "2026-12-01T00:00:00Z 2026-12-08T00:00:00Z"},
		{"0 0 0 */2 * TUE", "", monday, "2026-12-01T00:00:00Z 2026-12-03T00:00:00Z"},
		{"0 0 0 31 2 WED", "", "2027-02-01T00:00:00Z", "2027-02-03T00:00:00Z 2027-02-10T00:00:00Z"},
		{"0 0 9 * * MON-FRI", "", "2026-12-04T10:00:00Z", "2026-12-07T09:00:00Z 2026-12-08T09:00:00Z"},
		// Time zones, and days on which clocks change.
		{"0 30 9 * * *", "Asia/Kolkata", monday, "2026-11-30T09:30:00+05:30 2026-12-01T09:30:00+05:30"},
		{"0 30 2 * * *", "Europe/Amsterdam", "2026-03-28T00:00:00Z", "2026-03-28T02:30:00+01:00 2026-03-30T02:30:00+02:00"},
		{"0 30 2 * * *", "Europe/Amsterdam", "2026-10-24T23:00:00Z", "2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00"},
		{"0 0 * * * *", "Europe/Amsterdam", "2026-03-29T00:30:00Z", "2026-03-29T03:00:00+02:00 2026-03-29T04:00:00+02:00"},
		{"0 0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-05T00:00:00-02:00 2018-11-06T00:00:00-02:00"},
		{"0 0 3 * * SUN", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-04T03:00:00-02:00 2018-11-11T03:00:00-02:00"},
		{"0 0 0 1 * *", "America/Asuncion", "2024-09-30T12:00:00Z", "2024-10-01T00:00:00-04:00 2024-11-01T00:00:00-03:00"},
	}
	for _, tt := range tests {
		t.Run(tt.pattern+" "+tt.zone, func(t *testing.T) {
			terms := schedule.Terms{Pattern: tt.pattern, Zone: tt.zone, Zoned: tt.zone != ""}
			first, ok, err := terms.First(at(t, tt.from))
			if err != nil || !ok {
				t.Fatalf("got %v, %v, %v", first, ok, err)
			}
			got := first.Format(time.RFC3339Nano)
			if next, ok, err := terms.Next(first, first); err != nil {
				t.Fatal(err)
			} else if ok {
				got += " " + next.Format(time.RFC3339Nano)
			} else {
				got += " never"
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestMissed sees that what was missed is not made up for.
func TestMissed(t *testing.T) {
	due, now := at(t, "2026-11-30T00:00:00Z"), at(t, "2026-11-30T10:00:07.5Z")
	for pattern, want := range map[string]string{
		"@every 10s":     "2026-11-30T10:00:10Z",
		"@every 7h":      "2026-11-30T14:00:00Z",
		"*/10 * * * * *": "2026-11-30T10:00:10Z",
		"@daily":         "2026-12-01T00:00:00Z",
	} {
		terms := schedule.Terms{Pattern: pattern}
		next, ok, err := terms.Next(due, now)
		if err != nil || !ok || next.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: got %v, %v, %v, want %s", pattern, next, ok, err, want)
		}
		if early, _, _ := terms.Next(due, due.Add(-time.Hour)); !early.After(due) {
			t.Errorf("%s: asked before it is due, the next is %v", pattern, early)
		}
	}
}

func TestTermsRefuse(t *testing.T) {
	now := at(t, "2026-11-30T00:00:00Z")
	bad := schedule.Terms{Pattern: "0 0 * * * *", Zone: "Nope/X", Zoned: true}
	if _, _, err := bad.First(now); !errors.Is(err, schedule.ErrZone) {
		t.Errorf("got %v", err)
	}
	if _, _, err := bad.Next(now, now); !errors.Is(err, schedule.ErrZone) {
		t.Errorf("got %v", err)
	}
	bad = schedule.Terms{Pattern: "nothing"}
	if _, ok, err := bad.First(now); ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
	if _, _, err := bad.Next(now, now); !errors.Is(err, schedule.ErrPattern) {
		t.Errorf("got %v", err)
	}
}

// FuzzParse sees that a next time is found for whatever is a pattern, and that it is the next.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{
		"@every 5s", "@hourly", "*/7 * * * * *", "0-30/5,59 */2 1-3 * * MON", "1,2 3 4 5 6 ?", "? ? ? 1,? JAN-MAR SAT", "@at 2030-01-01T00:00:00Z",
	} {
		f.Add(pattern, int64(1700000000))
	}
	f.Fuzz(func(t *testing.T, pattern string, unix int64) {
		s, err := schedule.Parse(pattern)
		if err != nil {
			return
		}
		from := time.Unix(unix%(1<<32), 0).UTC()
		next, ok := s.First(from, time.UTC)
		if !ok {
			t.Fatalf("%q after %v: never", pattern, from)
		}
		if !s.Zoned() {
			return
		}
		if !next.After(from) {
			t.Fatalf("%q after %v: %v", pattern, from, next)
		}
		// Whoever asks in between gets the same, and nobody gets it at the time itself.
		middle := from.Add(next.Sub(from) / 2).Truncate(time.Second)
		if again, _ := s.First(middle, time.UTC); !again.Equal(next) {
			t.Fatalf("%q after %v: %v, but after %v: %v", pattern, from, next, middle, again)
		}
		if again, _ := s.First(next, time.UTC); !again.After(next) {
			t.Fatalf("%q after %v: %v", pattern, next, again)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	b.ReportAllocs()
	s, err := schedule.Parse("0 30 9 * * MON-FRI")
	if err != nil {
		b.Fatal(err)
	}
	t := time.Unix(1700000000, 0).UTC()
	for b.Loop() {
		t, _ = s.First(t, time.UTC)
	}
}

func TestGenerated(t *testing.T) {
	header := strings.Join([]string{
		"NATS/1.0", "Nats-Schedule: @every 2s", "Nats-Schedule-Target: s.out", "Nats-Schedule-TTL: 5s", "Nats-Schedule-Rollup: sub",
		"Nats-Schedule-Source: s.src", "Nats-Schedule-Time-Zone: ", "X-A: 1", "Nats-Foo: bar", "Nats-Msg-Id: id", "Nats-TTL: 1s", "Nats-Rollup: sub",
		"Nats-Expected-Stream: S", "Nats-Expected-Last-Sequence: 3", "Nats-Scheduler: other", "X-A: 2", "", "",
	}, "\r\n")
	terms := schedule.Read([]byte(header))
	if want := (schedule.Terms{Pattern: "@every 2s", Target: "s.out", Source: "s.src", TTL: "5s", Rollup: "sub", Zoned: true}); terms != want {
		t.Errorf("got %+v, want %+v", terms, want)
	}
	for next, want := range map[time.Time]string{
		{}: "X-A: 1, Nats-Foo: bar, X-A: 2, Nats-Scheduler: s.sc, Nats-Schedule-Next: purge, Nats-TTL: 5s, Nats-Rollup: sub",
		time.Unix(1700000000, 0).In(time.FixedZone("", 5*3600+1800)): "X-A: 1, Nats-Foo: bar, X-A: 2, Nats-Scheduler: s.sc, " +
			"Nats-Schedule-Next: 2023-11-15T03:43:20+05:30, Nats-TTL: 5s, Nats-Rollup: sub",
	} {
		block := string(terms.Generated("s.sc", []byte(header), next))
		got := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(block, "NATS/1.0\r\n"), "\r\n\r\n"), "\r\n", ", ")
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := string((&schedule.Terms{}).Generated("s", nil, time.Time{})); got != "NATS/1.0\r\nNats-Scheduler: s\r\nNats-Schedule-Next: purge\r\n\r\n" {
		t.Errorf("got %q", got)
	}
}
