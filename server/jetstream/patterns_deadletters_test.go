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
	"github.com/nats-io/nats.go/jetstream"

	"runnel/jetlog/config"
	"runnel/server"
	"runnel/server/jetstream/api"
	"runnel/server/servertest"
)

// dead is the metadata of a consumer that hands what it gives up to a stream.
func dead(stream string, more ...string) string {
	return `"ack_policy":"explicit","metadata":{"runnel.dead_letter":"` + stream + `"` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// buried waits until a dead-letter stream has so many messages, and none of the consumer's wait to be handed over.
func (s *site) buried(stream string, messages int) {
	s.t.Helper()
	servertest.Eventually(s.t, fmt.Sprintf("%s has %d messages", stream, messages), func() bool {
		return s.state(stream).Messages == uint64(messages)
	})
}

// TestPatternDeadLetters gives messages up in every way: each is in the dead-letter stream once, with its subject, body and headers,
// and says why it is there.
func TestPatternDeadLetters(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"retention":"workqueue"`)
	s.refuses("CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"name":"c",`+dead("DEAD")+`}}`, 11010)
	s.refuses("CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"name":"c",`+dead("S")+`}}`, 10012)
	s.stream("DEAD", `"subjects":["dead"]`)
	s.consumer("S", "c", dead("DEAD")+`,"max_deliver":2,"ack_wait":60000000000`)
	s.stores(1, "s.a", "fails", "Nats-Msg-Id", "id", "My", "own")
	s.stores(2, "s.b", "is bad")
	s.stores(3, "s.c", "is done")
	for range 2 {
		for _, m := range s.rest("S", "c") {
			switch about := metadata(m); about.Sequence.Stream {
			case 1:
				s.acknowledge(m, "-NAK")
			case 2:
				s.acknowledge(m, "+TERM no such order\r\nX: y")
			default:
				s.acknowledge(m, "+ACK")
			}
		}
	}
	s.buried("DEAD", 2)
	s.holds("S", 0, 4, 3)
	for sequence := uint64(1); sequence <= 2; sequence++ {
		m := s.get("DEAD", fmt.Sprintf(`{"seq":%d}`, sequence))
		want := map[string]string{
			"Runnel-Dead-Stream": "S", "Runnel-Dead-Consumer": "c", "Runnel-Dead-Path": "S",
			"Runnel-Dead-Subject": m.Subject, "Runnel-Dead-Attempts": "1", "Runnel-Dead-Reason": "terminated",
			"Runnel-Dead-Error": "no such order  X: y", "Runnel-Dead-Sequence": "2",
		}
		if m.Subject == "s.a" {
			want["Runnel-Dead-Attempts"], want["Runnel-Dead-Reason"], want["Runnel-Dead-Sequence"] = "2", "max_deliver", "1"
			want["Runnel-Dead-Error"], want["My"], want["Nats-Msg-Id"] = "", "own", "id"
		}
		header := m.Headers
		for name, value := range want {
			if there := strings.Contains(header, "\r\n"+name+": "+value+"\r\n"); there != (value != "") {
				t.Errorf("message %d on %s: header %s should be %q in\n%s", sequence, m.Subject, name, value, header)
			}
		}
	}
}

// TestPatternDeadLetterFull has a dead-letter stream that takes one message only: what does not fit stays, and its consumer says
// why, over restarts, until there is room.
func TestPatternDeadLetterFull(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"max_msgs":3`)
	s.stream("DEAD", `"subjects":["dead"],"max_msgs":1,"discard":"new"`)
	s.consumer("S", "c", dead("DEAD"))
	s.many(3, func(int) string { return "s.a" })
	for _, m := range s.next("S", "c", 3) {
		s.acknowledge(m, "+TERM")
	}
	s.buried("DEAD", 1)
	stalled := func(want string) {
		t.Helper()
		var info struct {
			Stalled struct{ Reason, Detail string }
		}
		servertest.Eventually(t, "the consumer says "+want, func() bool {
			s.must("CONSUMER.INFO.S.c", "", &info)
			return info.Stalled.Reason == want
		})
		if want != "" && !strings.Contains(info.Stalled.Detail, "maximum messages exceeded") {
			t.Errorf("the consumer says %+v", info)
		}
	}
	stalled("dead_letter")
	s.many(5, func(int) string { return "s.b" }) // limits do not remove what is dead
	s.holds("S", 5, 2, 8)
	s.restart()
	stalled("dead_letter")
	s.must("STREAM.PURGE.DEAD", "", nil)
	servertest.Eventually(t, "S has 4 messages", func() bool { return s.state("S").Messages == 4 })
	s.must("STREAM.PURGE.DEAD", "", nil)
	servertest.Eventually(t, "S has 3 messages", func() bool { return s.state("S").Messages == 3 })
	s.holds("S", 3, 6, 8)
	if m := s.get("DEAD", `{"seq":3}`); !strings.Contains(m.Headers, "Runnel-Dead-Sequence: 3") {
		t.Errorf("the last one is %s", m.Headers)
	}
}

// TestPatternDeadLetterExpires lets messages get too old while a worker has them: they are dead letters then, and gone once they
// are handed over.
func TestPatternDeadLetterExpires(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"max_age":300000000`)
	s.stream("DEAD", `"subjects":["dead"]`)
	s.consumer("S", "c", dead("DEAD"))
	s.stores(1, "s.a", "x")
	m := s.next("S", "c", 1)[0]
	s.buried("DEAD", 1)
	if got := s.get("DEAD", `{"seq":1}`); !strings.Contains(got.Headers, "Runnel-Dead-Reason: expired") || got.Subject != "s.a" {
		t.Errorf("got %s", got.Headers)
	}
	servertest.Eventually(t, "S has 0 messages", func() bool { return s.state("S").Messages == 0 })
	s.acknowledge(m, "+ACK")
	wants(t, "delivered later", s.rest("S", "c"), []*nats.Msg(nil))
}

