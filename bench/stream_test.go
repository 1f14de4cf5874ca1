package bench_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"runnel/bench"
	"runnel/bench/verify"
)

// smallStream selects one case of streams with a load that the fake carries quickly.
func smallStream(t *testing.T, name string, change func(*bench.Overrides)) bench.Case {
	t.Helper()
	o := bench.Overrides{Params: bench.Params{Messages: 1000, Subscribers: 3, Publishers: 2, Subjects: 30}}
	if change != nil {
		change(&o)
	}
	cases, err := bench.Streams().Select([]string{name}, o)
	if err != nil {
		t.Fatal(err)
	}
	return cases[0]
}

func TestStreamsSelect(t *testing.T) {
	tests := []struct {
		name string
		ask  string
		over bench.Overrides
		want string
	}{
		{"window", "async", bench.Overrides{}, "async16-128 async256-128 async4096-128 async256-16k"},
		{"batch", "fetch", bench.Overrides{Params: bench.Params{Batch: 10}}, "fetch10-128"},
		{"no batch where none is asked for", "kvget", bench.Overrides{Params: bench.Params{Batch: 10}}, "kvget16-128"},
		{"keys", "kv*", bench.Overrides{}, "kvput16-128 kvget16-128 kvwatch10-128"},
		{"objects", "obj*", bench.Overrides{}, "objput-8m objget-8m"},
		{"object size", "objput", bench.Overrides{Sizes: []int{64 << 10, 3 << 20}}, "objput-64k objput-3m"},
		{"consumers", "filters", bench.Overrides{Params: bench.Params{Subjects: 7}}, "filters7-128"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cases, err := bench.Streams().Select([]string{test.ask}, test.over)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(cases); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	_, err := bench.Streams().Select([]string{"pubsub"}, bench.Overrides{})
	if err == nil || !strings.Contains(err.Error(), "runnel bench js list") {
		t.Errorf("a scenario of messages: got %v, want an error that names the list", err)
	}
}

// TestStreamCounts is about what ends a run: a number of messages, or a time.
func TestStreamCounts(t *testing.T) {
	tests := []struct {
		name     string
		over     bench.Overrides
		messages int64
		duration time.Duration
	}{
		{"async16-128", bench.Overrides{}, 0, 3 * time.Second},
		{"async16-128", bench.Overrides{Scale: 0.5}, 0, 1500 * time.Millisecond},
		{"async16-128", bench.Overrides{Params: bench.Params{Messages: 7}}, 7, 0},
		{"async16-128", bench.Overrides{Params: bench.Params{Duration: time.Second}, Scale: 0.5}, 0, time.Second},
		{"async16-128", bench.Overrides{Params: bench.Params{Messages: 7, Duration: time.Second}}, 7, time.Second},
		{"consume1-128", bench.Overrides{}, 200_000, 0},
		{"consume1-128", bench.Overrides{Scale: 0.1}, 20_000, 0},
		{"consume1-128", bench.Overrides{Params: bench.Params{Duration: time.Second}}, 200_000, 0},
		{"objput-8m", bench.Overrides{Scale: 0.25}, 8, 0},
	}
	for _, test := range tests {
		cases, err := bench.Streams().Select([]string{test.name}, test.over)
		if err != nil {
			t.Fatal(err)
		}
		if p := cases[0].Params; p.Messages != test.messages || p.Duration != test.duration {
			t.Errorf("%s with %+v: got %d messages, %v, want %d, %v", test.name, test.over, p.Messages, p.Duration, test.messages, test.duration)
		}
	}
}

func TestEveryStreamScenarioIsExplained(t *testing.T) {
	for _, s := range bench.Streams().Scenarios() {
		if s.Explanation == "" || len(s.Variants) == 0 {
			t.Errorf("%s: explanation %q, %d variants", s.Name, s.Explanation, len(s.Variants))
		}
	}
	var out strings.Builder
	if err := bench.Streams().WriteList(&out); err != nil || !strings.Contains(out.String(), "cases: objget-8m") {
		t.Errorf("got %v and\n%s", err, out.String())
	}
}

func TestStreamScenariosAgainstFake(t *testing.T) {
	tests := []struct {
		name     string
		messages int64
		latency  bool
	}{
		{"publish", 1000, true},
		{"async16-128", 1000, true},
		{"async256-16k", 1000, true},
		{"filters", 1000, true},
		{"fetch", 1000, false},
		{"consume", 1000, false},
		{"ordered", 3000, false},
		{"kvput", 1000, true},
		{"kvget", 1000, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{streams: &fakeStreams{}}
			r := run(t, f, smallStream(t, test.name, nil), nil)
			if !r.OK() || r.Verdict != bench.VerdictPassed {
				t.Fatalf("got error %q, verdict %s, notes %q", r.Error, r.Verdict, r.Tally.Notes)
			}
			if r.Messages != test.messages || r.Deliveries != 0 {
				t.Errorf("got %d messages, %d deliveries, want %d and none", r.Messages, r.Deliveries, test.messages)
			}
			if (r.Latency != nil) != test.latency || test.latency && r.Latency.Count != test.messages {
				t.Errorf("got latency %+v, want one: %v", r.Latency, test.latency)
			}
			if left := f.left(); len(left) != 0 || f.streams.made != 1 {
				t.Errorf("streams %q are left of %d, want none of 1", left, f.streams.made)
			}
		})
	}
}

func TestStreamRunsForATime(t *testing.T) {
	for _, name := range []string{"publish", "async16-128", "paced", "kvput"} {
		t.Run(name, func(t *testing.T) {
			c := smallStream(t, name, func(o *bench.Overrides) { o.Messages, o.Duration = 0, 50*time.Millisecond })
			r := run(t, &fake{streams: &fakeStreams{}}, c, nil)
			if !r.OK() || r.Messages == 0 || r.Seconds < 0.04 {
				t.Errorf("got error %q, %d messages in %v s, notes %q", r.Error, r.Messages, r.Seconds, r.Tally.Notes)
			}
		})
	}
}

// TestStreamOptions looks at the stream that a run makes.
func TestStreamOptions(t *testing.T) {
	var config map[string]any
	f := &fake{streams: &fakeStreams{info: func(info map[string]any) { config, _ = info["config"].(map[string]any) }}}
	c := smallStream(t, "async16-128", func(o *bench.Overrides) { o.Memory, o.Replicas = true, 3 })
	if r := run(t, f, c, nil); !r.OK() {
		t.Fatalf("got error %q, notes %q", r.Error, r.Tally.Notes)
	}
	if config["storage"] != "memory" || config["num_replicas"] != 3.0 {
		t.Errorf("got storage %v with %v replicas, want memory with 3", config["storage"], config["num_replicas"])
	}
}

// at makes a change that concerns only the acknowledgement of one sequence.
func at(seq int, change func(ack map[string]any)) func(map[string]any) {
	return func(ack map[string]any) {
		if ack["seq"] == seq {
			change(ack)
		}
	}
}

func TestAcknowledgementFaultsAreFound(t *testing.T) {
	tests := []struct {
		name  string
		ack   func(map[string]any)
		want  verify.Tally
		error string // in Result.Error, empty for none
	}{
		{"sequence twice", at(500, func(a map[string]any) { a["seq"] = 499 }), verify.Tally{Duplicated: 1, Lost: 1}, ""},
		{"sequence beyond the end", at(500, func(a map[string]any) { a["seq"] = 5000 }), verify.Tally{Foreign: 3950, Lost: 1}, ""},
		{"another stream", at(500, func(a map[string]any) { a["stream"] = "OTHER" }), verify.Tally{Foreign: 1}, ""},
		{"as a duplicate", at(500, func(a map[string]any) { a["duplicate"] = true }), verify.Tally{Foreign: 1}, ""},
		{"none", at(500, func(a map[string]any) { clear(a) }), verify.Tally{Lost: 1}, "stalled"},
		{"an error", at(500, func(a map[string]any) {
			clear(a)
			a["error"] = map[string]any{"code": 503, "err_code": 10077, "description": "disk full"}
		}), verify.Tally{}, "disk full"},
	}
	for _, name := range []string{"publish", "async256-128", "kvput"} {
		for _, test := range tests {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				if name == "kvput" && (strings.HasPrefix(test.name, "another") || strings.HasPrefix(test.name, "as")) {
					t.Skip("the client of a bucket sees only the revision")
				}
				f := &fake{streams: &fakeStreams{ack: test.ack}}
				r := run(t, f, smallStream(t, name, nil), impatient)
				if r.OK() || !strings.Contains(r.Error, test.error) {
					t.Fatalf("got error %q, verdict %s, want %q", r.Error, r.Verdict, test.error)
				}
				if test.error != "" {
					return // how far the others got is not known
				}
				got := r.Tally
				if got.Delivered = 0; counts(got) != counts(test.want) {
					t.Errorf("got %s, want %s; notes %q", counts(got), counts(test.want), got.Notes)
				}
			})
		}
	}
}

