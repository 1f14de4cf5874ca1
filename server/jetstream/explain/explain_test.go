package explain_test

import (
	"strings"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/explain"
)

var now = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

// facts are those of a consumer that is through with all messages of its stream, changed as a case says.
func facts(change func(*explain.Facts)) *explain.Facts {
	f := &explain.Facts{
		Stream: config.Stream{Name: "ORDERS", Subjects: []string{"orders.>"}},
		Consumer: config.Consumer{
			Name: "billing", Ack: config.AckExplicit, AckWait: 30 * time.Second, MaxAckPending: 3, FilterSubject: "orders.eu",
		},
		Now: now, Messages: 10, Matching: true, Ever: true,
	}
	change(f)
	return f
}

// stalled lets the consumer be held up, with messages to deliver and others that wait for an answer.
func stalled(by delivery.Stall, more ...func(*explain.Facts)) func(*explain.Facts) {
	return func(f *explain.Facts) {
		f.Live = delivery.State{Stalled: by, Lag: delivery.Lag{Messages: 8, Undelivered: 5, Unacked: 3}}
		for _, change := range more {
			change(f)
		}
	}
}

func until(f *explain.Facts) { f.Live.StalledUntil = now.Add(90 * time.Second) }

func oldest(deliveries uint64) func(*explain.Facts) {
	return func(f *explain.Facts) {
		f.Oldest = jetlog.Meta{Sequence: 7, Subject: "orders.eu", Time: now.Add(-time.Hour).UnixNano()}
		f.Deliveries = deliveries
	}
}

func TestExplain(t *testing.T) {
	tests := []struct {
		name   string
		change func(*explain.Facts)
		code   string
		text   []string // parts of it
		next   string   // likewise
	}{
		{"paused", stalled(delivery.Paused, until), "paused", []string{"paused until 2026-05-06T07:09:39Z (1m30s from now)"}, "nats consumer resume ORDERS billing"},
		{"full", stalled(delivery.MaxAckPending, oldest(2), until), "max_ack_pending", []string{"3 deliveries wait", "message 7 on orders.eu", "delivered twice", "1h0m0s ago"}, "ack_wait (30s)"},
		{"full with backoff", stalled(delivery.MaxAckPending, oldest(1), func(f *explain.Facts) { f.Consumer.Backoff = []time.Duration{time.Second} }), "max_ack_pending", []string{"delivered once"}, "by the consumer's backoff"},
		{"nobody asks", stalled(delivery.NoRequests), "no_requests", []string{"5 messages wait"}, "nats consumer next ORDERS billing"},
		{"nobody asks again", stalled(delivery.NoRequests, func(f *explain.Facts) { f.Live.Lag.Messages, f.Live.Lag.Undelivered = 1, 0 }), "no_requests", []string{"1 message waits"}, ""},
		{"nobody listens", stalled(delivery.NoInterest, func(f *explain.Facts) { f.Consumer.DeliverSubject = "to.me" }), "no_interest", []string{"to.me"}, "Start the subscriber"},
		{"no member listens", stalled(delivery.NoInterest, func(f *explain.Facts) { f.Consumer.DeliverSubject, f.Consumer.DeliverGroup = "to.me", "g" }), "no_interest", []string{"queue group g"}, "letter by letter"},
		{"rate limit", stalled(delivery.RateLimit, func(f *explain.Facts) { f.Consumer.RateLimit = 1000 }), "rate_limit", []string{"1000 bits"}, "rate_limit_bps"},
		{"flow control", stalled(delivery.FlowControl), "flow_control", []string{"flow control"}, "client hangs"},
		{"replay", stalled(delivery.Replaying, until), "replay", []string{"original", "1m30s"}, ""},
		{"waits", stalled(delivery.Backoff, until, func(f *explain.Facts) { f.Resting = 2 }), "backoff", []string{"3 messages wait", "2 of them failed", "1m30s"}, "workers"},
		{"slow", stalled(delivery.SlowClient), "slow_client", []string{"does not take"}, "/connz"},
		{"keys", stalled(delivery.KeysBusy), "keys", []string{"waits for other messages of the same keys"}, "runnel key"},
		{"storage", stalled(delivery.Storage), "storage", []string{"cannot write"}, "/healthz"},
		{"of another kind", stalled("new_kind"), "new_kind", []string{"new_kind"}, ""},
		{"flows", stalled("", func(f *explain.Facts) { f.Live.Lag.Served = 12.34 }), api.ReasonDelivers, []string{"5 wait", "3 for an answer", "12.3 were processed"}, ""},
		{"flows without a rate", stalled(""), api.ReasonDelivers, []string{"5 wait"}, ""},
		{"caught up", func(*explain.Facts) {}, api.ReasonCaughtUp, []string{"through with all"}, ""},
		{"empty", func(f *explain.Facts) { f.Messages, f.Matching = 0, false }, api.ReasonEmptyStream, []string{"no messages"}, "Publish to one of its subjects (orders.>)"},
		{"empty mirror", func(f *explain.Facts) { f.Messages, f.Matching, f.Stream.Subjects = 0, false, nil }, api.ReasonEmptyStream, []string{"no messages"}, ""},
		{"no match", func(f *explain.Facts) { f.Matching = false }, api.ReasonNoMatch, []string{"10, matches", "orders.eu"}, "nats stream subjects ORDERS"},
		{"no subject", func(f *explain.Facts) {
			f.Consumer.FilterSubject, f.Consumer.FilterSubjects = "", []string{"a", "b", "c", "d"}
		}, api.ReasonNoSubject, []string{"a, b, c and 1 more", "orders.>"}, "nats consumer edit ORDERS billing"},
		{"other subjects by a transform", func(f *explain.Facts) {
			f.Consumer.FilterSubject, f.Matching = "x", false
			f.Stream.SubjectTransform = &config.Transform{}
		}, api.ReasonNoMatch, nil, ""},
		{"new only", func(f *explain.Facts) { f.Ever, f.Consumer.Deliver = false, config.DeliverNew }, api.ReasonCaughtUp, []string{"(deliver_policy new)"}, "another deliver policy"},
		{"content filter", func(f *explain.Facts) { f.Ever, f.Consumer.Metadata = false, map[string]string{"runnel.filter": "{}"} }, api.ReasonNoMatch, []string{"runnel.filter"}, "nats stream get ORDERS"},
		{"from a sequence", func(f *explain.Facts) {
			f.Ever, f.Consumer.Deliver, f.Consumer.StartSequence = false, config.DeliverByStartSequence, 99
		}, api.ReasonCaughtUp, []string{"(message 99)"}, ""},
		{"from a time", func(f *explain.Facts) {
			f.Ever, f.Consumer.Deliver, f.Consumer.StartTime = false, config.DeliverByStartTime, &now
		}, api.ReasonCaughtUp, []string{"(2026-05-06T07:08:09Z)"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := facts(tt.change)
			e := f.Explain()
			if e.Stream != "ORDERS" || e.Consumer != "billing" || !e.Time.Equal(now) || len(e.Reasons) != 1 {
				t.Fatalf("got %+v", e)
			}
			r := e.Reasons[0]
			if r.Code != tt.code || e.Delivers != (f.Live.Stalled == "") || (r.Until != nil) != !f.Live.StalledUntil.IsZero() {
				t.Errorf("got %s, delivers %v, until %v, want %s", r.Code, e.Delivers, r.Until, tt.code)
			}
			for _, part := range tt.text {
				if !strings.Contains(r.Text, part) {
					t.Errorf("got %q, want %q in it", r.Text, part)
				}
			}
			if !strings.Contains(r.Next, tt.next) {
				t.Errorf("next: got %q, want %q in it", r.Next, tt.next)
			}
		})
	}
}

