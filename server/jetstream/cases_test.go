package jetstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// The tests named TestCase are public reports about servers of this kind, by number, each with relatives of the
// fault that it stands for. Those of the core are beside package server.

// raw publishes with header lines in exactly this order.
func (s *site) raw(subject, data string, lines ...string) (a ack) {
	s.t.Helper()
	block := "NATS/1.0\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
	c := servertest.DialQuiet(s.t, s.server)
	defer c.Close()
	c.Send("SUB r 1\r\n")
	c.Send(fmt.Sprintf("HPUB %s r %d %d\r\n", subject, len(block), len(block)+len(data)) + block + data + "\r\n")
	line := c.Line()
	for !strings.HasPrefix(line, "MSG r 1 ") {
		line = c.Line()
	}
	if err := json.Unmarshal([]byte(c.Line()), &a); err != nil {
		s.t.Fatalf("publish on %s: %v", subject, err)
	}
	return a
}

// TestCaseC006 sends headers whose names are the beginning or the end of others.
func TestCaseC006(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("S", `"subjects":["s.>"],"allow_msg_ttl":true,"allow_rollup_hdrs":true,"allow_atomic":true,"storage":"`+storage+`"`)
		s.stores(1, "s.b", "")
		s.stores(2, "s.d", "", "Nats-Msg-Id", "m1")
		tests := []struct {
			name  string
			lines []string
			code  int
		}{
			{"subject first", []string{"Nats-Expected-Last-Subject-Sequence-Subject: s.b", "Nats-Expected-Last-Subject-Sequence: 1"}, 0},
			{"subject last", []string{"Nats-Expected-Last-Subject-Sequence: 1", "Nats-Expected-Last-Subject-Sequence-Subject: s.b"}, 0},
			{"subject first, wrong", []string{"Nats-Expected-Last-Subject-Sequence-Subject: s.b", "Nats-Expected-Last-Subject-Sequence: 2"}, 10071},
			{"subject alone", []string{"Nats-Expected-Last-Subject-Sequence-Subject: s.b"}, 10193},
			{"longer at the front", []string{"Previous-Nats-Msg-Id: m1"}, 0},
			{"longer at the end", []string{"Nats-Msg-Id-Before: m1"}, 0},
			{"in a value", []string{"X: Nats-Msg-Id: m1"}, 0},
			{"longer expectation", []string{"Nats-Expected-Last-Sequence-Number: 77", "X-Nats-Expected-Last-Sequence: 77"}, 0},
			{"longer before the real one", []string{"X-Nats-Expected-Last-Sequence: 0", "Nats-Expected-Last-Sequence: 77"}, 10071},
			{"longer stream", []string{"X-Nats-Expected-Stream: OTHER", "Nats-Expected-Stream-Name: OTHER"}, 0},
			{"longer id", []string{"Nats-Expected-Last-Msg-Id-X: other", "X-Nats-Expected-Last-Msg-Id: other"}, 0},
			{"longer TTL", []string{"Nats-TTL-X: abc", "X-Nats-TTL: abc"}, 0},
			{"longer rollup", []string{"Nats-Rollup-X: all", "X-Nats-Rollup: all"}, 0},
			{"longer batch", []string{"X-Nats-Batch-Id: b", "Nats-Batch-Ids: b"}, 0},
			{"longer counter", []string{"X-Nats-Incr: 1", "Nats-Incr-By: 1"}, 0},
			{"longer schedule", []string{"X-Nats-Schedule: @at", "Nats-Schedules: @at"}, 0},
			{"longer source", []string{"X-Nats-Stream-Source: S 1", "Nats-Stream-Source-X: S 1"}, 0},
			{"TTL behind its longer", []string{"X-Nats-TTL: 5", "Nats-TTL: abc"}, 10165},
			{"rollup behind its longer", []string{"X-Nats-Rollup: all", "Nats-Rollup: none"}, 10111},
		}
		sequence := uint64(2)
		for _, tt := range tests {
			a := s.raw("s.d", "x", tt.lines...)
			if tt.code == 0 {
				sequence++
			}
			if a.Error.Code != tt.code || a.Duplicate || tt.code == 0 && a.Sequence != sequence {
				t.Errorf("%s: got %v, want sequence %d or error %d", tt.name, a, sequence, tt.code)
			}
		}
		s.holds("S", sequence, 1, sequence)
		if a := s.raw("s.d", "", "Previous-Nats-Msg-Id: x", "Nats-Msg-Id: m1", "Nats-Msg-Id-X: y"); !a.Duplicate || a.Sequence != 2 {
			t.Errorf("id between its longers: got %v, want a duplicate of 2", a)
		}
	})
}