func TestReadingFaultsAreFound(t *testing.T) {
	lose := altered(500, func(message) []message { return nil })
	repeat := altered(500, func(m message) []message { return []message{m, m} })
	stray := altered(500, func(m message) []message {
		m.subject += "x"
		return []message{m}
	})
	tests := []struct {
		name    string
		deliver fault
		want    verify.Tally
		stalls  bool
	}{
		{"lost", lose, verify.Tally{Lost: 1}, true},
		{"duplicated", repeat, verify.Tally{Duplicated: 1}, false},
		{"reordered", late(500), verify.Tally{Reordered: 1}, false},
		{"corrupted", altered(500, corrupt), verify.Tally{Corrupted: 1, Lost: 1}, false},
		{"wrong subject", stray, verify.Tally{Foreign: 1}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{streams: &fakeStreams{deliver: test.deliver}}
			c := smallStream(t, "consume", func(o *bench.Overrides) { o.Subscribers = 1 })
			r := run(t, f, c, impatient)
			if r.OK() || (r.Error != "") != test.stalls {
				t.Fatalf("got error %q, verdict %s, stalls: want %v", r.Error, r.Verdict, test.stalls)
			}
			got := r.Tally
			// The acknowledgements while the stream was filled count too.
			if got.Delivered = 0; counts(got) != counts(test.want) {
				t.Errorf("got %s, want %s; notes %q", counts(got), counts(test.want), got.Notes)
			}
		})
	}
}

