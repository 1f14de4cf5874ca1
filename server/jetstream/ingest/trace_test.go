package ingest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/ingest"
	"runnel/server/msgtrace"
)

// traced publishes a message that asks for its trace and returns what that says of the stream.
func (b *bench) traced(subject, reply, payload string, only bool, fields ...string) string {
	b.t.Helper()
	complete := make(chan string, 1)
	header := block(append([]string{"Nats-Trace-Dest", "t"}, fields...)...)
	trace := msgtrace.New(header, len(header)+len(payload), only, func(t *msgtrace.Trace) {
		text, err := json.Marshal(t.Report().Events)
		if err != nil {
			b.t.Error(err)
		}
		complete <- string(text)
	})
	before := bytes.Clone(header)
	b.stream.TakeTraced([]byte(subject), []byte(reply), header, []byte(payload), trace)
	b.stream.Flush()
	trace.Release()
	if !bytes.Equal(header, before) {
		b.t.Error("the publisher's header was changed")
	}
	select {
	case text := <-complete:
		_, text, _ = strings.Cut(text, `"stream":`)
		return text
	case <-time.After(10 * time.Second):
		b.t.Fatal("the trace is never complete")
	}
	return ""
}

// TestTraced checks what a trace says of messages that come to a stream.
func TestTraced(t *testing.T) {
	b := newBench(t, ingest.Config{}, func(c *config.Stream) {
		c.MaxMessageBytes = 100
		c.SubjectTransform = &config.Transform{Source: "s.>", Destination: "to.>"}
	})
	tests := []struct {
		name    string
		payload string
		fields  []string
		want    string
		ack     string
	}{
		{"stored", "x", nil, `"S","subject":"to.a"}]`, `{"stream":"S","seq":1}`},
		{"with an id", "x", []string{"Nats-Msg-Id", "1"}, `"S","subject":"to.a"}]`, `"seq":2}`},
		{"again", "x", []string{"Nats-Msg-Id", "1"}, `"S","subject":"to.a","error":"msgid is duplicate"}]`, `"duplicate"`},
		{"expects more", "x", []string{"Nats-Expected-Last-Sequence", "9"}, `"S","subject":"to.a","error":"wrong last sequence: 2"}]`, `10071`},
		{"too large", strings.Repeat("x", 200), nil, `"S","subject":"to.a","error":"message size exceeds maximum allowed"}]`, `10054`},
	}
	for _, tt := range tests {
		if got := b.traced("s.a", "reply", tt.payload, false, tt.fields...); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		if got := b.next().payload; !strings.Contains(got, tt.ack) {
			t.Errorf("%s: the publisher got %s, want %s", tt.name, got, tt.ack)
		}
	}
	if got := b.load(1); !strings.Contains(got, "Nats-Trace-Dest: trace disabled") {
		t.Errorf("stored: %s", got)
	}
}

// TestTraceOnly checks that a message for its trace alone is neither stored nor answered.
func TestTraceOnly(t *testing.T) {
	b := newBench(t, ingest.Config{}, func(c *config.Stream) { c.MaxMessageBytes = 100 })
	for _, tt := range []struct {
		name, payload string
		fields        []string
		want          string
	}{
		{"fits", "x", nil, `"S","subject":"s.a"}]`},
		{"too large", strings.Repeat("x", 200), nil, `"S","subject":"s.a","error":"message size exceeds maximum allowed"}]`},
		{"for another stream", "x", []string{"Nats-Expected-Stream", "T"}, `"S","subject":"s.a","error":"expected stream does not match"}]`},
	} {
		if got := b.traced("s.a", "reply", tt.payload, true, tt.fields...); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	b.quiet()
	if n := b.log.State().Messages; n != 0 {
		t.Errorf("%d messages are stored", n)
	}
	b.configure(func(c *config.Stream) { c.Sealed = true })
	if got := b.traced("s.a", "", "x", true); !strings.Contains(got, "sealed") {
		t.Errorf("sealed: got %s", got)
	}
}

// TestTraceWithoutInterest asks the owner of a stream whether somebody wants a message.
func TestTraceWithoutInterest(t *testing.T) {
	b := newBench(t, ingest.Config{}, func(c *config.Stream) { c.Retention = config.InterestRetention })
	b.ingest.Close()
	b.open(ingest.Config{}, b.log, ingest.Hooks{Wanted: func(subject string) bool { return subject == "s.wanted" }})
	for subject, want := range map[string]string{
		"s.wanted": `"S","subject":"s.wanted"}]`,
		"s.other":  `"S","subject":"s.other","nointerest":true}]`,
	} {
		if got := b.traced(subject, "", "x", true); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got, want := b.traced("s.x", "", "x", false), `"S","subject":"s.x","nointerest":true}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTraceNotTaken checks that a trace is complete also when the stream takes nothing.
func TestTraceNotTaken(t *testing.T) {
	b := newBench(t, ingest.Config{QueueBytes: 10})
	for _, only := range []bool{false, true} {
		if got, want := b.traced("s.a", "", "x", only), `"S","subject":"s.a","error":"too many messages wait"}]`; got != want {
			t.Errorf("full: got %s, want %s", got, want)
		}
	}
	b.stream.Close()
	if got, want := b.traced("s.a", "", "x", false), `"S","subject":"s.a","error":"stream is closed"}]`; got != want {
		t.Errorf("closed: got %s, want %s", got, want)
	}
}
