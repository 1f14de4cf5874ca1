package jetstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server"
	"runnel/server/servertest"
)

// runIn runs a server with its store in a directory.
func runIn(t testing.TB, dir string) (*server.Server, *nats.Conn) {
	t.Helper()
	s := servertest.Start(t, fmt.Sprintf("server_name: restarted\njetstream { store_dir: %q }", dir))
	return s, servertest.Connect(t, s)
}

// restarts are the ways in which a server ends: what returns is the directory for the next.
var restarts = map[string]func(t *testing.T, s *server.Server, dir string) string{
	"closed": func(t *testing.T, s *server.Server, dir string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		return dir
	},
	// What the disk has while the server runs is what a killed one leaves.
	"killed": func(t *testing.T, _ *server.Server, dir string) string {
		t.Helper()
		return copied(t, dir)
	},
}

// restarted runs check against what before has left, after each kind of restart.
func restarted(t *testing.T, prepare func(*testing.T, *nats.Conn), check func(*testing.T, *nats.Conn)) {
	for name, restart := range restarts {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, nc := runIn(t, dir)
			prepare(t, nc)
			want := everything(t, nc)
			_, nc = runIn(t, restart(t, s, dir))
			got := everything(t, nc)
			for key, w := range want {
				if got[key] != w {
					t.Errorf("%s:\ngot  %s\nwant %s", key, got[key], w)
				}
			}
			if len(got) != len(want) {
				t.Errorf("there are %d infos, want %d", len(got), len(want))
			}
			if check != nil {
				check(t, nc)
			}
		})
	}
}

// everything returns the infos of all streams and consumers, without what a restart ends.
func everything(t *testing.T, nc *nats.Conn) map[string]string {
	t.Helper()
	all := map[string]string{}
	keep := func(key string, info map[string]any) {
		for _, fleeting := range []string{"ts", "num_waiting", "push_bound", "stalled", "lag", "type", "pause_remaining"} {
			delete(info, fleeting)
		}
		text, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		all[key] = string(text)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var names struct{ Streams []string }
	must(ask(nc, "STREAM.NAMES", nil, &names))
	for _, stream := range names.Streams {
		var info map[string]any
		must(ask(nc, "STREAM.INFO."+stream, map[string]any{"subjects_filter": ">", "deleted_details": true}, &info))
		if stream == "timed" {
			delete(info, "state") // goes on between two looks
		}
		keep(stream, info)
		var consumers struct{ Consumers []string }
		must(ask(nc, "CONSUMER.NAMES."+stream, nil, &consumers))
		for _, consumer := range consumers.Consumers {
			var info map[string]any
			must(ask(nc, "CONSUMER.INFO."+stream+"."+consumer, nil, &info))
			keep(stream+"."+consumer, info)
		}
	}
	return all
}

// before makes streams and consumers, and publishes.
type before struct {
	t  *testing.T
	nc *nats.Conn
}

func (s *before) stream(name, more string) {
	s.t.Helper()
	s.ask("STREAM.CREATE."+name, fmt.Sprintf(`{"name":%q,"subjects":["%s.>"],%s}`, name, name, more))
}

func (s *before) consumer(stream, name, more string) {
	s.t.Helper()
	s.ask("CONSUMER.CREATE."+stream+"."+name, fmt.Sprintf(
		`{"stream_name":%q,"config":{"name":%q,"durable_name":%q,"ack_policy":"explicit",%s}}`, stream, name, name, more))
}

func (s *before) ask(subject, body string) {
	s.t.Helper()
	if err := ask(s.nc, subject, json.RawMessage(body), nil); err != nil {
		s.t.Fatal(err)
	}
}

// publish publishes with headers, as "Name: value", and returns the acknowledgement.
func (s *before) publish(subject, payload string, headers ...string) map[string]any {
	s.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(payload)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		m.Header[name] = []string{value}
	}
	answer, err := s.nc.RequestMsg(m, servertest.Patience)
	if err != nil {
		s.t.Fatalf("publish %s: %v", subject, err)
	}
	var ack map[string]any
	if err := json.Unmarshal(answer.Data, &ack); err != nil || ack["error"] != nil {
		s.t.Fatalf("publish %s: %s", subject, answer.Data)
	}
	return ack
}

