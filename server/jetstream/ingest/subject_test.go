package ingest_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/ingest"
)

func TestSubjectTransform(t *testing.T) {
	b := newBench(t, ingest.Config{}, func(c *config.Stream) {
		c.SubjectTransform = &config.Transform{Source: "s.*.in", Destination: "t.{{wildcard(1)}}"}
	})
	b.ask("s.a.in", "x")
	b.ask("s.b", "y")
	b.ask("s.b.in", "z", "Nats-Expected-Last-Subject-Sequence", "0")
	for seq, want := range map[uint64]string{
		1: "t.a x", 2: "s.b y", 3: `t.b "NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: 0\r\n\r\n" z`,
	} {
		if got := b.load(seq); got != want {
			t.Errorf("sequence %d: got %s, want %s", seq, got, want)
		}
	}
	if got, _ := b.hooks(); got != "t.a 1, s.b 2, t.b 3" {
		t.Errorf("got told of %q, want the subjects under which they are stored", got)
	}
	b.configure(func(c *config.Stream) {
		c.SubjectTransform = &config.Transform{Source: "s.>", Destination: "{{random(4)}}.>"}
	})
	seen := map[string]bool{}
	for range 100 {
		b.ask("s.a", "x")
	}
	for seq := range uint64(100) {
		m, err := b.log.Load(4 + seq)
		if err != nil {
			t.Fatal(err)
		}
		seen[m.Subject] = true
	}
	if len(seen) != 4 || !seen["0.a"] || !seen["3.a"] {
		t.Errorf("got subjects %v, want four partitions", seen)
	}
}

// stamp is a time as it stands in a header.
var stamp = regexp.MustCompile(`(Nats-Time-Stamp: )(\S+)`)

// fields returns a header block as text with the time replaced, and the time.
func fields(t *testing.T, header string) (string, time.Time) {
	t.Helper()
	m := stamp.FindStringSubmatch(header)
	if m == nil {
		t.Fatalf("no time in %q", header)
	}
	at, err := time.Parse(time.RFC3339Nano, m[2])
	if err != nil {
		t.Error(err)
	}
	lines := strings.Split(stamp.ReplaceAllString(header, "${1}T"), "\r\n")
	return strings.Join(lines[1:len(lines)-2], "|"), at
}