func TestFalseInformationIsFound(t *testing.T) {
	short := func(info map[string]any) {
		if state, ok := info["state"].(map[string]any); ok && state["messages"] != 0 {
			state["messages"] = state["messages"].(int) - 1
		}
	}
	behind := func(info map[string]any) {
		if n, ok := info["num_pending"].(int); ok && n > 0 {
			info["num_pending"] = n - 1
		}
	}
	redelivered := func(info map[string]any) { info["num_redelivered"] = 1 }
	tests := []struct {
		name, scenario string
		info           func(map[string]any)
		want           string
	}{
		{"a message less", "publish", short, "after 1050 acknowledged"},
		{"a message less while filling", "fetch", short, "after 1000 acknowledged"},
		{"a key less", "kvput", short, "has 29 messages"},
		{"pending", "filters", behind, "pending of the"},
		{"redelivered", "fetch", redelivered, "1 redelivered"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{streams: &fakeStreams{info: test.info}}
			r := run(t, f, smallStream(t, test.scenario, nil), nil)
			if !strings.Contains(r.Error, test.want) {
				t.Errorf("got error %q, want %q in it", r.Error, test.want)
			}
		})
	}
}

func TestWrongValueIsFound(t *testing.T) {
	var other message
	swapped := func(n int, m message) []message {
		if n == 100 {
			m.data = other.data
		}
		other = m
		return []message{m}
	}
	for name, deliver := range map[string]fault{"another key's": swapped, "corrupted": altered(100, corrupt)} {
		t.Run(name, func(t *testing.T) {
			r := run(t, &fake{streams: &fakeStreams{deliver: deliver}}, smallStream(t, "kvget", nil), nil)
			if !strings.Contains(r.Error, "it is not what was put") {
				t.Errorf("got error %q", r.Error)
			}
		})
	}
}

func TestStreamRequestsThatAreRefused(t *testing.T) {
	tests := []struct {
		scenario, refuse string
		served           int
		want             string
	}{
		{"publish", "STREAM.CREATE", 0, "create stream bench_"},
		{"publish", "STREAM.INFO", 0, "look at stream bench_"},
		{"publish", "STREAM.DELETE", 0, "remove stream bench_"},
		{"fetch", "CONSUMER.CREATE", 0, "create consumer"},
		{"fetch", "CONSUMER.INFO", 0, "look at the consumer"},
		{"consume", "CONSUMER.INFO", 0, "open consumer"},
		{"ordered", "CONSUMER.CREATE", 0, "open consumer"},
		{"filters", "CONSUMER.CREATE", 10, "create consumer 10"},
		{"filters", "CONSUMER.INFO", 1, "look at consumer 1"},
		{"kvput", "STREAM.CREATE", 0, "create bucket bench_"},
		{"kvwatch", "STREAM.INFO", 0, "open bucket bench_"},
		{"kvwatch", "CONSUMER.CREATE", 0, "watch bucket bench_"},
		{"objput", "STREAM.CREATE", 0, "create object store bench_"},
	}
	for _, test := range tests {
		t.Run(test.scenario+" "+test.refuse, func(t *testing.T) {
			f := &fake{streams: &fakeStreams{refuse: test.refuse, served: test.served}}
			r := run(t, f, smallStream(t, test.scenario, nil), impatient)
			if !r.Partial || !strings.Contains(r.Error, test.want) || !strings.Contains(r.Error, "feel like it") {
				t.Errorf("got error %q, partial %v, want %q in it", r.Error, r.Partial, test.want)
			}
			if left := f.left(); len(left) != 0 && test.refuse != "STREAM.DELETE" {
				t.Errorf("streams %q are left", left)
			}
		})
	}
}

