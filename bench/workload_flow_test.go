package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"runnel/bench"
	"runnel/bench/verify"
)

// testStall is the patience of runs that lose messages, and have to wait for it.
const testStall = 1500 * time.Millisecond

// small selects one case with a load that the fake carries quickly.
func small(t *testing.T, name string, change func(*bench.Overrides)) bench.Case {
	t.Helper()
	o := bench.Overrides{Params: bench.Params{Messages: 1000, Subscribers: 3, Publishers: 2, Connections: 20, Subjects: 30}}
	if change != nil {
		change(&o)
	}
	cases, err := bench.Core().Select([]string{name}, o)
	if err != nil {
		t.Fatal(err)
	}
	return cases[0]
}

// run runs a case against a fake.
func run(t *testing.T, f *fake, c bench.Case, change func(*bench.Target)) bench.Result {
	t.Helper()
	target := bench.Target{URL: startFake(t, f), Verify: true}
	if change != nil {
		change(&target)
	}
	return c.Run(t.Context(), target)
}

// waitALittle is how long a test waits for what is not to happen.
const waitALittle = 50 * time.Millisecond

// impatient is for runs that end by stalling.
func impatient(target *bench.Target) { target.Stall = testStall }

func TestScenariosAgainstFake(t *testing.T) {
	tests := []struct {
		name                 string
		messages, deliveries int64
		verdict              string
	}{
		{"pub", 1000, 0, bench.VerdictOff},
		{"pubsub-16", 1000, 3000, bench.VerdictPassed},
		{"pubsub-32k", 1000, 3000, bench.VerdictPassed},
		{"fanout", 1000, 3000, bench.VerdictPassed},
		{"fanin", 1000, 3000, bench.VerdictPassed},
		{"pairs", 1000, 1000, bench.VerdictPassed},
		{"queue", 1000, 1000, bench.VerdictPassed},
		{"headers", 1000, 3000, bench.VerdictPassed},
		{"subjects", 1000, 3000, bench.VerdictPassed},
		{"tenants-16", 1000, 3000, bench.VerdictPassed},
		{"request1-128", 1000, 1000, bench.VerdictPassed},
		{"request50-128", 1000, 1000, bench.VerdictPassed},
		{"connections", 20, 0, bench.VerdictPassed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, &fake{tenants: test.name == "tenants-16"}, small(t, test.name, nil), nil)
			if !r.OK() {
				t.Fatalf("got error %q, verdict %s, notes %q", r.Error, r.Verdict, r.Tally.Notes)
			}
			if r.Messages != test.messages || r.Deliveries != test.deliveries {
				t.Errorf("got %d messages, %d deliveries, want %d, %d", r.Messages, r.Deliveries, test.messages, test.deliveries)
			}
			if r.Verdict != test.verdict {
				t.Errorf("verdict: got %s, want %s", r.Verdict, test.verdict)
			}
			if r.Seconds <= 0 || r.MessagesPerSecond <= 0 {
				t.Errorf("got %v seconds, %v messages a second", r.Seconds, r.MessagesPerSecond)
			}
			if r.Server != "fake 2.10.0" {
				t.Errorf("server: got %q", r.Server)
			}
		})
	}
}

// altered makes a fault that treats message number at in its own way.
func altered(at int, change func(m message) []message) fault {
	return func(n int, m message) []message {
		if n != at {
			return []message{m}
		}
		return change(m)
	}
}

// corrupt flips a bit of the payload's end.
func corrupt(m message) []message {
	m.data = bytes.Clone(m.data)
	m.data[len(m.data)-1] ^= 1
	return []message{m}
}

// late holds message number at back until the next one of the same subject.
func late(at int) fault {
	var held []message
	return func(n int, m message) []message {
		if n == at {
			held = []message{m}
			return nil
		}
		out := append([]message{m}, held...)
		held = nil
		return out
	}
}