func TestRepublish(t *testing.T) {
	republish := func(r config.Republish) func(*config.Stream) {
		return func(c *config.Stream) { c.Republish = &r }
	}
	all := republish(config.Republish{Source: ">", Destination: "out.>"})
	type publish struct {
		subject, payload string
		fields           []string
		want             string // subject, header, payload; empty for nothing
	}
	tests := map[string]struct {
		change    func(*config.Stream)
		publishes []publish
	}{
		"everything": {all, []publish{
			{"s.a", "one", nil, "out.s.a|Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 1|Nats-Time-Stamp: T|Nats-Last-Sequence: 0|one"},
			{
				"s.a", "two",
				[]string{"X", "y", "Nats-Msg-Id", "m"},
				"out.s.a|X: y|Nats-Msg-Id: m|Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 2|Nats-Time-Stamp: T|Nats-Last-Sequence: 1|two",
			},
			{"s.a", "two", []string{"X", "y", "Nats-Msg-Id", "m"}, ""},
			{"s.a", "no", []string{"Nats-Expected-Last-Sequence", "9"}, ""},
		}},
		"headers only": {
			republish(config.Republish{Source: ">", Destination: "out.>", HeadersOnly: true}),
			[]publish{{
				"s.a", "four",
				[]string{"X", "y"},
				"out.s.a|X: y|Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 1|Nats-Time-Stamp: T|Nats-Last-Sequence: 0|Nats-Msg-Size: 4|",
			}},
		},
		"some": {
			republish(config.Republish{Source: "s.*", Destination: "out.{{wildcard(1)}}"}),
			[]publish{
				{"s.a.b", "x", nil, ""},
				{"s.a", "x", nil, "out.a|Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 2|Nats-Time-Stamp: T|Nats-Last-Sequence: 0|x"},
			},
		},
		"what claims to be from elsewhere": {all, []publish{{
			"s.a", "x",
			[]string{"Nats-Stream", "fake", "Nats-Sequence", "77", "Nats-Msg-Size", "9", "Nats-Streams", "s"},
			"out.s.a|Nats-Msg-Size: 9|Nats-Streams: s|Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 1|Nats-Time-Stamp: T|Nats-Last-Sequence: 0|x",
		}}},
		"no source": {republish(config.Republish{Destination: "out.>"}), []publish{
			{"s.a", "x", nil, "out.s.a|Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 1|Nats-Time-Stamp: T|Nats-Last-Sequence: 0|x"},
		}},
		"nobody is interested": {
			func(c *config.Stream) { all(c); c.Retention = config.InterestRetention },
			[]publish{{"s.a", "x", nil, ""}},
		},
		"counters": {
			func(c *config.Stream) { all(c); c.AllowCounter, c.MaxPerSubject = true, 1 },
			[]publish{
				{"s.a", "", []string{"Nats-Incr", "5"}, `out.s.a|Nats-Incr: 5|Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 1|Nats-Time-Stamp: T|Nats-Last-Sequence: 0|{"val":"5"}`},
				{"s.a", "", []string{"Nats-Incr", "5"}, `out.s.a|Nats-Incr: 5|Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 2|Nats-Time-Stamp: T|Nats-Last-Sequence: 1|{"val":"10"}`},
			},
		},
		"counters that are gone at once": {
			func(c *config.Stream) { all(c); c.AllowCounter, c.MaxBytes = true, 1 },
			[]publish{
				{"s.a", "", []string{"Nats-Incr", "5"}, `out.s.a|Nats-Incr: 5|Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 1|Nats-Time-Stamp: T|Nats-Last-Sequence: 0|{"val":"5"}`},
			},
		},
		"transformed": {
			func(c *config.Stream) {
				c.SubjectTransform = &config.Transform{Source: "s.>", Destination: "t.>"}
				c.Republish = &config.Republish{Source: "t.>", Destination: "out.>"}
			},
			[]publish{{"s.a", "x", nil, "out.a|Nats-Stream: S|Nats-Subject: t.a|Nats-Sequence: 1|Nats-Time-Stamp: T|Nats-Last-Sequence: 0|x"}},
		},
		"gone at once": {
			func(c *config.Stream) { all(c); c.MaxBytes = 1 },
			[]publish{{"s.a", "x", []string{"A", "b"}, "out.s.a|A: b|Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 1|Nats-Time-Stamp: T|Nats-Last-Sequence: 0|x"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, ingest.Config{}, test.change)
			for i, p := range test.publishes {
				b.publish(p.subject, "", p.payload, p.fields...)
				if p.want == "" {
					b.quiet()
					continue
				}
				m := b.next()
				header, at := fields(t, m.header)
				if got := m.subject + "|" + header + "|" + m.payload; got != p.want {
					t.Errorf("message %d: got %s, want %s", i+1, got, p.want)
				}
				seq, _ := strconv.ParseUint(regexp.MustCompile(`Nats-Sequence: (\d+)`).FindStringSubmatch(m.header)[1], 10, 64)
				if stored, err := b.log.Load(seq); err != nil || stored.Sequence > 0 && stored.Time != at.UnixNano() {
					t.Errorf("message %d: got time %v, want that with which it is stored, %v, %v", i+1, at, time.Unix(0, stored.Time), err)
				}
			}
		})
	}
}

// What others have stored is told of in the same way.
func TestAnnounce(t *testing.T) {
	b := newBench(t, ingest.Config{}, func(c *config.Stream) {
		c.Republish = &config.Republish{Source: ">", Destination: "out.>"}
	})
	now := time.Now().UnixNano()
	r, err := b.log.Propose(t.Context(), &command.Publish{Time: now, Subject: "s.a", Payload: []byte("x"), Internal: true})
	if err != nil {
		t.Fatal(err)
	}
	m := jetlog.Message{Sequence: r.Sequence, Time: now, Subject: "s.a", Payload: []byte("x")}
	b.stream.Announce(m, r)
	got := b.next()
	header, at := fields(t, got.header)
	if want := "Nats-Stream: S|Nats-Subject: s.a|Nats-Sequence: 1|Nats-Time-Stamp: T|Nats-Last-Sequence: 0"; got.subject != "out.s.a" ||
		header != want || at.UnixNano() != now || got.payload != "x" {
		t.Errorf("got %v, want it republished with %s", got, want)
	}
	b.barrier()
	if stored, _ := b.hooks(); stored != "s.a 1" {
		t.Errorf("got told of %q, want the message", stored)
	}
	b.stream.Close()
	b.stream.Announce(m, r)
	b.quiet()
}

// What is republished is what is stored, where that differs from what was sent.
func TestRepublishAsStored(t *testing.T) {
	b := newBench(t, ingest.Config{}, func(c *config.Stream) {
		c.Republish = &config.Republish{Source: ">", Destination: "out.>"}
		c.AllowTTL, c.AllowRollup, c.MarkerTTL = true, true, time.Minute
	})
	b.publish("s.a", "", "x", "Nats-TTL", "5s")
	got, _ := fields(t, b.next().header)
	stored, err := b.log.Load(1)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("Nats-TTL: %s|Nats-Stream", regexp.MustCompile(`Nats-TTL: (\S+)`).FindSubmatch(stored.Header)[1])
	if !strings.HasPrefix(got, want) || strings.Contains(got, "5s") {
		t.Errorf("got %s, want it to begin with %s", got, want)
	}
}
