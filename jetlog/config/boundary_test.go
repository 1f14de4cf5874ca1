package config_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/config"
)

// TestStreamBoundaries has, of every rule with a bound, the last value that is allowed and the first
// that is not.
func TestStreamBoundaries(t *testing.T) {
	meta := func(n int) string { return `{"name":"S","metadata":{"k":"` + strings.Repeat("v", n-1) + `"}}` }
	named := func(n int) string { return `{"name":"` + strings.Repeat("n", n) + `"}` }
	described := func(n int) string { return `{"name":"S","description":"` + strings.Repeat("d", n) + `"}` }
	tests := []struct {
		name, fits, exceeds string
		code                config.Code
		detail              string
	}{
		{"name", named(255), named(256), 10052, `stream name is required and can not contain '.', '*', '>', '\', '/'`},
		{"description", described(4096), described(4097), 10052, "maximum allowed is 4096"},
		{"metadata", meta(128 << 10), meta(128<<10 + 1), 10052, "maximum size of 131072"},
		{"replicas", `{"name":"S","num_replicas":5}`, `{"name":"S","num_replicas":6}`, 10052, "maximum replicas is 5"},
		{"no replicas", `{"name":"S","num_replicas":0}`, `{"name":"S","num_replicas":-1}`, 10133, ""},
		{"age", `{"name":"S","max_age":100000000}`, `{"name":"S","max_age":99999999}`, 10052, "max age needs to be >= 100ms"},
		{"no age", `{"name":"S","max_age":0}`, `{"name":"S","max_age":-1}`, 10052, "max age can not be negative"},
		{
			"window", `{"name":"S","duplicate_window":100000000}`, `{"name":"S","duplicate_window":99999999}`, 10052,
			"duplicates window needs to be >= 100ms",
		},
		{
			"window and age", `{"name":"S","max_age":1000000000,"duplicate_window":1000000000}`,
			`{"name":"S","max_age":1000000000,"duplicate_window":1000000001}`, 10052,
			"duplicates window can not be larger then max age",
		},
		{
			"marker", `{"name":"S","subject_delete_marker_ttl":1000000000}`,
			`{"name":"S","subject_delete_marker_ttl":999999999}`, 10052, "must be at least 1 second",
		},
		{
			"no marker", `{"name":"S","subject_delete_marker_ttl":0}`, `{"name":"S","subject_delete_marker_ttl":-1}`,
			10052, "must not be negative",
		},
		{
			"per subject", `{"name":"S","discard":"new","discard_new_per_subject":true,"max_msgs_per_subject":1}`,
			`{"name":"S","discard":"new","discard_new_per_subject":true,"max_msgs_per_subject":0}`, 10052, "max msgs per subject > 0",
		},
		{
			"consumer idle", `{"name":"S","consumer_limits":{"inactive_threshold":0}}`,
			`{"name":"S","consumer_limits":{"inactive_threshold":-1}}`, 10052, "inactive threshold can not be negative",
		},
		{
			"consumer pending", `{"name":"S","consumer_limits":{"max_ack_pending":0}}`,
			`{"name":"S","consumer_limits":{"max_ack_pending":-1}}`, 10052, "max ack pending can not be negative",
		},
		{
			"async replicas", `{"name":"S","persist_mode":"async","num_replicas":1}`,
			`{"name":"S","persist_mode":"async","num_replicas":2}`, 10052, "async persist mode is only supported",
		},
		{
			"all subjects", `{"name":"S","subjects":[">"],"no_ack":true,"num_replicas":1}`,
			`{"name":"S","subjects":[">"],"no_ack":true,"num_replicas":2}`, 10052, "capturing all subjects requires replicas of 1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decode[config.Stream](t, tt.fits).Normalized(config.Limits{}, false)
			wantError(t, err, 0, "")
			_, err = decode[config.Stream](t, tt.exceeds).Normalized(config.Limits{}, false)
			wantError(t, err, tt.code, tt.detail)
		})
	}
}