// pull asks a consumer for messages and returns what comes, up to n, or the first status.
func (s *before) pull(stream, consumer, body string, n int) []*nats.Msg {
	s.t.Helper()
	inbox, err := s.nc.SubscribeSync(s.nc.NewInbox())
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = inbox.Unsubscribe() }()
	if err := s.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+stream+"."+consumer, inbox.Subject, []byte(body)); err != nil {
		s.t.Fatal(err)
	}
	var got []*nats.Msg
	for len(got) < n {
		m, err := inbox.NextMsg(servertest.Patience)
		if err != nil {
			s.t.Fatalf("message %d of %s: %v", len(got), consumer, err)
		}
		got = append(got, m)
		if m.Header.Get("Status") != "" {
			break
		}
	}
	return got
}

// answer answers a delivery and waits until that is safe.
func (s *before) answer(m *nats.Msg, what string) {
	s.t.Helper()
	if _, err := s.nc.Request(m.Reply, []byte(what), servertest.Patience); err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}

// TestRestartKeepsConsumers compares positions, counts and what waits for acknowledgements, and sees that what was not
// acknowledged is delivered again, with the right number, and nothing else.
func TestRestartKeepsConsumers(t *testing.T) {
	var acked []uint64
	restarted(t, func(t *testing.T, nc *nats.Conn) {
		s := &before{t, nc}
		acked = nil
		s.stream("work", `"retention":"workqueue"`)
		s.stream("interest", `"retention":"interest"`)
		s.stream("limits", `"max_msgs_per_subject":2,"metadata":{"a":"b"},"description":"what it is for"`)
		s.consumer("work", "w", `"ack_wait":1000000000`)
		s.consumer("interest", "i1", `"max_deliver":3,"backoff":[3600000000000,7200000000000]`)
		s.consumer("interest", "i2", `"filter_subject":"interest.a"`)
		s.consumer("limits", "later", `"ack_wait":3600000000000`)
		s.consumer("limits", "paused", `"pause_until":"2100-01-01T00:00:00Z"`)
		s.consumer("limits", "pinned", `"priority_groups":["g"],"priority_policy":"pinned_client","priority_timeout":3600000000000`)
		s.consumer("limits", "pushed", `"deliver_subject":"to.nobody","headers_only":true`)
		s.consumer("limits", "last", `"deliver_policy":"last_per_subject","filter_subject":"limits.*"`)
		for i := range 20 {
			for _, stream := range []string{"work", "interest", "limits"} {
				s.publish(fmt.Sprintf("%s.%c", stream, 'a'+i%4), fmt.Sprint(i))
			}
		}
		for i, m := range s.pull("work", "w", `{"batch":10}`, 10) {
			if i%3 == 0 {
				s.answer(m, "+ACK")
				acked = append(acked, sequenceOf(t, m))
			}
		}
		for i, m := range s.pull("interest", "i1", `{"batch":6}`, 6) {
			s.answer(m, []string{"+ACK", "-NAK", "+TERM"}[i%3])
		}
		s.pull("limits", "later", `{"batch":3}`, 3)
		s.pull("limits", "last", `{"batch":2}`, 2)
		s.pull("limits", "pinned", `{"batch":1,"group":"g"}`, 1)
	}, func(t *testing.T, nc *nats.Conn) {
		s := &before{t, nc}
		// What was delivered and not acknowledged comes again after its second, the rest for the first time.
		seen := map[uint64]bool{}
		for _, m := range s.pull("work", "w", `{"batch":16,"expires":9000000000}`, 16) {
			seq, deliveries := sequenceOf(t, m), deliveriesOf(t, m)
			if slices.Contains(acked, seq) || seen[seq] {
				t.Errorf("%d is delivered again", seq)
			}
			seen[seq] = true
			if again := seq <= 10; again != (deliveries > 1) {
				t.Errorf("%d has delivery number %d", seq, deliveries)
			}
		}
		// The negative acknowledgement had an hour, as the acknowledgements that are awaited have.
		for consumer, body := range map[string]string{"later": `{"no_wait":true,"batch":100}`} {
			for _, m := range s.pull("limits", consumer, body, 100) {
				if m.Header.Get("Status") == "" && deliveriesOf(t, m) > 1 {
					t.Errorf("%s: %s is delivered again before its time", consumer, m.Reply)
				}
			}
		}
		if m := s.pull("limits", "pinned", `{"batch":1,"group":"g","expires":100000000}`, 1)[0]; m.Header.Get("Status") != "408" {
			t.Errorf("somebody else got the message of a pinned client: %v", m.Header)
		}
		if m := s.pull("limits", "paused", `{"batch":1,"expires":100000000}`, 1)[0]; m.Header.Get("Status") != "408" {
			t.Errorf("a paused consumer delivers: %v", m.Header)
		}
	})
}

