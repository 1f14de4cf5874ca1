package terms_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog/body"
	"runnel/jetlog/config"
	"runnel/jetlog/terms"
)

// block makes a header block of names and values.
func block(fields ...string) []byte {
	var list []headers.Field
	for i := 0; i < len(fields); i += 2 {
		list = append(list, headers.Field{Name: fields[i], Value: fields[i+1]})
	}
	return headers.Build(list...)
}

func TestRead(t *testing.T) {
	tests := []struct {
		name   string
		header []byte
		want   func(x terms.Terms) bool
	}{
		{"none", nil, func(x terms.Terms) bool { return x.ID == nil && !x.Last.Set && !x.Increment && !x.HasSource }},
		{"others", block("X-Nats-Msg-Id", "a", "Foo", "Nats-TTL"), func(x terms.Terms) bool { return x.ID == nil && x.TTL == nil }},
		{"id", block("Nats-Msg-Id", "a"), func(x terms.Terms) bool { return string(x.ID) == "a" }},
		{"name in other letters", block("nats-msg-id", "a"), func(x terms.Terms) bool { return x.ID == nil }},
		{"first of two", block("Nats-Msg-Id", "a", "Nats-Msg-Id", "b"), func(x terms.Terms) bool { return string(x.ID) == "a" }},
		{"stream", block("Nats-Expected-Stream", "S"), func(x terms.Terms) bool { return string(x.Stream) == "S" }},
		{"last", block("Nats-Expected-Last-Sequence", "7"), func(x terms.Terms) bool {
			return x.Last.Set && x.Last.Met(7) && !x.Last.Met(8) && x.Last.Below(8) && !x.Last.Below(7)
		}},
		{"last is no number", block("Nats-Expected-Last-Sequence", "-1"), func(x terms.Terms) bool {
			return x.Last.Set && !x.Last.Met(0) && !x.Last.Below(1)
		}},
		{"last is empty", block("Nats-Expected-Last-Sequence", ""), func(x terms.Terms) bool { return !x.Last.Set && x.Last.Met(9) }},
		{"last on subject", block("Nats-Expected-Last-Subject-Sequence", "0"), func(x terms.Terms) bool {
			return x.LastOnSubject.Met(0) && !x.LastOnSubject.Met(1) && x.On("own") == "own"
		}},
		{
			"on another subject", block("Nats-Expected-Last-Subject-Sequence", "1", "Nats-Expected-Last-Subject-Sequence-Subject", "s.*"),
			func(x terms.Terms) bool { return x.On("own") == "s.*" },
		},
		{"last id", block("Nats-Expected-Last-Msg-Id", "b"), func(x terms.Terms) bool { return string(x.LastID) == "b" }},
		{"increment", block("Nats-Incr", "+1"), func(x terms.Terms) bool { return x.Increment && string(x.By) == "+1" }},
		{"schedule", block("Nats-Schedule", "@at x"), func(x terms.Terms) bool { return x.Schedule }},
		{"empty schedule", block("Nats-Schedule", ""), func(x terms.Terms) bool { return !x.Schedule }},
		{"scheduler", block("Nats-Scheduler", "", "Nats-Schedule-Next", "purge"), func(x terms.Terms) bool {
			return x.Scheduler != nil && string(x.Next) == "purge"
		}},
		{"source", block("Nats-Stream-Source", ""), func(x terms.Terms) bool { return x.HasSource && len(x.Source) == 0 }},
		{"producer", block("Runnel-Producer", "p", "Runnel-Producer-Seq", "7"), func(x terms.Terms) bool {
			return string(x.Producer) == "p" && x.Number == 7 && x.ProducerRefusal() == ""
		}},
		{"producer without number", block("Runnel-Producer", "p"), func(x terms.Terms) bool { return x.ProducerRefusal() != "" }},
		{"number without producer", block("Runnel-Producer-Seq", "7"), func(x terms.Terms) bool { return x.ProducerRefusal() != "" }},
		{"empty producer", block("Runnel-Producer", "", "Runnel-Producer-Seq", "7"), func(x terms.Terms) bool { return x.ProducerRefusal() != "" }},
		{"number 0", block("Runnel-Producer", "p", "Runnel-Producer-Seq", "0"), func(x terms.Terms) bool { return x.ProducerRefusal() != "" }},
		{"number too large", block("Runnel-Producer", "p", "Runnel-Producer-Seq", "18446744073709551616"), func(x terms.Terms) bool { return x.ProducerRefusal() != "" }},
		{"producer too long", block("Runnel-Producer", strings.Repeat("p", 257), "Runnel-Producer-Seq", "1"), func(x terms.Terms) bool { return x.ProducerRefusal() != "" }},
		{"no producer", block("Runnel-Other", "p"), func(x terms.Terms) bool { return x.Producer == nil && x.ProducerRefusal() == "" }},
		{"no block", []byte("Nats-Msg-Id"), func(x terms.Terms) bool { return x.ID == nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if x := terms.Read(test.header); !test.want(x) {
				t.Errorf("got %+v of %q", x, test.header)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	tests := []struct {
		name     string
		header   []byte
		cfg      config.Stream
		internal bool
		want     config.Code
	}{
		{"nothing asked", nil, config.Stream{}, false, 0},
		{"counter where there are none", block("Nats-Incr", "1"), config.Stream{}, false, config.CountersDisabled},
		{"counter", block("Nats-Incr", "1"), config.Stream{AllowCounter: true}, false, 0},
		{"TTL where there is none", block("Nats-TTL", "1s"), config.Stream{}, false, config.TTLDisabled},
		{"TTL", block("Nats-TTL", "1s"), config.Stream{AllowTTL: true}, false, 0},
		{"TTL of the server's own", block("Nats-TTL", "1s"), config.Stream{}, true, 0},
		{"subject without its sequence", block("Nats-Expected-Last-Subject-Sequence-Subject", "a"), config.Stream{}, false, config.ExpectedSubjectSequence},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := terms.Read(test.header)
			if got, _ := x.Refusal(&test.cfg, test.internal); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestRollupOf(t *testing.T) {
	allowed, denied := config.Stream{AllowRollup: true}, config.Stream{AllowRollup: true, DenyPurge: true}
	tests := []struct {
		value   string
		cfg     config.Stream
		subject bool
		all     bool
		refusal string
	}{
		{"sub", allowed, true, false, ""},
		{"SUB", allowed, true, false, ""},
		{"all", allowed, false, true, ""},
		{"", allowed, false, false, ""},
		{"some", allowed, false, false, `rollup value invalid: "some"`},
		{"sub", config.Stream{}, false, false, "rollup not permitted"},
		{"all", denied, false, false, "rollup not permitted"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%q %v", test.value, test.cfg.DenyPurge), func(t *testing.T) {
			x := terms.Read(block("Nats-Rollup", test.value))
			if subject, all, refusal := x.RollupOf(&test.cfg); subject != test.subject || all != test.all || refusal != test.refusal {
				t.Errorf("got %v, %v, %q", subject, all, refusal)
			}
		})
	}
}

func TestParseTTL(t *testing.T) {
	const longest = 100 * 365 * 24 * time.Hour
	tests := []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"", 0, true},
		{"never", time.Duration(body.Never), true},
		{"NEVER", time.Duration(body.Never), true},
		{"1", time.Second, true},
		{"1s", time.Second, true},
		{"1h30m", 90 * time.Minute, true},
		{"999ms", 0, false},
		{"0", 0, false},
		{"-1", 0, false},
		{"1.5", 0, false},
		{"soon", 0, false},
		{"9223372036854775807", longest, true},
		{"18446744073709551615", 0, false},
		{"2562047h", longest, true},
	}
	for _, test := range tests {
		t.Run(test.value, func(t *testing.T) {
			if got, ok := terms.ParseTTL([]byte(test.value)); ok != test.ok || ok && got != test.want {
				t.Errorf("got %v, %v; want %v, %v", got, ok, test.want, test.ok)
			}
		})
	}
}

// FuzzRead gives arbitrary header blocks: nothing panics, and what is read is a part of the block.
func FuzzRead(f *testing.F) {
	f.Add(block("Nats-Msg-Id", "a", "Nats-TTL", "1s"))
	f.Add([]byte("NATS/1.0\r\nNats-Rollup:sub\r\n"))
	f.Fuzz(func(t *testing.T, header []byte) {
		x := terms.Read(header)
		for _, part := range [][]byte{x.ID, x.Stream, x.OnSubject, x.LastID, x.Rollup, x.TTL, x.By, x.Scheduler, x.Next, x.Source} {
			if len(part) > len(header) {
				t.Errorf("%q is longer than %q", part, header)
			}
		}
		terms.ParseTTL(x.TTL)
		x.RollupOf(&config.Stream{AllowRollup: true})
	})
}