// TestConsumerBoundaries does the same for consumers.
func TestConsumerBoundaries(t *testing.T) {
	meta := func(n int) string { return `{"name":"a","metadata":{"k":"` + strings.Repeat("v", n-1) + `"}}` }
	group := func(name string) string {
		return `{"name":"a","priority_policy":"overflow","priority_groups":["` + name + `"]}`
	}
	tests := []struct {
		name, stream, fits, exceeds string
		code                        config.Code
		detail                      string
	}{
		{"name", `{}`, `{"name":"` + strings.Repeat("n", 255) + `"}`, `{"name":"` + strings.Repeat("n", 256) + `"}`, 10102, "255"},
		{
			"description", `{}`, `{"name":"a","description":"` + strings.Repeat("d", 4096) + `"}`,
			`{"name":"a","description":"` + strings.Repeat("d", 4097) + `"}`, 10107, "4096",
		},
		{"metadata", `{}`, meta(128 << 10), meta(128<<10 + 1), 10135, "131072"},
		{"ack wait", `{}`, `{"name":"a","ack_wait":0}`, `{"name":"a","ack_wait":-1}`, 10183, ""},
		{"backoff", `{}`, `{"name":"a","backoff":[0]}`, `{"name":"a","backoff":[1,-1]}`, 10184, ""},
		{
			"deliveries", `{}`, `{"name":"a","max_deliver":3,"backoff":[1,2,3]}`,
			`{"name":"a","max_deliver":2,"backoff":[1,2,3]}`, 10116, "",
		},
		{
			"pending", `{"consumer_limits":{"max_ack_pending":50}}`, `{"name":"a","ack_policy":"explicit","max_ack_pending":50}`,
			`{"name":"a","ack_policy":"explicit","max_ack_pending":51}`, 10121, "50",
		},
		{
			"idle", `{"consumer_limits":{"inactive_threshold":1000000000}}`, `{"name":"a","inactive_threshold":1000000000}`,
			`{"name":"a","inactive_threshold":1000000001}`, 10153, "1s",
		},
		{
			"heartbeat", `{}`, `{"name":"a","deliver_subject":"d","idle_heartbeat":100000000}`,
			`{"name":"a","deliver_subject":"d","idle_heartbeat":99999999}`, 10083, "",
		},
		{"waiting", `{}`, `{"name":"a","max_waiting":1}`, `{"name":"a","max_waiting":-1}`, 10087, ""},
		{"batch", `{}`, `{"name":"a","max_batch":0}`, `{"name":"a","max_batch":-1}`, 10114, ""},
		{"expires", `{}`, `{"name":"a","max_expires":1000000}`, `{"name":"a","max_expires":999999}`, 10115, ""},
		{"negative expires", `{}`, `{"name":"a","max_expires":0}`, `{"name":"a","max_expires":-1}`, 10115, ""},
		{"replicas", `{"num_replicas":3}`, `{"name":"a","num_replicas":3}`, `{"name":"a","num_replicas":4}`, 10126, ""},
		{
			"replicas of interest", `{"num_replicas":3,"retention":"interest"}`, `{"name":"a","num_replicas":3}`,
			`{"name":"a","num_replicas":2}`, 10134, "",
		},
		{"group", `{}`, group("1234567890123456"), group("12345678901234567"), 10162, ""},
		{"characters of a group", `{}`, group("aZ09/_=-"), group("a.b"), 10162, ""},
		{"sampling", `{}`, `{"name":"a","sample_freq":"100%"}`, `{"name":"a","sample_freq":"-1"}`, 10095, "-1"},
		{"sampling of more than all", `{}`, `{"name":"a","sample_freq":"300"}`, `{"name":"a","sample_freq":"9223372036854775808"}`, 10095, "out of range"},
		{"sampling twice", `{}`, `{"name":"a","sample_freq":"0"}`, `{"name":"a","sample_freq":"50%%"}`, 10095, "50%"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stream(t, tt.stream)
			_, err := decode[config.Consumer](t, tt.fits).Normalized(s, config.Limits{}, false)
			wantError(t, err, 0, "")
			_, err = decode[config.Consumer](t, tt.exceeds).Normalized(s, config.Limits{}, false)
			wantError(t, err, tt.code, tt.detail)
		})
	}
}