// TestPatternDeadLettersReplicas gives up messages of a stream whose leader dies meanwhile, and that of the dead-letter stream after
// it: each message is there once.
func TestPatternDeadLettersReplicas(t *testing.T) {
	cluster := servertest.StartCluster(t, 3, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()+"/"+servertest.ServerName))
	nc, err := nats.Connect(cluster.Servers[0].ClientURL()+","+cluster.Servers[1].ClientURL()+","+cluster.Servers[2].ClientURL(),
		nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*servertest.Patience)
	defer cancel()
	for _, cfg := range []jetstream.StreamConfig{
		{Name: "S", Subjects: []string{"s.>"}, Replicas: 3, Retention: jetstream.WorkQueuePolicy}, {Name: "DEAD", Subjects: []string{"dead"}, Replicas: 3},
	} {
		servertest.Eventually(t, "a stream with three replicas", func() bool {
			_, err := js.CreateStream(ctx, cfg)
			return err == nil
		})
	}
	_, err = js.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{
		Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second, Metadata: map[string]string{"runnel.dead_letter": "DEAD"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const messages = 300
	for i := range messages {
		if _, err := js.Publish(ctx, "s.a", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	given := 0
	for round := 0; ctx.Err() == nil; round++ {
		info, err := js.Stream(ctx, "S")
		if err == nil && round > 0 {
			if now := info.CachedInfo(); now.State.Msgs == 0 {
				break
			}
		}
		if kill := map[int]string{2: "S", 5: "DEAD"}[round]; kill != "" {
			restartLeader(ctx, t, cluster, js, kill)
		}
		consumer, err := js.Consumer(ctx, "S", "c")
		if err != nil {
			continue // nobody leads, or its server is away
		}
		batch, err := consumer.Fetch(40, jetstream.FetchMaxWait(500*time.Millisecond))
		if err != nil {
			continue
		}
		for m := range batch.Messages() {
			given++
			_ = m.TermWithReason("no") // if that is lost the message comes again
		}
	}
	seen := map[string]int{}
	servertest.Eventually(t, "all dead letters", func() bool {
		dead, err := js.Stream(ctx, "DEAD")
		return err == nil && dead.CachedInfo().State.Msgs >= messages
	})
	dead, err := js.OrderedConsumer(ctx, "DEAD", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := dead.Fetch(messages+50, jetstream.FetchMaxWait(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for m := range batch.Messages() {
		seen[m.Headers().Get("Runnel-Dead-Sequence")]++
	}
	for i := range messages {
		if n := seen[fmt.Sprint(i+1)]; n != 1 {
			t.Errorf("message %d is there %d times", i+1, n)
		}
	}
	if len(seen) != messages {
		t.Errorf("%d messages are dead letters, %d were given up %d times", len(seen), messages, given)
	}
}

// restartLeader stops the server that leads a stream, and starts it again once another one leads.
func restartLeader(ctx context.Context, t *testing.T, cluster *servertest.Cluster, js jetstream.JetStream, stream string) {
	t.Helper()
	leader := func() string {
		s, err := js.Stream(ctx, stream)
		if err != nil || s.CachedInfo().Cluster == nil {
			return ""
		}
		return s.CachedInfo().Cluster.Leader
	}
	var name string
	servertest.Eventually(t, stream+" has a leader", func() bool {
		name = leader()
		return name != ""
	})
	i := slices.IndexFunc(cluster.Servers, func(s *server.Server) bool { return s.Name() == name })
	cluster.Stop(i)
	servertest.Eventually(t, stream+" has another leader", func() bool {
		now := leader()
		return now != "" && now != name
	})
	cluster.Start(i)
}

// calls makes a call of our own, and reads the answer.
func (s *site) calls(subject, body string, into any) {
	s.t.Helper()
	m, err := s.conn.Request("$RUNNEL.API."+subject, []byte(body), servertest.Patience)
	if err != nil {
		s.t.Fatalf("%s: %v", subject, err)
	}
	if err := json.Unmarshal(m.Data, into); err != nil {
		s.t.Fatalf("%s: %v in %s", subject, err, m.Data)
	}
}

// TestPatternDeadLetterCalls lists dead-letter streams, looks into one, and throws some of it away.
func TestPatternDeadLetterCalls(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"]`)
	s.stream("DEAD", `"subjects":["dead"]`)
	s.consumer("S", "c", dead("DEAD"))
	s.many(6, func(i int) string { return fmt.Sprintf("s.%d", i%2) })
	for i, m := range s.next("S", "c", 5) {
		s.acknowledge(m, fmt.Sprintf("+TERM why %d", i))
	}
	s.buried("DEAD", 5)
	s.stores(6, "dead", "no dead letter")
	var list api.DeadListAnswer
	s.calls("DLQ.LIST", "", &list)
	if len(list.Streams) != 1 || list.Streams[0].Stream != "DEAD" || list.Streams[0].Messages != 6 || list.Streams[0].Waiting != 0 ||
		!slices.Equal(list.Streams[0].Consumers, []string{"S.c"}) || list.Streams[0].Oldest == nil {
		t.Errorf("the list is %+v", list.Streams)
	}
	var info api.DeadInfoAnswer
	s.calls("DLQ.INFO.DEAD", "", &info)
	if want := []api.DeadCount{{Stream: "S", Consumer: "c", Reason: "terminated", Messages: 5}}; !slices.Equal(info.Counts, want) || info.Partial {
		t.Errorf("the info is %+v", info)
	}
	get := func(body string) (sequences []uint64, next uint64) {
		t.Helper()
		var a api.DeadGetAnswer
		s.calls("DLQ.GET.DEAD", body, &a)
		for _, l := range a.Letters {
			sequences = append(sequences, l.Sequence)
		}
		return sequences, a.Next
	}
	for body, want := range map[string][]uint64{
		"": {1, 2, 3, 4, 5}, `{"limit":2}`: {1, 2}, `{"seq":3,"limit":2}`: {3, 4}, `{"filter":{"subject":"s.1"}}`: {2, 4},
		`{"filter":{"consumer":"d"}}`: nil, `{"filter":{"reason":"terminated","stream":"S"},"headers_only":true}`: {1, 2, 3, 4, 5},
	} {
		if got, next := get(body); !slices.Equal(got, want) || (next != 0) != strings.Contains(body, "limit") {
			t.Errorf("%s: got %v, next %d, want %v", body, got, next, want)
		}
	}
	discard := func(body string, want int, code config.Code) {
		t.Helper()
		var a api.DeadDiscardAnswer
		s.calls("DLQ.DISCARD.DEAD", body, &a)
		if a.Discarded != want || (a.Error != nil) != (code != 0) || code != 0 && a.Error.ErrCode != int(code) {
			t.Errorf("%s: got %+v, %v, want %d and error %d", body, a, a.Error, want, code)
		}
	}
	discard("", 0, api.DeadLetterUnknown)
	discard(`{"seq":6}`, 0, api.DeadLetterUnknown)
	discard(`{"seq":2}`, 1, 0)
	discard(`{"filter":{"subject":"s.0"},"dry_run":true}`, 3, 0)
	discard(`{"filter":{"subject":"s.0"}}`, 3, 0)
	discard(`{"all":true}`, 1, 0)
	s.holds("DEAD", 1, 6, 6)
}

// TestPatternDeadLetterFar throws letters away that stand far behind others: each call says where the next one goes on.
func TestPatternDeadLetterFar(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"]`)
	s.stream("DEAD", `"subjects":["dead"]`)
	s.consumer("S", "c", dead("DEAD"))
	const before = 10_100
	s.many(before, func(int) string { return "dead" })
	s.many(1, func(int) string { return "s.a" })
	s.acknowledge(s.next("S", "c", 1)[0], "+TERM")
	s.buried("DEAD", before+1)
	for _, dry := range []bool{true, false} {
		discarded, calls := 0, 0
		for from := uint64(0); calls == 0 || from != 0 && calls < 10; calls++ {
			var a api.DeadDiscardAnswer
			s.calls("DLQ.DISCARD.DEAD", fmt.Sprintf(`{"filter":{"stream":"S"},"from":%d,"dry_run":%v}`, from, dry), &a)
			if a.Error != nil || a.More != (a.Next != 0) {
				t.Fatalf("got %+v", a)
			}
			discarded, from = discarded+a.Discarded, a.Next
		}
		if discarded != 1 || calls != 2 {
			t.Errorf("dry %v: %d discarded by %d calls, want 1 by 2", dry, discarded, calls)
		}
	}
	s.holds("DEAD", before, 1, before+1)
}

// TestPatternDeadLetterCircle refuses consumers whose dead letters would come back, over however many streams; what does not is taken.
func TestPatternDeadLetterCircle(t *testing.T) {
	s := newSite(t, "")
	for _, name := range []string{"A", "B", "C", "D"} {
		s.stream(name, `"subjects":["`+name+`"]`)
	}
	s.consumer("A", "a", dead("B"))
	s.consumer("B", "b", dead("C"))
	refused := func(stream, target string) {
		t.Helper()
		s.refuses("CONSUMER.CREATE."+stream+".x", `{"stream_name":"`+stream+`","config":{"name":"x",`+dead(target)+`}}`, 11010)
	}
	refused("B", "A")
	refused("C", "A")
	refused("C", "B")
	s.consumer("D", "d", dead("B"))
	refused("C", "D")
	s.consumer("A", "a", dead("B")) // as it is
	s.consumer("B", "b", dead("C"))
	s.must("CONSUMER.DELETE.B.b", "", nil)
	s.consumer("C", "x", dead("A")) // which is no circle any more
	refused("B", "C")
}