// TestCaseC024 puts numbers into the configuration of streams that are below, between and above what they may be.
func TestCaseC024(t *testing.T) {
	s := newSite(t, "")
	create := func(storage, fields string) reply {
		return s.ask("STREAM.CREATE.A", streamBody("A", `"subjects":["a"],"storage":"`+storage+`",`+fields))
	}
	for fields, code := range map[string]int{
		`"max_age":-1`: 10052, `"max_age":1`: 10052, `"max_age":99999999`: 10052, `"max_age":-9223372036854775808`: 10052,
		`"duplicate_window":-1`: 10052, `"duplicate_window":1`: 10052, `"max_age":1000000000,"duplicate_window":2000000000`: 10052,
		`"subject_delete_marker_ttl":-1`: 10052, `"subject_delete_marker_ttl":1`: 10052,
		`"consumer_limits":{"max_ack_pending":-1}`: 10052, `"consumer_limits":{"inactive_threshold":-1}`: 10052,
		`"max_msgs":9223372036854775808`: 10025, `"max_msgs":1.5`: 10025, `"max_msgs":"5"`: 10025, `"max_msgs":true`: 10025, `"max_msgs":[]`: 10025,
		`"max_bytes":1e400`: 10025, `"max_bytes":0x10`: 10025, `"max_bytes":01`: 10025, `"max_bytes":+1`: 10025, `"max_bytes":NaN`: 10025,
		`"max_age":1.5`: 10025, `"max_age":"1s"`: 10025, `"max_age":9223372036854775808`: 10025,
		`"max_msg_size":2147483648`: 10025, `"max_msg_size":-2147483649`: 10025, `"max_msgs_per_subject":9223372036854775808`: 10025,
		`"first_seq":-1`: 10025, `"first_seq":18446744073709551616`: 10025, `"first_seq":1.5`: 10025,
		`"num_replicas":-1`: 10133, `"num_replicas":-9223372036854775808`: 10133, `"num_replicas":6`: 10052, `"num_replicas":3`: 10074, `"num_replicas":2`: 10074,
	} {
		for _, storage := range []string{"file", "memory"} {
			if r := create(storage, fields); r.code != code {
				t.Errorf("%s, %s: got %d %s, want %d", storage, fields, r.code, r.text, code)
			}
			s.refuses("STREAM.INFO.A", "", 10059)
		}
	}
	for storage, code := range map[string]int{"file": 10047, "memory": 10028} {
		if r := create(storage, `"max_bytes":9223372036854775807`); r.code != code {
			t.Errorf("%s, max_bytes above what there is: got %d %s, want %d", storage, r.code, r.text, code)
		}
		s.refuses("STREAM.INFO.A", "", 10059)
	}
	unlimited := []string{"max_msgs", "max_bytes", "max_consumers", "max_msgs_per_subject", "max_msg_size"}
	for _, n := range []string{"-5", "0", "-1", "null"} {
		for _, field := range unlimited {
			s.echoes(fmt.Sprintf(`"%s":%s`, field, n), field, -1)
		}
	}
	s.echoes(`"num_replicas":0`, "num_replicas", 1)
	s.echoes(`"max_age":100000000`, "max_age", 1e8)
	s.echoes(`"max_msg_size":2147483647`, "max_msg_size", 2147483647)
	s.echoes(`"max_msgs":9223372036854775807`, "max_msgs", 9223372036854775807)
}

// echoes creates stream A, checks a number of the configuration in all answers, before and after a restart, and deletes it.
func (s *site) echoes(fields, name string, want float64) {
	s.t.Helper()
	check := func(subject, body string) {
		s.t.Helper()
		var a struct{ Config map[string]any }
		s.must(subject, body, &a)
		if got := a.Config[name]; got != want {
			s.t.Errorf("%s after %s: %s is %v, want %v", subject, fields, name, got, want)
		}
	}
	body := streamBody("A", `"subjects":["a"],`+fields)
	check("STREAM.CREATE.A", body)
	check("STREAM.CREATE.A", body)
	check("STREAM.UPDATE.A", body)
	check("STREAM.INFO.A", "")
	s.must("STREAM.DELETE.A", "", nil)
}