// TestNames sees which characters may be in the names of streams, consumers and what they refer to.
func TestNames(t *testing.T) {
	for _, good := range []string{"a", "A-b_c", "x:y", "é", "$JS", "0", "a=b", "a\x01b"} {
		_, err := config.Stream{Name: good, Subjects: []string{"s"}}.Normalized(config.Limits{}, true)
		wantError(t, err, 0, "")
		_, err = config.Consumer{Name: good}.Normalized(stream(t, `{}`), config.Limits{}, true)
		wantError(t, err, 0, "")
	}
	for _, bad := range []string{"", "a.b", "*", ">", "a b", "a\tb", "a\rb", "a\nb", "a\fb"} {
		s := config.Stream{Name: bad, Subjects: []string{"s"}}
		_, err := s.Normalized(config.Limits{}, false)
		wantError(t, err, 10052, "stream name is required")
		_, err = config.Consumer{Name: bad}.Normalized(stream(t, `{}`), config.Limits{}, false)
		wantError(t, err, 10103, "")
		s = config.Stream{Name: "S", Mirror: &config.Source{Name: bad}}
		_, err = s.Normalized(config.Limits{}, false)
		wantError(t, err, 10142, "")
		s = config.Stream{Name: "S", Sources: []*config.Source{{Name: "O"}, {Name: bad}}}
		_, err = s.Normalized(config.Limits{}, false)
		wantError(t, err, 10141, "")
	}
	for _, path := range []string{"a/b", `a\b`, "/", "a./b"} {
		_, err := config.Stream{Name: path}.Normalized(config.Limits{}, false)
		wantError(t, err, 10128, "")
		_, err = config.Consumer{Name: path}.Normalized(stream(t, `{}`), config.Limits{}, false)
		wantError(t, err, 10127, "")
	}
}

// TestReservedSubjects sees what a stream may capture of what the server itself says.
func TestReservedSubjects(t *testing.T) {
	tests := []struct {
		subject string
		detail  string
	}{
		{"$JS.EVENT.>", ""},
		{"$JS.EVENT.ADVISORY.CONSUMER.*.S", ""},
		{"$JS.EVENT", "jetstream api"},
		{"$JS.API.STREAM.INFO.S", "jetstream api"},
		{"$JS.>", "jetstream api"},
		{"$JS.*.>", "jetstream api"},
		{"*.API.>", "jetstream api"},
		{"*.>", "jetstream api"},
		{"$JSC.R.x", "jetstream api"},
		{"$NRG.AE.x", "jetstream api"},
		{"$JSX.y", ""},
		{"$RUNNEL.API.LAG", "jetstream api"},
		{"$RUNNEL.x", ""},
		{"$SYS.ACCOUNT.>", ""},
		{"$SYS.ACCOUNT.A.CONNECT", ""},
		{"$SYS.>", "system api"},
		{"$SYS.SERVER.x", "system api"},
		{"$SYSTEM.x", ""},
		{"$KV.bucket.>", ""},
		{"$O.bucket.C.>", ""},
		{">", "capturing all subjects requires no-ack to be true"},
	}
	for _, tt := range tests {
		t.Run(tt.subject, func(t *testing.T) {
			s := config.Stream{Name: "S", Subjects: []string{"other", tt.subject}}
			if tt.subject == ">" || tt.subject == "*.>" {
				s.Subjects = s.Subjects[1:]
			}
			code := config.StreamInvalidConfig
			if tt.detail == "" {
				code = 0
			}
			_, err := s.Normalized(config.Limits{}, false)
			wantError(t, err, code, tt.detail)
			s.NoAck = true
			_, err = s.Normalized(config.Limits{}, false)
			wantError(t, err, 0, "")
		})
	}
}

// TestForms sees which members a configuration has when nothing is set: those that clients find in
// every answer, and no other.
func TestForms(t *testing.T) {
	tests := []struct {
		value  any
		always string
	}{
		{
			config.Stream{}, "name retention max_consumers max_msgs max_bytes max_age max_msgs_per_subject discard storage " +
				"num_replicas compression allow_direct mirror_direct sealed deny_delete deny_purge allow_rollup_hdrs " +
				"consumer_limits allow_msg_ttl",
		},
		{config.Consumer{}, "deliver_policy ack_policy replay_policy num_replicas"},
		{config.Source{}, "name"},
		{config.Transform{}, "src dest"},
		{config.Republish{}, "dest"},
		{config.External{}, "api deliver"},
		{config.SourceConsumer{}, "name deliver_subject"},
		{config.Placement{}, ""},
		{config.ConsumerLimits{}, ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%T", tt.value), func(t *testing.T) {
			b, err := json.Marshal(tt.value)
			if err != nil {
				t.Fatal(err)
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(b, &members); err != nil {
				t.Fatal(err)
			}
			for name := range strings.FieldsSeq(tt.always) {
				if _, there := members[name]; !there {
					t.Errorf("%q is missing from %s", name, b)
				}
				delete(members, name)
			}
			if len(members) > 0 {
				t.Errorf("got %v besides", members)
			}
		})
	}
}

