package config_test

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/config"
)

// stream returns a normalised stream for consumers.
func stream(t *testing.T, text string) *config.Stream {
	t.Helper()
	s := decode[config.Stream](t, text)
	s.Name = "S"
	s, err := s.Normalized(config.Limits{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestConsumerDefaults(t *testing.T) {
	tests := []struct {
		name, stream, given, want string
	}{
		{
			"durable pull", `{}`, `{"durable_name":"d","ack_policy":"explicit"}`,
			`{"name":"d","durable_name":"d","deliver_policy":"all","ack_policy":"explicit","ack_wait":30000000000,` +
				`"max_deliver":-1,"replay_policy":"instant","max_waiting":512,"max_ack_pending":1000,"num_replicas":0}`,
		},
		{
			"without acks, not durable", `{}`, `{"name":"e"}`,
			`{"name":"e","deliver_policy":"all","ack_policy":"none","max_deliver":-1,"replay_policy":"instant",` +
				`"max_waiting":512,"inactive_threshold":5000000000,"num_replicas":0}`,
		},
		{
			"push", `{}`, `{"name":"e","deliver_subject":"d","ack_policy":"all","flow_control":true,"idle_heartbeat":100000000}`,
			`"flow_control":true,"deliver_subject":"d","idle_heartbeat":100000000`,
		},
		{
			"backoff", `{}`, `{"name":"e","ack_policy":"explicit","backoff":[1000000000,2000000000],"ack_wait":7}`,
			`"ack_wait":1000000000,"max_deliver":-1,"backoff":[1000000000,2000000000]`,
		},
		{
			"limits of the stream", `{"consumer_limits":{"inactive_threshold":7000000000,"max_ack_pending":50}}`,
			`{"durable_name":"e","ack_policy":"explicit"}`, `"max_ack_pending":50,"inactive_threshold":7000000000`,
		},
		{
			"pinned", `{}`, `{"name":"e","priority_policy":"pinned_client","priority_groups":["a"]}`,
			`"priority_policy":"pinned_client","priority_groups":["a"],"priority_timeout":120000000000`,
		},
		{"undefined policy", `{}`, `{"name":"e","deliver_policy":"undefined"}`, `"deliver_policy":"all"`},
		{"sampling", `{}`, `{"name":"e","sample_freq":"50%"}`, `"sample_freq":"50%"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stream(t, tt.stream)
			c, err := decode[config.Consumer](t, tt.given).Normalized(s, config.Limits{}, false)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if again, err := c.Normalized(s, config.Limits{}, true); err != nil || !reflect.DeepEqual(again, c) {
				t.Errorf("normalised again it is %+v, %v", again, err)
			}
		})
	}
}

func TestConsumerRefusals(t *testing.T) {
	const work = `{"retention":"workqueue"}`
	tests := []struct {
		stream, given string
		code          config.Code
		detail        string
	}{
		{`{}`, `{"name":"a","durable_name":"b"}`, 10132, ""},
		{`{}`, `{"name":"` + strings.Repeat("n", 256) + `"}`, 10102, "255"},
		{`{}`, `{"name":"a.b"}`, 10103, ""},
		{`{}`, `{}`, 10103, ""},
		{`{}`, `{"name":"a/b"}`, 10127, ""},
		{`{}`, `{"name":"a","description":"` + strings.Repeat("d", 4097) + `"}`, 10107, "4096"},
		{`{}`, `{"name":"a","metadata":{"k":"` + strings.Repeat("d", 128<<10) + `"}}`, 10135, "131072"},
		{`{}`, `{"name":"a","ack_wait":-1}`, 10183, ""},
		{`{}`, `{"name":"a","backoff":[-1]}`, 10184, ""},
		{`{}`, `{"name":"a","max_deliver":1,"backoff":[1,2]}`, 10116, ""},
		{`{}`, `{"name":"a","max_deliver":2,"backoff":[1,2]}`, 0, ""},
		{`{}`, `{"name":"a","sample_freq":"often"}`, 10095, ""},
		{`{}`, `{"name":"a","deliver_subject":"d","max_ack_pending":5}`, 10082, ""},
		{`{"consumer_limits":{"max_ack_pending":50}}`, `{"name":"a","ack_policy":"all","max_ack_pending":51}`, 10121, "50"},
		{`{"consumer_limits":{"max_ack_pending":50}}`, `{"name":"a","ack_policy":"all","max_ack_pending":-1}`, 10121, "50"},
		{`{}`, `{"name":"a","deliver_policy":"last","opt_start_seq":1}`, 10094, "deliver last, but optional start sequence"},
		{`{}`, `{"name":"a","deliver_policy":"new","opt_start_time":"2024-01-01T00:00:00Z"}`, 10094, "start time"},
		{`{}`, `{"name":"a","deliver_policy":"by_start_sequence"}`, 10094, "not set"},
		{`{}`, `{"name":"a","deliver_policy":"by_start_sequence","opt_start_seq":1,"opt_start_time":"2024-01-01T00:00:00Z"}`, 10094, "also set"},
		{`{}`, `{"name":"a","deliver_policy":"by_start_time"}`, 10094, "not set"},
		{`{}`, `{"name":"a","deliver_policy":"by_start_time","opt_start_seq":1,"opt_start_time":"2024-01-01T00:00:00Z"}`, 10094, "also set"},
		{`{}`, `{"name":"a","deliver_policy":"last_per_subject"}`, 10094, "FilterSubject is not set"},
		{`{}`, `{"name":"a","filter_subject":"a","filter_subjects":["b"]}`, 10136, ""},
		{`{}`, `{"name":"a","filter_subjects":["a",""]}`, 10139, ""},
		{`{}`, `{"name":"a","filter_subjects":["a.*","a.b"]}`, 10138, ""},
		{`{}`, `{"name":"a","filter_subjects":["a.*","*.b"]}`, 0, ""},
		{`{}`, `{"name":"a","filter_subject":"a..b"}`, 10052, "invalid subject"},
		{`{}`, `{"name":"a","rate_limit_bps":1}`, 10086, ""},
		{`{}`, `{"name":"a","idle_heartbeat":1000000000}`, 10088, ""},
		{`{}`, `{"name":"a","flow_control":true}`, 10089, ""},
		{`{}`, `{"name":"a","deliver_subject":"d..e"}`, 10112, ""},
		{`{}`, `{"name":"a","deliver_subject":"d.*"}`, 10079, ""},
		{`{"subjects":["s.>"]}`, `{"name":"a","deliver_subject":"s.d"}`, 10081, ""},
		{`{}`, `{"name":"a","deliver_subject":"d","max_waiting":1}`, 10080, ""},
		{`{}`, `{"name":"a","deliver_subject":"d","idle_heartbeat":1}`, 10083, ""},
		{`{}`, `{"name":"a","deliver_subject":"d","flow_control":true}`, 10108, ""},
		{`{}`, `{"name":"a","max_waiting":-1}`, 10087, ""},
		{`{}`, `{"name":"a","max_batch":-1}`, 10114, ""},
		{`{}`, `{"name":"a","max_expires":1}`, 10115, ""},
		{`{}`, `{"name":"a","ack_policy":"flow_control"}`, 10218, ""},
		{`{}`, `{"name":"a","ack_policy":"flow_control","deliver_subject":"d"}`, 0, ""},
		{`{}`, `{"name":"a","ack_policy":"flow_control","deliver_subject":"d","flow_control":true,"idle_heartbeat":2000000000}`, 10108, ""},
		{`{}`, `{"name":"a","ack_policy":"flow_control","deliver_subject":"d","idle_heartbeat":1000000000,"max_ack_pending":-1}`, 10220, ""},
		{
			`{}`, `{"name":"a","ack_policy":"flow_control","deliver_subject":"d","flow_control":true,` +
				`"idle_heartbeat":1000000000,"max_ack_pending":5,"ack_wait":5}`, 10221, "",
		},
		{
			`{}`, `{"name":"a","ack_policy":"flow_control","deliver_subject":"d","flow_control":true,` +
				`"idle_heartbeat":1000000000,"max_ack_pending":5,"max_deliver":5}`, 10222, "",
		},
		{`{"consumer_limits":{"inactive_threshold":1000000000}}`, `{"name":"a","inactive_threshold":2000000000}`, 10153, "1s"},
		{`{}`, `{"name":"a","num_replicas":-1}`, 10133, ""},
		{`{}`, `{"name":"a","num_replicas":2}`, 10126, ""},
		{`{"num_replicas":3,"retention":"interest"}`, `{"name":"a","num_replicas":1}`, 10134, ""},
		{`{"num_replicas":3}`, `{"name":"a","num_replicas":1}`, 0, ""},
		{work, `{"name":"a"}`, 10084, ""},
		{work, `{"name":"a","ack_policy":"all"}`, 10098, ""},
		{work, `{"name":"a","deliver_subject":"d"}`, 10098, ""},
		{work, `{"name":"a","deliver_subject":"d","ack_policy":"all"}`, 10098, ""},
		{`{}`, `{"name":"a","direct":true}`, 10090, ""},
		{`{}`, `{"name":"a","direct":true,"rate_limit_bps":5}`, 10086, ""},
		{`{}`, `{"durable_name":"a","direct":true,"deliver_subject":"d"}`, 10091, ""},
		{`{}`, `{"name":"a","direct":true,"deliver_subject":"d"}`, 0, ""},
		{work, `{"name":"a","ack_policy":"explicit","deliver_policy":"new"}`, 10101, ""},
		{`{}`, `{"name":"a","priority_groups":["x"]}`, 10196, ""},
		{`{}`, `{"name":"a","priority_timeout":1}`, 10197, ""},
		{`{}`, `{"name":"a","priority_policy":"overflow"}`, 10159, ""},
		{`{}`, `{"name":"a","priority_policy":"overflow","priority_groups":[""]}`, 10161, ""},
		{`{}`, `{"name":"a","priority_policy":"overflow","priority_groups":["a b"]}`, 10162, ""},
		{`{}`, `{"name":"a","priority_policy":"overflow","priority_groups":["12345678901234567"]}`, 10162, ""},
		{`{}`, `{"name":"a","priority_policy":"prioritized","priority_groups":["a"],"deliver_subject":"d"}`, 10178, ""},
	}
	for _, tt := range tests {
		t.Run(tt.given[:min(len(tt.given), 90)], func(t *testing.T) {
			_, err := decode[config.Consumer](t, tt.given).Normalized(stream(t, tt.stream), config.Limits{}, false)
			wantError(t, err, tt.code, tt.detail)
		})
	}
}

func TestConsumerPedanticAndLimits(t *testing.T) {
	s := stream(t, `{"consumer_limits":{"max_ack_pending":50}}`)
	limits := config.Limits{MaxAckPending: 20, InactiveThreshold: time.Second}
	c, err := config.Consumer{Durable: "c", Ack: config.AckAll}.Normalized(s, limits, false)
	if err != nil || c.MaxAckPending != 20 {
		t.Errorf("got %d, %v", c.MaxAckPending, err)
	}
	_, err = config.Consumer{Durable: "c", Ack: config.AckAll}.Normalized(s, config.Limits{}, true)
	wantError(t, err, 10157, "pedantic mode")
	_, err = config.Consumer{Durable: "c", Inactive: time.Hour}.Normalized(s, limits, false)
	wantError(t, err, 10153, "1s")
	backoff := config.Consumer{Durable: "c", Ack: config.AckAll, MaxAckPending: 1, AckWait: 5, Backoff: []time.Duration{7}}
	_, err = backoff.Normalized(s, config.Limits{}, true)
	wantError(t, err, 10157, "backoff")
	_, err = config.Consumer{Durable: "c", Ack: 9}.Normalized(s, limits, false)
	wantError(t, err, 10181, "")
	_, err = config.Consumer{Durable: "c", Replay: 9}.Normalized(s, limits, false)
	wantError(t, err, 10182, "")
}

func TestConsumerUpdates(t *testing.T) {
	at, other := time.Unix(5, 0), time.Unix(6, 0)
	base := config.Consumer{
		Name: "c", Deliver: config.DeliverByStartTime, StartTime: &at, Ack: config.AckExplicit, MaxWaiting: 5,
	}
	tests := []struct {
		name   string
		change func(*config.Consumer)
		detail string
	}{
		{"nothing", func(*config.Consumer) {}, ""},
		{"an equal time", func(c *config.Consumer) { equal := at.UTC(); c.StartTime = &equal }, ""},
		{"filter", func(c *config.Consumer) { c.FilterSubject = "a" }, ""},
		{"deliver policy", func(c *config.Consumer) { c.Deliver = config.DeliverAll }, "deliver policy can not be updated"},
		{"start sequence", func(c *config.Consumer) { c.StartSequence = 5 }, "start sequence can not be updated"},
		{"start time", func(c *config.Consumer) { c.StartTime = &other }, "start time can not be updated"},
		{"no start time", func(c *config.Consumer) { c.StartTime = nil }, "start time can not be updated"},
		{"ack policy", func(c *config.Consumer) { c.Ack = config.AckAll }, "ack policy can not be updated"},
		{"replay policy", func(c *config.Consumer) { c.Replay = config.ReplayOriginal }, "replay policy can not be updated"},
		{"heartbeat", func(c *config.Consumer) { c.Heartbeat = 5 }, "heart beats can not be updated"},
		{"flow control", func(c *config.Consumer) { c.FlowControl = true }, "flow control can not be updated"},
		{"max waiting", func(c *config.Consumer) { c.MaxWaiting = 6 }, "max waiting can not be updated"},
		{"storage", func(c *config.Consumer) { c.Memory = true }, "storage type can not be updated"},
		{"push", func(c *config.Consumer) { c.DeliverSubject = "d" }, "can not update pull consumer to push based"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			next := base
			tt.change(&next)
			code := config.ConsumerUpdateRefused
			if tt.detail == "" {
				code = 0
			}
			wantError(t, config.CheckConsumerUpdate(&base, &next), code, tt.detail)
		})
	}
	push := base
	push.DeliverSubject = "d"
	wantError(t, config.CheckConsumerUpdate(&push, &base), config.ConsumerUpdateRefused, "push consumer to pull based")
}

// TestPolicyNames sees that every policy has a name for each value, and takes back what it gives.
func TestPolicyNames(t *testing.T) {
	type policy interface {
		encoding.TextUnmarshaler
	}
	tests := []struct {
		value policy
		names string
	}{
		{new(config.Retention), "limits interest workqueue"},
		{new(config.Discard), "old new"},
		{new(config.Storage), "file memory"},
		{new(config.Compression), "none s2"},
		{new(config.Persist), "default async"},
		{new(config.Deliver), "all last new by_start_sequence by_start_time last_per_subject"},
		{new(config.Ack), "none all explicit flow_control"},
		{new(config.Replay), "instant original"},
		{new(config.Priority), "none overflow pinned_client prioritized"},
	}
	for _, tt := range tests {
		names := strings.Fields(tt.names)
		for i, name := range names {
			if err := tt.value.UnmarshalText([]byte(name)); err != nil {
				t.Errorf("%T %q: %v", tt.value, name, err)
			}
			v := reflect.ValueOf(tt.value).Elem()
			if v.Uint() != uint64(i) {
				t.Errorf("%T %q: got %d, want %d", tt.value, name, v.Uint(), i)
			}
			got, err := v.Interface().(encoding.TextMarshaler).MarshalText()
			if err != nil || string(got) != name {
				t.Errorf("%T %d: got %q, %v, want %q", tt.value, i, got, err, name)
			}
		}
		if err := tt.value.UnmarshalText([]byte("else")); err == nil {
			t.Errorf("%T: takes a name that is none", tt.value)
		}
		v := reflect.ValueOf(tt.value).Elem()
		v.SetUint(uint64(len(names)))
		if _, err := v.Interface().(encoding.TextMarshaler).MarshalText(); err == nil {
			t.Errorf("%T: has a name for %d", tt.value, len(names))
		}
	}
}