// TestCaseC024Update gives the same numbers to streams that exist: what is refused changes nothing, also not for later.
func TestCaseC024Update(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		const subjects = `"subjects":["a"],`
		s.stream("A", subjects+`"max_msgs":5,"max_age":3600000000000,"storage":"`+storage+`"`)
		s.stores(1, "a", "x")
		config := func() string {
			var a struct{ Config json.RawMessage }
			s.must("STREAM.INFO.A", "", &a)
			return string(a.Config)
		}
		before := config()
		for fields, code := range map[string]int{
			`"max_age":-1`: 10052, `"max_age":1`: 10052, `"duplicate_window":-1`: 10052, `"max_msgs":1.5`: 10025, `"max_msgs":9223372036854775808`: 10025,
			`"num_replicas":-1`: 10133, `"num_replicas":6`: 10052, `"num_replicas":3`: 10074, `"max_msg_size":2147483648`: 10025,
			`"max_age":1000000000,"duplicate_window":2000000000`: 10052,
		} {
			s.refuses("STREAM.UPDATE.A", streamBody("A", subjects+`"storage":"`+storage+`",`+fields), code)
		}
		if after := config(); after != before {
			t.Errorf("after refusals:\ngot  %s\nwant %s", after, before)
		}
		s.must("STREAM.UPDATE.A", streamBody("A", subjects+`"max_msgs":0,"storage":"`+storage+`"`), nil)
		if after := config(); !strings.Contains(after, `"max_msgs":-1`) {
			t.Errorf("after max_msgs 0: got %s", after)
		}
		s.holds("A", 1, 1, 1)
	})
}

// TestCaseC024Largest uses the largest numbers that are allowed: no sum of them is below zero.
func TestCaseC024Largest(t *testing.T) {
	const most = "9223372036854775807"
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("A", `"subjects":["a.>"],"max_age":`+most+`,"duplicate_window":`+most+`,"max_msgs":`+most+`,"max_msgs_per_subject":`+most+
			`,"allow_msg_ttl":true,"storage":"`+storage+`"`)
		s.stores(1, "a.1", "x", "Nats-Msg-Id", "m")
		s.stores(2, "a.2", "x", "Nats-TTL", "9223372036")
		if a := s.publish("a.3", "x", "Nats-Msg-Id", "m"); !a.Duplicate {
			t.Errorf("the longest window: got %v, want a duplicate", a)
		}
		s.consumer("A", "c", `"ack_policy":"explicit","ack_wait":`+most+`,"max_deliver":`+most+`,"max_ack_pending":`+most+`,"inactive_threshold":`+most)
		wants(t, "delivered", sequences(s.rest("A", "c")), []uint64{1, 2})
		wants(t, "delivered again", sequences(s.rest("A", "c")), nil)
		s.restartAs(storage)
		if storage == "file" {
			s.holds("A", 2, 1, 2)
			wants(t, "delivered after a restart", sequences(s.rest("A", "c")), nil)
			if c := s.consumerState("A", "c"); c.AckPending != 2 {
				t.Errorf("after a restart: got %+v, want 2 that wait for their acknowledgement", c)
			}
		}
	})
}

// restartAs restarts the server where the storage outlives it.
func (s *site) restartAs(storage string) {
	s.t.Helper()
	if storage == "file" {
		s.restart()
	}
}

// TestCaseC024Sequence starts a stream at the largest sequences: none is ever given twice.
func TestCaseC024Sequence(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		for _, n := range []string{"4611686018427387905", "18446744073709551615"} {
			s.refuses("STREAM.CREATE.A", streamBody("A", `"subjects":["a"],"first_seq":`+n+`,"storage":"`+storage+`"`), 10052)
		}
		const first = 1 << 62
		s.stream("A", fmt.Sprintf(`"subjects":["a"],"first_seq":%d,"storage":%q`, first, storage))
		for i := range uint64(3) {
			s.stores(first+i, "a", "x")
		}
		s.holds("A", 3, first, first+2)
		s.consumer("A", "c", "")
		wants(t, "delivered", sequences(s.rest("A", "c")), []uint64{first, first + 1, first + 2})
		s.refuses("STREAM.PURGE.A", `{"seq":18446744073709551615}`, 10003)
		s.holds("A", 3, first, first+2)
		s.must("STREAM.PURGE.A", "", nil)
		s.holds("A", 0, first+3, first+2)
		s.stores(first+3, "a", "x")
		wants(t, "delivered after a purge", sequences(s.rest("A", "c")), []uint64{first + 3})
	})
}