// TestUnlimited sees that every number that is no limit becomes -1, and that limits stay.
func TestUnlimited(t *testing.T) {
	for _, n := range []int64{math.MinInt32, -7, -1, 0, 1, 77, math.MaxInt32} {
		want := n
		if n <= 0 {
			want = -1
		}
		s, err := config.Stream{
			Name: "S", MaxConsumers: int(n), MaxMessages: n, MaxBytes: n, MaxPerSubject: n, MaxMessageBytes: int32(n),
		}.Normalized(config.Limits{}, false)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range []int64{int64(s.MaxConsumers), s.MaxMessages, s.MaxBytes, s.MaxPerSubject, int64(s.MaxMessageBytes)} {
			if got != want {
				t.Errorf("number %d: got %d of %d, want %d", i, got, n, want)
			}
		}
		c, err := config.Consumer{Name: "c", MaxDeliver: int(n)}.Normalized(&s, config.Limits{}, false)
		if err != nil || int64(c.MaxDeliver) != want {
			t.Errorf("deliveries: got %d of %d, want %d (%v)", c.MaxDeliver, n, want, err)
		}
	}
}

// TestWindows sees which window of message ids a stream gets that does not ask for one, and which it
// may ask for.
func TestWindows(t *testing.T) {
	origin := &config.Source{Name: "O"}
	tests := []struct {
		name     string
		stream   config.Stream
		ceiling  time.Duration
		pedantic bool
		want     time.Duration
		code     config.Code
	}{
		{"two minutes", config.Stream{}, 0, false, 2 * time.Minute, 0},
		{"age", config.Stream{MaxAge: time.Minute}, 0, false, time.Minute, 0},
		{"a longer age", config.Stream{MaxAge: time.Hour}, 0, false, 2 * time.Minute, 0},
		{"ceiling", config.Stream{}, time.Second, false, time.Second, 0},
		{"a higher ceiling", config.Stream{}, time.Hour, true, 2 * time.Minute, 0},
		{"ceiling below the age", config.Stream{MaxAge: time.Minute}, time.Second, false, time.Second, 0},
		{"age below the ceiling", config.Stream{MaxAge: time.Second}, time.Minute, false, time.Second, 0},
		{"pedantic, but nothing is given", config.Stream{MaxAge: time.Minute}, time.Second, true, time.Second, 0},
		{"given", config.Stream{DuplicateWindow: time.Hour}, 0, true, time.Hour, 0},
		{"given at the ceiling", config.Stream{DuplicateWindow: time.Hour}, time.Hour, true, time.Hour, 0},
		{"above the ceiling", config.Stream{DuplicateWindow: time.Hour + 1}, time.Hour, false, 0, 10052},
		{"above the ceiling, pedantic", config.Stream{DuplicateWindow: time.Hour + 1}, time.Hour, true, 0, 10157},
		{"above age and ceiling", config.Stream{DuplicateWindow: time.Hour, MaxAge: time.Minute}, time.Second, true, 0, 10052},
		{"negative", config.Stream{DuplicateWindow: -1}, 0, false, 0, 10052},
		{"mirror", config.Stream{Mirror: origin}, 0, false, 0, 0},
		{"mirror that asks", config.Stream{Mirror: origin, DuplicateWindow: time.Minute}, 0, false, time.Minute, 0},
		{"only sources", config.Stream{Sources: []*config.Source{origin}}, time.Second, false, 0, 0},
		{"sources and subjects", config.Stream{Sources: []*config.Source{origin}, Subjects: []string{"a"}}, 0, false, 2 * time.Minute, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.stream.Name = "S"
			s, err := tt.stream.Normalized(config.Limits{DuplicateWindow: tt.ceiling}, tt.pedantic)
			wantError(t, err, tt.code, "")
			if s.DuplicateWindow != tt.want {
				t.Errorf("got %s, want %s", s.DuplicateWindow, tt.want)
			}
		})
	}
}