func meta(t *testing.T, m *nats.Msg) *nats.MsgMetadata {
	t.Helper()
	about, err := m.Metadata()
	if err != nil {
		t.Fatalf("%q %v: %v", m.Reply, m.Header, err)
	}
	return about
}

func sequenceOf(t *testing.T, m *nats.Msg) uint64 { return meta(t, m).Sequence.Stream }

func deliveriesOf(t *testing.T, m *nats.Msg) uint64 { return meta(t, m).NumDelivered }

// TestRestartKeepsMessages compares what streams of every kind have, and what they remember besides.
func TestRestartKeepsMessages(t *testing.T) {
	var due time.Time
	restarted(t, func(t *testing.T, nc *nats.Conn) {
		s := &before{t, nc}
		s.stream("dedup", `"duplicate_window":3600000000000`)
		s.stream("timed", `"allow_msg_ttl":true,"subject_delete_marker_ttl":1000000000,"allow_msg_schedules":true`)
		s.stream("counter", `"allow_msg_counter":true,"allow_direct":true`)
		s.stream("gaps", `"allow_rollup_hdrs":true`)
		s.stream("sealed", `"max_msgs":5`)
		s.ask("STREAM.CREATE.KV_b", `{"name":"KV_b","subjects":["$KV.b.>"],"max_msgs_per_subject":3,"allow_rollup_hdrs":true,"deny_delete":true,"discard":"new","allow_direct":true}`)
		s.publish("dedup.a", "1", "Nats-Msg-Id: one")
		s.publish("dedup.a", "2", "Nats-Msg-Id: two")
		s.publish("timed.short", "", "Nats-TTL: 2s")
		s.publish("timed.long", "", "Nats-TTL: 1h")
		due = time.Now().Add(3 * time.Second)
		s.publish("timed.once", "on time", "Nats-Schedule: @at "+due.UTC().Format(time.RFC3339Nano), "Nats-Schedule-Target: timed.due")
		s.publish("timed.yearly", "", "Nats-Schedule: @yearly", "Nats-Schedule-Target: timed.new-year")
		s.publish("counter.a", "", "Nats-Incr: 40")
		s.publish("counter.a", "", "Nats-Incr: +2")
		for i := range 12 {
			s.publish(fmt.Sprintf("gaps.%d", i%3), fmt.Sprint(i))
			s.publish("sealed.a", fmt.Sprint(i))
			s.publish(fmt.Sprintf("$KV.b.%d", i%2), fmt.Sprint(i))
		}
		s.publish("gaps.0", "all", "Nats-Rollup: sub")
		s.ask("STREAM.MSG.DELETE.gaps", `{"seq":5}`)
		s.ask("STREAM.PURGE.gaps", `{"filter":"gaps.2","keep":1}`)
		s.ask("STREAM.UPDATE.sealed", `{"name":"sealed","subjects":["sealed.>"],"max_msgs":5,"sealed":true}`)
	}, func(t *testing.T, nc *nats.Conn) {
		s := &before{t, nc}
		if ack := s.publish("dedup.b", "", "Nats-Msg-Id: two"); ack["duplicate"] != true || ack["seq"] != 2.0 {
			t.Errorf("an id from before the restart: %v", ack)
		}
		if ack := s.publish("counter.a", "", "Nats-Incr: -1"); ack["val"] != "41" {
			t.Errorf("counter: %v", ack)
		}
		last := func(subject string) string {
			var got struct{ Message struct{ Hdrs, Data []byte } }
			body := map[string]any{"last_by_subj": subject}
			if err := ask(nc, "STREAM.MSG.GET.timed", body, &got); err != nil {
				return err.Error()
			}
			return fmt.Sprintf("%s%s", got.Message.Hdrs, got.Message.Data)
		}
		marked := false // the marker does not stay for long
		servertest.Eventually(t, "a message to expire, and its marker", func() bool {
			now := last("timed.short")
			marked = marked || strings.Contains(now, "Nats-Marker-Reason: MaxAge")
			return marked && strings.Contains(now, "no message found")
		})
		servertest.Eventually(t, "what was scheduled", func() bool { return strings.HasSuffix(last("timed.due"), "on time") })
		if now := time.Now(); now.Before(due) {
			t.Errorf("the schedule came %v early", due.Sub(now))
		}
		if got := last("timed.long"); strings.Contains(got, "error") {
			t.Errorf("a message whose time has not come: %s", got)
		}
	})
}