// TestCaseC024Consumer puts such numbers into the configuration of consumers.
func TestCaseC024Consumer(t *testing.T) {
	s := newSite(t, "")
	s.stream("A", `"subjects":["a"]`)
	for fields, code := range map[string]int{
		`"ack_wait":-1`: 10183, `"backoff":[-1],"max_deliver":3`: 10184, `"backoff":[1,2,3],"max_deliver":2`: 10116,
		`"max_waiting":-1`: 10087, `"max_batch":1.5`: 10025, `"max_expires":1`: 10115, `"num_replicas":2`: 10126,
		`"ack_wait":1.5`: 10025, `"ack_wait":9223372036854775808`: 10025, `"max_deliver":9223372036854775808`: 10025,
		`"opt_start_seq":-1`: 10025, `"opt_start_seq":18446744073709551616`: 10025, `"rate_limit_bps":-1`: 10025,
		`"max_ack_pending":"5"`: 10025, `"inactive_threshold":0.5`: 10025, `"rate_limit_bps":1`: 10086, `"idle_heartbeat":1`: 10088,
	} {
		s.refuses("CONSUMER.CREATE.A.c", consumerBody("A", "c", "", `"ack_policy":"explicit",`+fields), code)
		s.refuses("CONSUMER.INFO.A.c", "", 10014)
	}
	for fields, want := range map[string]string{
		`"max_deliver":0`: `"max_deliver":-1`, `"max_deliver":-5`: `"max_deliver":-1`, `"max_ack_pending":0`: `"max_ack_pending":1000`,
		`"max_ack_pending":-1`: `"max_ack_pending":-1`, `"ack_wait":0`: `"ack_wait":30000000000`, `"max_waiting":0`: `"max_waiting":512`,
		`"num_replicas":0`: `"num_replicas":0`,
	} {
		body := consumerBody("A", "c", "", `"ack_policy":"explicit",`+fields)
		for range 2 {
			if r := s.ask("CONSUMER.CREATE.A.c", body); r.code != 0 || !strings.Contains(string(r.raw), want) {
				t.Errorf("%s: got %s, want %s", fields, r.raw, want)
			}
		}
		s.must("CONSUMER.DELETE.A.c", "", nil)
	}
}

// TestCaseC027 asks for what does not exist: an answer comes, and says so.
func TestCaseC027(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s"]`)
	s.consumer("S", "c", "")
	s.stores(1, "s", "x")
	check := func(prefix string) {
		t.Helper()
		for _, subject := range []string{
			"NOPE", "STREAM", "STREAM.FOO.X", "STREAM.CREATE", "STREAM.INFO", "STREAM.INFO.S.EXTRA", "STREAM.MSG", "STREAM.MSG.GET", "STREAM.MSG.FOO.S",
			"STREAM.NAMES.S", "STREAM.DELETE", "STREAM.PURGE.S.x", "STREAM.PEER.FOO.S", "INFO.S", "stream.info.S",
			"CONSUMER", "CONSUMER.FOO.S.c", "CONSUMER.CREATE", "CONSUMER.INFO.S", "CONSUMER.INFO.S.c.x", "CONSUMER.NAMES", "CONSUMER.DELETE.S", "CONSUMER.MSG.NEXT.S",
			"CONSUMER.MSG.NEXT.S.none", "CONSUMER.MSG.NEXT.NONE.c", "CONSUMER.MSG.FOO.S.c", "CONSUMER.DURABLE.CREATE.S",
			"DIRECT.GET.S", "DIRECT.GET.S.s", "DIRECT.GET.NONE", "DIRECT.GET", "DIRECT", "DIRECT.FOO.S",
			"META.LEADER.STEPDOWN", "SERVER.REMOVE", "ACCOUNT.PURGE.A", "ACCOUNT.STREAM.MOVE.A.S", "META.FOO",
		} {
			m, err := s.conn.Request(prefix+subject, []byte(`{"seq":1}`), servertest.Patience)
			if errors.Is(err, nats.ErrNoResponders) {
				continue
			}
			var a struct {
				Error struct {
					Code        int
					Description string
				}
			}
			if err != nil || json.Unmarshal(m.Data, &a) != nil || a.Error.Code < 400 || a.Error.Description == "" {
				t.Errorf("%s%s: got %v, %v, want an error or no responders", prefix, subject, m, err)
			}
		}
	}
	check("$JS.API.")
	s.restart()
	check("$JS.API.")
	s.holds("S", 1, 1, 1)

	s = newSite(t, "accounts { A { jetstream: enabled, users: [{user: a, password: x}] }, B { users: [{user: b, password: x}] } }, no_auth_user: b")
	for _, subject := range []string{"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.NOPE"} {
		m, err := s.conn.Request(subject, nil, servertest.Patience)
		if err == nil && !strings.Contains(string(m.Data), "10039") || err != nil && !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s without JetStream: got %v, %v, want 10039", subject, m, err)
		}
	}
}