// TestPendingLimits sees how many deliveries may wait, by what consumer, stream and server say.
func TestPendingLimits(t *testing.T) {
	tests := []struct {
		name                   string
		ack                    config.Ack
		given, stream, ceiling int
		pedantic               bool
		want                   int
		code                   config.Code
	}{
		{"nothing is said", config.AckExplicit, 0, 0, 0, false, 1000, 0},
		{"nothing is said, all", config.AckAll, 0, 0, 0, true, 1000, 0},
		{"no acks", config.AckNone, 0, 50, 20, true, 0, 0},
		{"no acks, but a number", config.AckNone, 77, 50, 20, false, 77, 0},
		{"no limit", config.AckExplicit, -1, 0, 0, true, -1, 0},
		{"no limit where there is one", config.AckExplicit, -1, 0, 20, false, 0, 10121},
		{"stream", config.AckExplicit, 0, 50, 0, false, 50, 0},
		{"stream, pedantic", config.AckExplicit, 0, 50, 0, true, 0, 10157},
		{"stream above the default", config.AckExplicit, 0, 5000, 0, true, 1000, 0},
		{"server", config.AckExplicit, 0, 0, 20, false, 20, 0},
		{"server, pedantic", config.AckExplicit, 0, 0, 20, true, 20, 0},
		{"server below the stream", config.AckExplicit, 0, 50, 20, true, 20, 0},
		{"stream below the server", config.AckExplicit, 0, 20, 50, false, 20, 0},
		{"given", config.AckExplicit, 20, 50, 20, true, 20, 0},
		{"above the server", config.AckExplicit, 21, 50, 20, false, 0, 10121},
		{"above the stream", config.AckExplicit, 21, 20, 50, true, 0, 10121},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stream(t, `{}`)
			s.ConsumerLimits.MaxAckPending = tt.stream
			c, err := config.Consumer{Name: "c", Ack: tt.ack, MaxAckPending: tt.given}.
				Normalized(s, config.Limits{MaxAckPending: tt.ceiling}, tt.pedantic)
			wantError(t, err, tt.code, "")
			if c.MaxAckPending != tt.want {
				t.Errorf("got %d, want %d", c.MaxAckPending, tt.want)
			}
		})
	}
}

// TestIdleLimits sees when a consumer goes, by what it, the stream and the server say.
func TestIdleLimits(t *testing.T) {
	tests := []struct {
		name                   string
		durable                bool
		given, stream, ceiling time.Duration
		want                   time.Duration
		code                   config.Code
	}{
		{"ephemeral", false, 0, 0, 0, 5 * time.Second, 0},
		{"durable", true, 0, 0, 0, 0, 0},
		{"negative", true, -1, 0, 0, 0, 0},
		{"given", true, time.Hour, 0, 0, time.Hour, 0},
		{"stream", true, 0, time.Minute, 0, time.Minute, 0},
		{"stream, ephemeral", false, 0, time.Second, 0, time.Second, 0},
		{"above the stream", false, time.Hour, time.Minute, 0, 0, 10153},
		{"above the server", false, time.Hour, 0, time.Minute, 0, 10153},
		{"server below the stream", false, time.Second, time.Minute, 2 * time.Second, time.Second, 0},
		{"server below the default of the stream", false, 0, time.Minute, time.Second, 0, 10153},
		{"durable under a ceiling", true, 0, 0, time.Second, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stream(t, `{}`)
			s.ConsumerLimits.InactiveThreshold = tt.stream
			c := config.Consumer{Name: "c", Inactive: tt.given}
			if tt.durable {
				c.Durable = "c"
			}
			c, err := c.Normalized(s, config.Limits{InactiveThreshold: tt.ceiling}, false)
			wantError(t, err, tt.code, "")
			if c.Inactive != tt.want {
				t.Errorf("got %s, want %s", c.Inactive, tt.want)
			}
		})
	}
}

// TestStarts crosses every deliver policy with every start and filter that could come with it.
func TestStarts(t *testing.T) {
	at := time.Unix(5, 0)
	policies := []struct {
		deliver        config.Deliver
		sequence, time bool // what it has to have
		filter         bool
		label          string
	}{
		{config.DeliverAll, false, false, false, "deliver all"},
		{config.DeliverLast, false, false, false, "deliver last"},
		{config.DeliverNew, false, false, false, "deliver new"},
		{config.DeliverByStartSequence, true, false, false, "deliver by start sequence"},
		{config.DeliverByStartTime, false, true, false, "deliver by start time"},
		{config.DeliverLastPerSubject, false, false, true, "deliver last per subject"},
		{config.DeliverLastPerSubject + 1, false, false, false, "unknown"},
	}
	for _, p := range policies {
		for i := range 8 {
			c := config.Consumer{Name: "c", Deliver: p.deliver}
			sequence, start, filter := i&1 != 0, i&2 != 0, i&4 != 0
			if sequence {
				c.StartSequence = 7
			}
			if start {
				c.StartTime = &at
			}
			if filter {
				c.FilterSubjects = []string{"a", "b"}
			}
			known := p.deliver <= config.DeliverLastPerSubject
			good := known && sequence == p.sequence && start == p.time && (filter || !p.filter)
			_, err := c.Normalized(stream(t, `{}`), config.Limits{}, false)
			if good {
				wantError(t, err, 0, "")
			} else {
				wantError(t, err, 10094, p.label)
			}
		}
	}
}