func TestFaultsAreFound(t *testing.T) {
	lose := altered(500, func(message) []message { return nil })
	repeat := altered(500, func(m message) []message { return []message{m, m} })
	spoil := altered(500, corrupt)
	// The very last message comes twice: nothing follows that would show it.
	repeatLast := altered(1050, func(m message) []message { return []message{m, m} })
	stray := altered(500, func(m message) []message {
		m.subject = m.subject[:strings.LastIndexByte(m.subject, '.')] + ".1"
		return []message{m}
	})
	stripped := altered(500, func(m message) []message {
		m.data, m.header = m.data[m.header:], 0
		return []message{m}
	})
	tests := []struct {
		name     string
		scenario string
		fault    fault
		want     verify.Tally
	}{
		{"lost", "pubsub-128", lose, verify.Tally{Lost: 1}},
		{"lost for each of three", "fanout10-128", lose, verify.Tally{Lost: 3}},
		{"lost in a queue group", "queue", lose, verify.Tally{Lost: 1}},
		{"lost over many subjects", "subjects", lose, verify.Tally{Lost: 3}},
		{"duplicated", "pubsub-128", repeat, verify.Tally{Duplicated: 1}},
		{"duplicated at the end", "pubsub-128", repeatLast, verify.Tally{Duplicated: 1}},
		{"duplicated in a queue group", "queue", repeat, verify.Tally{Duplicated: 1}},
		{"reordered", "pubsub-128", late(500), verify.Tally{Reordered: 1}},
		{"corrupted", "pubsub-128", spoil, verify.Tally{Corrupted: 1, Lost: 1}},
		{"wrong subject", "subjects", stray, verify.Tally{Foreign: 1, Lost: 1}},
		{"header gone", "headers", stripped, verify.Tally{Corrupted: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := small(t, test.scenario, func(o *bench.Overrides) {
				o.Publishers = 1
				if !strings.Contains(test.name, "three") && test.scenario != "queue" {
					o.Subscribers = 1
				}
			})
			r := run(t, &fake{fault: test.fault}, c, impatient)
			test.want.Delivered = r.Tally.Delivered
			if r.Verdict != bench.VerdictFailed || r.OK() {
				t.Errorf("verdict: got %s, OK %v, want a failure", r.Verdict, r.OK())
			}
			checkTally(t, r.Tally, test.want)
		})
	}
}

func TestDuplicateBehindTheEndIsFound(t *testing.T) {
	f := &fake{}
	f.fault = func(n int, m message) []message {
		if n == 1050 { // the last one, warm-up included
			f.behind = []message{m}
		}
		return []message{m}
	}
	r := run(t, f, small(t, "pubsub-128", func(o *bench.Overrides) { o.Publishers, o.Subscribers = 1, 1 }), nil)
	checkTally(t, r.Tally, verify.Tally{Delivered: 1051, Duplicated: 1})
}

func TestLossEndsTheRun(t *testing.T) {
	t.Parallel()
	r := run(t, &fake{fault: func(int, message) []message { return nil }}, small(t, "pubsub-128", nil), impatient)
	if !r.Partial || !strings.Contains(r.Error, bench.ErrStalled.Error()) {
		t.Errorf("got partial %v, error %q, want a stall", r.Partial, r.Error)
	}
}