// TestRestartOfMemory keeps what is to be kept in memory only as far as it should be: the configuration.
func TestRestartOfMemory(t *testing.T) {
	dir := t.TempDir()
	server, nc := runIn(t, dir)
	s := &before{t, nc}
	s.stream("memory", `"storage":"memory"`)
	s.ask("STREAM.UPDATE.memory", `{"name":"memory","subjects":["memory.>"],"storage":"memory","max_msgs":7}`)
	s.stream("file", `"max_msgs":8`)
	s.consumer("file", "durable", `"mem_storage":true`)
	for _, subject := range []string{"memory.a", "file.a"} {
		s.publish(subject, "")
	}
	s.answer(s.pull("file", "durable", `{"batch":1}`, 1)[0], "+ACK")
	_, nc = runIn(t, restarts["closed"](t, server, dir))
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	info, err := js.StreamInfo("memory")
	if err != nil {
		t.Fatal(err)
	}
	if info.Config.MaxMsgs != 7 || info.State.Msgs != 0 {
		t.Errorf("stream in memory: %+v", info)
	}
	consumer, err := js.ConsumerInfo("file", "durable")
	if err != nil {
		t.Fatal(err)
	}
	if consumer.AckFloor.Stream > 1 {
		t.Errorf("consumer in memory: %+v", consumer)
	}
	if ack, err := js.Publish("memory.a", nil); err != nil || ack.Sequence != 1 {
		t.Errorf("publish: %+v, %v", ack, err)
	}
}

// TestRestartForgetsEphemeral: a consumer in memory that nobody knows by a durable name goes with the server, and sends no heartbeats
// afterwards: its client would take it for one that is there.
func TestRestartForgetsEphemeral(t *testing.T) {
	dir := t.TempDir()
	server, nc := runIn(t, dir)
	s := &before{t, nc}
	s.stream("S", `"max_msgs":8`)
	for i := range 20 { // of some, the deliveries will have begun before they are removed
		s.ask(fmt.Sprintf("CONSUMER.CREATE.S.c%d", i), fmt.Sprintf(
			`{"stream_name":"S","config":{"name":"c%d","deliver_subject":"to.%d","mem_storage":true,"ack_policy":"none","idle_heartbeat":100000000,"inactive_threshold":60000000000}}`, i, i))
	}
	_, nc = runIn(t, restarts["closed"](t, server, dir))
	sub, err := nc.SubscribeSync("to.*")
	if err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "an end of the consumers", func() bool {
		answer, err := nc.Request("$JS.API.CONSUMER.NAMES.S", nil, servertest.Patience)
		return err == nil && strings.Contains(string(answer.Data), `"total":0`)
	})
	servertest.Eventually(t, "silence of consumers that have gone", func() bool {
		_, err := sub.NextMsg(300 * time.Millisecond) // three heartbeats
		return err != nil
	})
}