// TestExhausted: what was delivered as often as allowed is told beside all else.
func TestExhausted(t *testing.T) {
	e := facts(oldest(0)).Explain()
	if len(e.Reasons) != 2 || e.Reasons[0].Code != api.ReasonCaughtUp || e.Reasons[1].Code != api.ReasonExhausted ||
		!strings.Contains(e.Reasons[1].Text, "Message 7 on orders.eu") || !strings.Contains(e.Reasons[1].Next, "nats stream get ORDERS 7") {
		t.Errorf("got %+v", e.Reasons)
	}
}

// TestBlocked: a message that keeps others of its key waiting is another matter than one that nobody waits for.
func TestBlocked(t *testing.T) {
	e := facts(stalled(delivery.NoRequests, oldest(0), func(f *explain.Facts) {
		f.Consumer.Metadata = map[string]string{config.MetadataKeyFailed: "block"}
	})).Explain()
	if len(e.Reasons) != 2 || e.Reasons[1].Code != api.ReasonExhausted || !strings.Contains(e.Reasons[1].Text, "Message 7 on orders.eu") ||
		!strings.Contains(e.Reasons[1].Text, "same keys") || !strings.Contains(e.Reasons[1].Next, "runnel key ORDERS billing") ||
		!strings.Contains(e.Reasons[1].Next, "--settle 7") {
		t.Errorf("got %+v", e.Reasons)
	}
}

// TestLeaderless tells apart that nobody leads and that nobody is there.
func TestLeaderless(t *testing.T) {
	for verdict, part := range map[clustered.Verdict]string{clustered.Unavailable: "No server leads", clustered.Unreachable: "None of the servers"} {
		a := explain.Leaderless(&api.Call{Stream: "S", Consumer: "c"}, verdict, now).(*api.ExplainAnswer)
		if a.Delivers || a.Stream != "S" || len(a.Reasons) != 1 || a.Reasons[0].Code != api.ReasonNoLeader || !strings.HasPrefix(a.Reasons[0].Text, part) {
			t.Errorf("got %+v", a)
		}
	}
}