func TestReplyFaultsAreFound(t *testing.T) {
	lose := altered(500, func(message) []message { return nil })
	repeat := altered(500, func(m message) []message { return []message{m, m} })
	wrong := func() fault {
		var previous string
		return func(n int, m message) []message {
			reply := m.reply
			if n == 500 {
				m.reply = previous
			}
			previous = reply
			return []message{m}
		}
	}
	tests := []struct {
		name, scenario string
		fault          fault
		want           verify.Tally
	}{
		// The responder echoes what it gets, so a request's fault shows in the reply.
		{"lost", "request50-128", lose, verify.Tally{Lost: 1}},
		{"lost, paced", "request50-128", lose, verify.Tally{Lost: 1}},
		{"answered twice", "request50-128", repeat, verify.Tally{Duplicated: 1}},
		{"answered twice, one in flight", "request1-128", repeat, verify.Tally{Duplicated: 1}},
		{"corrupted", "request1-128", altered(500, corrupt), verify.Tally{Corrupted: 1, Lost: 1}},
		{"answer to another request", "request1-128", wrong(), verify.Tally{Foreign: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := small(t, test.scenario, func(o *bench.Overrides) {
				o.Publishers = 1
				if strings.Contains(test.name, "paced") {
					o.Rate = 5000
				}
			})
			r := run(t, &fake{fault: test.fault}, c, impatient)
			if r.Verdict != bench.VerdictFailed {
				t.Errorf("verdict: got %s, want a failure; error %q", r.Verdict, r.Error)
			}
			test.want.Delivered = r.Tally.Delivered
			checkTally(t, r.Tally, test.want)
		})
	}
}

func TestNoResponders(t *testing.T) {
	r := run(t, &fake{noService: true}, small(t, "request1-128", nil), nil)
	if !r.Partial || !strings.Contains(r.Error, "nobody serves") {
		t.Errorf("got %q, want that nobody serves the subject", r.Error)
	}
}

func TestWithoutVerification(t *testing.T) {
	spoil := altered(500, corrupt)
	for _, name := range []string{"pubsub-128", "request1-128"} {
		r := run(t, &fake{fault: spoil}, small(t, name, nil), func(target *bench.Target) { target.Verify = false })
		if !r.OK() || r.Verdict != bench.VerdictOff {
			t.Errorf("%s: got error %q, verdict %s, want it off", name, r.Error, r.Verdict)
		}
	}
	tiny := small(t, "pubsub-16", func(o *bench.Overrides) { o.Sizes = []int{1} })
	if r := run(t, &fake{}, tiny, func(target *bench.Target) { target.Verify = false }); !r.OK() {
		t.Errorf("one byte: got %q", r.Error)
	}
}

func TestPacedRunsMeasureLatency(t *testing.T) {
	for _, verify := range []bool{true, false} {
		for _, name := range []string{"pubsub-128", "request50-128"} {
			c := small(t, name, func(o *bench.Overrides) { o.Rate = 5000 })
			r := run(t, &fake{}, c, func(target *bench.Target) { target.Verify = verify })
			if !r.OK() || r.Latency == nil {
				t.Fatalf("%s, verify %v: got error %q, latency %v", name, verify, r.Error, r.Latency)
			}
			if l := r.Latency; l.Count != r.Deliveries || l.P50 <= 0 || l.P50 > l.P99 || l.P99 > l.Max {
				t.Errorf("%s, verify %v: got %+v for %d deliveries", name, verify, l, r.Deliveries)
			}
		}
	}
}

// TestStallCountsForAllThatWereDue has the server pause: of the messages that
// were due meanwhile each waited for its part of the pause, not only the one
// that was on its way. A load generator that waits with the server would see a
// single slow message.
func TestStallCountsForAllThatWereDue(t *testing.T) {
	const pause = 400 * time.Millisecond
	// The large messages do not all fit into the sockets' buffers.
	for _, name := range []string{"pubsub-32k", "request1-128"} {
		t.Run(name, func(t *testing.T) {
			pausing := altered(200, func(m message) []message {
				<-time.After(pause)
				return []message{m}
			})
			// 1000 messages in half a second; four fifths of them fall into the pause.
			c := small(t, name, func(o *bench.Overrides) { o.Publishers, o.Subscribers, o.Rate = 1, 1, 2000 })
			r := run(t, &fake{fault: pausing}, c, nil)
			if !r.OK() {
				t.Fatal(r.Error)
			}
			if got, least := r.Latency.P50, float64(pause.Microseconds())/8; got < least {
				t.Errorf("p50: got %v µs, want more than %v", got, least)
			}
			if got, least := r.Latency.Max, float64(pause.Microseconds())*0.99; got < least {
				t.Errorf("max: got %v µs, want more than %v", got, least)
			}
		})
	}
}