// TestCaseC027Acks acknowledges, and waits for the answer, where nobody wants that: an answer comes.
func TestCaseC027Acks(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s"]`)
	s.consumer("S", "c", "")
	s.consumer("S", "none", `"ack_policy":"none"`)
	s.consumer("S", "gone", "")
	s.stores(1, "s", "x")
	deleted, unwanted := s.next("S", "gone", 1)[0], s.next("S", "none", 1)[0]
	s.must("CONSUMER.DELETE.S.gone", "", nil)
	for _, subject := range []string{deleted.Reply, unwanted.Reply, "$JS.ACK.NONE.c.1.1.1.1.0", "$JS.ACK.S.none", "$JS.ACK.x"} {
		for _, kind := range []string{"", "+ACK", "-NAK", "+TERM", "+WPI"} {
			if m, err := s.conn.Request(subject, []byte(kind), servertest.Patience); !errors.Is(err, nats.ErrNoResponders) {
				t.Errorf("%q on %s: got %v, %v, want no responders", kind, subject, m, err)
			}
		}
	}
	m := s.next("S", "c", 1)[0]
	for range 3 { // what is acknowledged already is so again
		s.acknowledge(m, "+ACK")
	}
	s.restart()
	s.acknowledge(m, "+ACK")
}

// TestCaseC028 makes what is already there once more when no more may be made.
func TestCaseC028(t *testing.T) {
	tests := []struct{ name, config, stream string }{
		{"stream", "", `"max_consumers":1`},
		{"account", "accounts { A { jetstream { max_consumers: 1 }, users: [{user: a, password: x}] } }, no_auth_user: a", `"max_consumers":-1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.config)
			s.stream("S", `"subjects":["s"],`+tt.stream)
			s.consumer("S", "a", "")
			again := func() {
				t.Helper()
				for _, action := range []string{"create", "", "update"} {
					s.must("CONSUMER.CREATE.S.a", consumerBody("S", "a", action, ""), nil)
					if action != "update" {
						s.refuses("CONSUMER.CREATE.S.b", consumerBody("S", "b", action, ""), 10026)
					}
				}
				s.must("CONSUMER.DURABLE.CREATE.S.a", consumerBody("S", "a", "", ""), nil)
				s.must("CONSUMER.CREATE.S.a", consumerBody("S", "a", "", `"ack_policy":"explicit","description":"new"`), nil)
				s.must("CONSUMER.CREATE.S.a", consumerBody("S", "a", "", ""), nil)
				s.refuses("CONSUMER.CREATE.S", `{"stream_name":"S","config":{"ack_policy":"explicit"}}`, 10026)
				s.refuses("CONSUMER.CREATE.S.b", consumerBody("S", "b", "update", ""), 10149)
				s.refuses("CONSUMER.CREATE.S.a", consumerBody("S", "a", "create", `"ack_policy":"explicit","description":"other"`), 10148)
			}
			again()
			s.restart()
			again()
			s.must("CONSUMER.DELETE.S.a", "", nil)
			s.consumer("S", "b", "")
			s.refuses("CONSUMER.CREATE.S.a", consumerBody("S", "a", "", ""), 10026)
		})
	}
	t.Run("streams", func(t *testing.T) {
		s := newSite(t, "accounts { A { jetstream { max_streams: 1 }, users: [{user: a, password: x}] } }, no_auth_user: a")
		for range 2 {
			for range 2 {
				s.stream("S", `"subjects":["s"],"max_bytes":1000`)
			}
			s.refuses("STREAM.CREATE.T", streamBody("T", `"subjects":["t"]`), 10027)
			s.must("STREAM.UPDATE.S", streamBody("S", `"subjects":["s"],"max_bytes":1000`), nil)
			s.restart()
		}
		s.must("STREAM.DELETE.S", "", nil)
		s.stream("T", `"subjects":["t"]`)
	})
	t.Run("reserved bytes", func(t *testing.T) {
		s := newSite(t, "accounts { A { jetstream { max_store: 1000, max_mem: 1000 }, users: [{user: a, password: x}] } }, no_auth_user: a")
		for name, storage := range map[string]string{"F": "file", "M": "memory"} {
			body := streamBody(name, `"max_bytes":1000,"storage":"`+storage+`"`)
			for range 3 {
				s.must("STREAM.CREATE."+name, body, nil)
				s.must("STREAM.UPDATE."+name, body, nil)
			}
			code := map[string]int{"file": 10047, "memory": 10028}[storage]
			s.refuses("STREAM.CREATE.X", streamBody("X", `"max_bytes":1,"storage":"`+storage+`"`), code)
			s.refuses("STREAM.UPDATE."+name, streamBody(name, `"max_bytes":1001,"storage":"`+storage+`"`), code)
		}
	})
}