// TestInterruptedStream removes its stream although its connections were cut.
func TestInterruptedStream(t *testing.T) {
	for _, name := range []string{"publish", "async256-128", "consume"} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			f := &fake{streams: &fakeStreams{ack: at(700, func(map[string]any) { stop() })}}
			target := bench.Target{URL: startFake(t, f), Verify: true}
			r := smallStream(t, name, func(o *bench.Overrides) { o.Messages = 100_000 }).Run(ctx, target)
			if !r.Partial || r.Error != "interrupted" || r.Verdict == bench.VerdictFailed {
				t.Errorf("got error %q, partial %v, verdict %s, notes %q", r.Error, r.Partial, r.Verdict, r.Tally.Notes)
			}
			if left := f.left(); len(left) != 0 {
				t.Errorf("streams %q are left", left)
			}
		})
	}
}

func TestNoJetStream(t *testing.T) {
	r := run(t, &fake{noService: true}, smallStream(t, "publish", nil), impatient)
	if !r.Partial || !strings.Contains(r.Error, "create stream") {
		t.Errorf("got error %q", r.Error)
	}
}

// TestStreamsUnverified sees only numbers, and so nothing wrong.
func TestStreamsUnverified(t *testing.T) {
	for _, name := range []string{"publish", "async16-128", "fetch", "kvget"} {
		t.Run(name, func(t *testing.T) {
			j := &fakeStreams{ack: at(500, func(a map[string]any) { a["seq"] = 499 })}
			if name != "publish" && name != "async16-128" {
				j = &fakeStreams{deliver: altered(500, corrupt)}
			}
			r := run(t, &fake{streams: j}, smallStream(t, name, nil), func(target *bench.Target) { target.Verify = false })
			if !r.OK() || r.Verdict != bench.VerdictOff || r.Messages != 1000 {
				t.Errorf("got error %q, verdict %s, %d messages, want 1000 and none", r.Error, r.Verdict, r.Messages)
			}
		})
	}
}

// TestStreamRate sends at a rate, with every client of a scenario.
func TestStreamRate(t *testing.T) {
	for _, name := range []string{"publish", "async16-128"} {
		t.Run(name, func(t *testing.T) {
			c := smallStream(t, name, func(o *bench.Overrides) { o.Messages, o.Rate = 40, 2000 })
			r := run(t, &fake{streams: &fakeStreams{}}, c, nil)
			if !r.OK() || r.Messages != 40 || r.Latency == nil || r.Latency.Count != 40 {
				t.Errorf("got error %q, %d messages, latency %+v, want 40", r.Error, r.Messages, r.Latency)
			}
		})
	}
}

func TestStreamPayloadSizes(t *testing.T) {
	tests := []struct {
		name, scenario string
		size           int
		verify         bool
		want           string // in Result.Error, empty for none
	}{
		{"no room for a stamp", "publish", 8, true, "no room for the stamp"},
		{"none needed", "publish", 8, false, ""},
		{"one is made where time is measured", "async16-128", 8, false, ""},
		{"larger than a message", "publish", 4096, true, "exceeds the server's max_payload"},
		{"value larger than a message", "kvput", 4096, true, "exceeds the server's max_payload"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := smallStream(t, test.scenario, func(o *bench.Overrides) { o.Sizes = []int{test.size} })
			r := run(t, &fake{maxPayload: 2048, streams: &fakeStreams{}}, c, func(target *bench.Target) { target.Verify = test.verify })
			if test.want == "" && r.Error != "" || !strings.Contains(r.Error, test.want) {
				t.Errorf("got error %q, want %q", r.Error, test.want)
			}
		})
	}
}

// TestServerOfStreamsGoesAway ends the run with the reason, not with what it could not remove.
func TestServerOfStreamsGoesAway(t *testing.T) {
	f := &fake{streams: &fakeStreams{}}
	f.streams.ack = at(300, func(map[string]any) { go f.cutAll() })
	r := run(t, f, smallStream(t, "async256-128", func(o *bench.Overrides) { o.Messages = 100_000 }), impatient)
	if !r.Partial || !strings.Contains(r.Error, "connection lost") {
		t.Errorf("got error %q, partial %v, want a lost connection", r.Error, r.Partial)
	}
}

// TestStreamParamsAreReported looks at what only streams have, in the forms for machines.
func TestStreamParamsAreReported(t *testing.T) {
	results := []bench.Result{{Case: "fetch7-128", Params: bench.Params{Batch: 7, Replicas: 3, Memory: true}}}
	for format, want := range map[bench.Format]string{
		bench.CSV:  ",7,3,true\n",
		bench.JSON: `"batch": 7,`,
	} {
		var out strings.Builder
		if err := bench.WriteResults(&out, format, results); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: got %v and\n%s\nwant %q in it", format, err, out.String(), want)
		}
	}
}