func TestSeveralOfEverything(t *testing.T) {
	for _, name := range []string{"queue", "subjects", "request50-128", "fanin", "paced10-128"} {
		c := small(t, name, func(o *bench.Overrides) { o.Publishers, o.Subscribers, o.Messages = 4, 5, 1001 })
		r := run(t, &fake{}, c, nil)
		if !r.OK() || r.Messages != 1001 {
			t.Errorf("%s: got error %q, %d messages, notes %q, want 1001", name, r.Error, r.Messages, r.Tally.Notes)
		}
	}
}

func TestRunsSideBySideDoNotMeet(t *testing.T) {
	target := bench.Target{URL: startFake(t, &fake{}), Verify: true}
	cases := []string{"pubsub-128", "pubsub-128", "queue", "request50-128", "subjects"}
	outcome := make(chan bench.Result, len(cases))
	for _, name := range cases {
		c := small(t, name, nil)
		go func() { outcome <- c.Run(t.Context(), target) }()
	}
	for range cases {
		if r := <-outcome; !r.OK() {
			t.Errorf("%s: got error %q, notes %q", r.Case, r.Error, r.Tally.Notes)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, name := range []string{"pubsub-128", "paced1-128", "request1-128"} {
		c := small(t, name, func(o *bench.Overrides) { o.Messages, o.Duration = 0, 50*time.Millisecond })
		r := run(t, &fake{}, c, nil)
		if !r.OK() || r.Messages == 0 || r.Seconds < 0.05 {
			t.Errorf("%s: got error %q, %d messages in %v s", name, r.Error, r.Messages, r.Seconds)
		}
	}
}

func TestMoreOfEverythingThanMessages(t *testing.T) {
	c := small(t, "pubsub-128", func(o *bench.Overrides) { o.Messages, o.Publishers = 1, 3 })
	if r := run(t, &fake{}, c, nil); !r.OK() || r.Messages != 1 || r.Deliveries != 3 {
		t.Errorf("got error %q, %d messages, %d deliveries, want 1, 3", r.Error, r.Messages, r.Deliveries)
	}
}

func TestSubWithPublisherElsewhere(t *testing.T) {
	f := &fake{}
	url := startFake(t, f)
	target := bench.Target{URL: url, Verify: true, Subject: "bench.shared"}
	subscriber := small(t, "sub", nil)
	result := make(chan bench.Result)
	go func() { result <- subscriber.Run(t.Context(), target) }()
	await(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.subs) == 3
	})
	if r := small(t, "pub", nil).Run(t.Context(), target); !r.OK() {
		t.Fatalf("pub: got %q", r.Error)
	}
	r := <-result
	if !r.OK() || r.Verdict != bench.VerdictPassed || r.Deliveries != 3000 {
		t.Errorf("sub: got error %q, verdict %s, %d deliveries, want 3000 of them passed", r.Error, r.Verdict, r.Deliveries)
	}
}

func TestSubFindsFewerThanAwaited(t *testing.T) {
	t.Parallel()
	f := &fake{fault: altered(500, func(message) []message { return nil })}
	target := bench.Target{URL: startFake(t, f), Verify: true, Stall: testStall}
	result := make(chan bench.Result)
	go func() { result <- small(t, "sub", nil).Run(t.Context(), target) }()
	await(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.subs) == 3
	})
	small(t, "pub", func(o *bench.Overrides) { o.Publishers = 1 }).Run(t.Context(), target)
	r := <-result
	if !r.Partial || r.Tally.Lost != 3 || !strings.Contains(r.Error, "999 of 1000") {
		t.Errorf("got partial %v, %s, error %q, want one lost for each of three", r.Partial, counts(r.Tally), r.Error)
	}
}

// await returns when a condition holds, and fails the test if that takes long.
func await(t *testing.T, condition func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatal("gave up waiting")
		case <-tick.C:
		}
	}
}

func TestInterruption(t *testing.T) {
	for _, name := range []string{"pubsub-128", "fanout100-128", "request50-128", "paced1-128", "sub"} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			counted := make(chan struct{})
			f.fault = func(n int, m message) []message {
				if n == 2000 {
					close(counted)
				}
				return []message{m}
			}
			ctx, cancel := context.WithCancel(t.Context())
			c := small(t, name, func(o *bench.Overrides) { o.Messages, o.Duration = 0, time.Hour })
			target := bench.Target{URL: startFake(t, f), Verify: true}
			result := make(chan bench.Result)
			go func() { result <- c.Run(ctx, target) }()
			if name == "sub" {
				await(t, func() bool {
					f.mu.Lock()
					defer f.mu.Unlock()
					return len(f.subs) == 3
				})
			} else {
				<-counted
			}
			cancel()
			r := <-result
			if !r.Partial || r.Error != "interrupted" || r.Verdict == bench.VerdictFailed {
				t.Errorf("got partial %v, error %q, verdict %s, notes %q", r.Partial, r.Error, r.Verdict, r.Tally.Notes)
			}
		})
	}
}

func TestServerGoesAway(t *testing.T) {
	for _, test := range []struct {
		name string
		rate float64
	}{{"pubsub-128", 0}, {"pubsub-128", 20_000}, {"request50-128", 0}, {"request50-128", 20_000}, {"headers-128", 0}} {
		t.Run(fmt.Sprint(test.name, " at ", test.rate), func(t *testing.T) {
			f := &fake{}
			f.fault = func(n int, m message) []message {
				if n == 500 {
					for _, conn := range f.conns {
						conn.Close()
					}
				}
				return []message{m}
			}
			c := small(t, test.name, func(o *bench.Overrides) { o.Rate = test.rate })
			r := run(t, f, c, nil)
			if !r.Partial || r.Error == "" || strings.Contains(r.Error, "stalled") {
				t.Errorf("got partial %v, error %q, want that the connection is lost", r.Partial, r.Error)
			}
			if r.OK() {
				t.Errorf("verdict %s, although the server has gone", r.Verdict)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		fake   *fake
		change func(*bench.Overrides)
		want   string
	}{
		{"no room for a stamp", &fake{}, func(o *bench.Overrides) { o.Sizes = []int{15} }, "no room for the stamp"},
		{"above max_payload", &fake{maxPayload: 100}, nil, "max_payload of 100"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, test.fake, small(t, "pubsub-128", test.change), nil)
			if !r.Partial || !strings.Contains(r.Error, test.want) {
				t.Errorf("got partial %v, error %q, want %q", r.Partial, r.Error, test.want)
			}
		})
	}
	odd := small(t, "subjects", func(o *bench.Overrides) { o.Subjects = 7 })
	if r := run(t, &fake{}, odd, nil); !strings.Contains(r.Error, "multiple of 10") {
		t.Errorf("7 subjects: got %q", r.Error)
	}
}

func TestNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	for _, name := range []string{"pubsub-128", "request1-128", "connections"} {
		r := small(t, name, nil).Run(t.Context(), bench.Target{URL: "nats://me:secret@" + address, Verify: true})
		if !r.Partial || r.Server != "" || !strings.Contains(r.Error, "***@"+address) || strings.Contains(r.Error, "secret") {
			t.Errorf("%s: got partial %v, server %q, error %q", name, r.Partial, r.Server, r.Error)
		}
	}
}

// counts are those of a tally in words.
func counts(t verify.Tally) string {
	return fmt.Sprintf("delivered %d lost %d duplicated %d reordered %d corrupted %d foreign %d",
		t.Delivered, t.Lost, t.Duplicated, t.Reordered, t.Corrupted, t.Foreign)
}

// checkTally compares the counts of two tallies.
func checkTally(t *testing.T, got, want verify.Tally) {
	t.Helper()
	if counts(got) != counts(want) {
		t.Errorf("tally: got %s, want %s; notes %q", counts(got), counts(want), got.Notes)
	}
}
