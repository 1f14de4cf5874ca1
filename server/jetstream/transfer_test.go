package jetstream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/jetstream/backup"
	"runnel/server/servertest"
)

// taken is a backup as a client has it.
type taken struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
	Error  *struct {
		Code int    `json:"err_code"`
		Text string `json:"description"`
	} `json:"error"`
	data   []byte
	chunks int
	header nats.Header // of the end
}

// request asks the API, and fails the test without an answer.
func request(t testing.TB, nc *nats.Conn, subject, body string, into any) {
	t.Helper()
	m, err := nc.Request("$JS.API."+subject, []byte(body), 10*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	if err := json.Unmarshal(m.Data, into); err != nil {
		t.Fatalf("%s: %v: %s", subject, err, m.Data)
	}
}

// backUp takes a backup; more are members of the request.
func backUp(t testing.TB, nc *nats.Conn, stream, more string) *taken {
	t.Helper()
	to := nats.NewInbox()
	sub, err := nc.SubscribeSync(to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	b := &taken{}
	request(t, nc, "STREAM.SNAPSHOT."+stream, fmt.Sprintf(`{"deliver_subject":%q%s}`, to, more), b)
	for b.Error == nil {
		m, err := sub.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatalf("chunk %d: %v", b.chunks, err)
		}
		if len(m.Data) == 0 {
			b.header = m.Header
			return b
		}
		b.chunks++
		b.data = append(b.data, m.Data...)
		if m.Reply != "" {
			if err := m.Respond(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// restored is an answer to a restore.
type restored struct {
	Type    string `json:"type"`
	Deliver string `json:"deliver_subject"`
	Config  struct {
		Name     string            `json:"name"`
		Metadata map[string]string `json:"metadata"`
	} `json:"config"`
	State struct {
		Messages uint64 `json:"messages"`
		First    uint64 `json:"first_seq"`
		Last     uint64 `json:"last_seq"`
	} `json:"state"`
	DidCreate *bool `json:"did_create"`
	Error     *struct {
		Code int    `json:"err_code"`
		Text string `json:"description"`
	} `json:"error"`
}

func (r *restored) code() int {
	if r.Error == nil {
		return 0
	}
	return r.Error.Code
}

// begin asks for a restore.
func begin(t testing.TB, nc *nats.Conn, stream, config, state string) *restored {
	t.Helper()
	r := &restored{}
	request(t, nc, "STREAM.RESTORE."+stream, fmt.Sprintf(`{"config":%s,"state":%s}`, config, state), r)
	return r
}

// send sends chunks of a size, and the end; the answer is the last, or the first that refuses.
func send(t testing.TB, nc *nats.Conn, to string, data []byte, size int) *restored {
	t.Helper()
	for {
		n := min(size, len(data))
		m, err := nc.Request(to, data[:n], 15*time.Second)
		if err != nil {
			t.Fatalf("chunk: %v", err)
		}
		if len(m.Data) > 0 {
			r := &restored{}
			if err := json.Unmarshal(m.Data, r); err != nil {
				t.Fatalf("%v: %s", err, m.Data)
			}
			return r
		}
		if n == 0 {
			t.Fatal("the end was answered with nothing")
		}
		data = data[n:]
	}
}

// putBack restores a backup, and fails the test if that fails.
func putBack(t testing.TB, nc *nats.Conn, stream string, b *taken) *restored {
	t.Helper()
	r := begin(t, nc, stream, string(b.Config), string(b.State))
	if r.Error != nil {
		t.Fatalf("restore: %+v", r.Error)
	}
	r = send(t, nc, r.Deliver, b.data, 1000)
	if r.Error != nil {
		t.Fatalf("restore: %+v", r.Error)
	}
	return r
}

// contents is a backup in pieces that can be compared.
func contents(t testing.TB, data []byte) (state backup.State, consumers map[string]string, messages []string) {
	t.Helper()
	in, err := backup.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	consumers = make(map[string]string)
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return state, consumers, messages
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.State != nil:
			state = *e.State
		case e.Consumer != nil:
			consumers[e.Consumer.Config.Name] = described(t, e.Consumer)
		default:
			m := e.Message
			messages = append(messages, fmt.Sprintf("%d %d %s %q %q", m.Sequence, m.Time, m.Subject, m.Header, m.Payload))
		}
	}
}

// described is a consumer without what a restore may change: when a delivery was.
func described(t testing.TB, c *backup.Consumer) string {
	t.Helper()
	for seq, p := range c.State.Pending {
		p.Timestamp = 0
		c.State.Pending[seq] = p
	}
	cfg, err := json.Marshal(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %+v", cfg, c.State)
}

// same compares two backups.
func same(t testing.TB, got, want []byte) {
	t.Helper()
	s1, c1, m1 := contents(t, got)
	s2, c2, m2 := contents(t, want)
	if !reflect.DeepEqual(s1, s2) {
		t.Errorf("state: got %+v\nwant %+v", s1, s2)
	}
	if !reflect.DeepEqual(c1, c2) {
		t.Errorf("consumers: got %q\nwant %q", c1, c2)
	}
	if !reflect.DeepEqual(m1, m2) {
		t.Errorf("messages: got %q\nwant %q", m1, m2)
	}
}

// goldenConfigs has configurations for the backups of nats-server, which are not part of them, by what their names
// contain.
var goldenConfigs = map[string]string{
	"consumers":   `{"name":"G","subjects":["t1.>"],"retention":"limits","storage":"file","num_replicas":1}`,
	"last-values": `{"name":"G","subjects":["k.>"],"retention":"limits","storage":"memory","num_replicas":1,"max_msgs_per_subject":1}`,
	"workqueue":   `{"name":"G","subjects":["wq.>"],"retention":"workqueue","storage":"file","num_replicas":1}`,
	"purged":      `{"name":"G","subjects":["p.>"],"retention":"limits","storage":"file","num_replicas":1}`,
	"redelivered": `{"name":"G","subjects":["o.>"],"retention":"limits","storage":"file","num_replicas":1}`,
}

// TestRestoreOfOthers restores the backups that nats-server has made, and compares a backup of what has come of each.
func TestRestoreOfOthers(t *testing.T) {
	files, err := filepath.Glob("backup/testdata/*.s2")
	if err != nil || len(files) == 0 {
		t.Fatalf("no backups: %v", err)
	}
	nc := start(t, "")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for part, config := range goldenConfigs {
				if strings.Contains(file, part) {
					putBack(t, nc, "G", &taken{Config: json.RawMessage(config), State: json.RawMessage("{}"), data: data})
				}
			}
			defer request(t, nc, "STREAM.DELETE.G", "", &restored{})
			compareGolden(t, backUp(t, nc, "G", "").data, data)
		})
	}
}

// compareGolden compares messages and the progress of consumers; their configurations have what is usual here.
func compareGolden(t *testing.T, got, want []byte) {
	t.Helper()
	s1, c1, m1 := contents(t, got)
	s2, c2, m2 := contents(t, want)
	if !reflect.DeepEqual(m1, m2) {
		t.Errorf("messages: got %q\nwant %q", m1, m2)
	}
	if s1.FirstSequence != s2.FirstSequence || s1.LastSequence != s2.LastSequence || s1.Messages != s2.Messages || s1.Consumers != s2.Consumers {
		t.Errorf("state: got %+v\nwant %+v", s1, s2)
	}
	for name := range c2 {
		got, want := c1[name], c2[name]
		if got[strings.Index(got, "} {")+1:] != want[strings.Index(want, "} {")+1:] {
			t.Errorf("consumer %q: got %s\nwant %s", name, got, want)
		}
	}
}

// check fails the test with an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill creates a stream and publishes to it: with headers, ids, a TTL, and gaps.
func fill(t *testing.T, nc *nats.Conn, config string) {
	t.Helper()
	var made restored
	request(t, nc, "STREAM.CREATE.S", config, &made)
	if made.Error != nil {
		t.Fatalf("create: %+v", made.Error)
	}
	js, err := nc.JetStream()
	check(t, err)
	random := rand.NewChaCha8([32]byte{})
	for i := range 40 {
		m := nats.NewMsg(fmt.Sprintf("s.%d", i%7))
		m.Data = make([]byte, i*20)
		_, _ = random.Read(m.Data) // cannot fail
		if i%3 == 0 {
			m.Header.Set("Nats-Msg-Id", fmt.Sprint("id ", i))
			m.Header.Add("X-Two", "a")
			m.Header.Add("X-Two", "b")
		}
		_, err := js.PublishMsg(m)
		check(t, err)
	}
}

// busy makes consumers that are in the middle of something.
func busy(t *testing.T, nc *nats.Conn, filters ...string) {
	t.Helper()
	js, err := nc.JetStream()
	check(t, err)
	for i, filter := range filters {
		name := fmt.Sprint("c", i)
		_, err := js.AddConsumer("S", &nats.ConsumerConfig{
			Durable: name, FilterSubject: filter, AckPolicy: nats.AckExplicitPolicy, AckWait: time.Hour, MaxDeliver: 3,
		})
		check(t, err)
		sub, err := js.PullSubscribe(filter, name, nats.Bind("S", name))
		check(t, err)
		messages, err := sub.Fetch(5, nats.MaxWait(5*time.Second))
		check(t, err)
		for k, m := range messages {
			switch k {
			case 1, 3:
				check(t, m.AckSync())
			case 2:
				check(t, m.Nak())
			}
		}
		again, err := sub.Fetch(1, nats.MaxWait(5*time.Second))
		check(t, err)
		if len(again) != 1 {
			t.Fatalf("got %d messages again", len(again))
		}
	}
}

// kinds are streams of all kinds, by their configuration.
var kinds = []struct {
	name, config string
	consumers    []string // filters of consumers that are made before anything is published
	gaps         bool     // messages are deleted in the middle
}{
	{"file", `{"name":"S","subjects":["s.>"],"retention":"limits","storage":"file"}`, []string{"s.1", "s.>"}, true},
	{"memory", `{"name":"S","subjects":["s.>"],"retention":"limits","storage":"memory"}`, []string{"s.>"}, true},
	{"work queue", `{"name":"S","subjects":["s.>"],"retention":"workqueue","storage":"file"}`, []string{"s.1", "s.2"}, false},
	{"interest", `{"name":"S","subjects":["s.>"],"retention":"interest","storage":"file"}`, []string{"s.1", "s.*"}, false},
	{"last values", `{"name":"S","subjects":["s.>"],"max_msgs_per_subject":1,"storage":"file","allow_rollup_hdrs":true,"discard":"new"}`, []string{"s.>"}, false},
	{"limits", `{"name":"S","subjects":["s.>"],"max_msgs":30,"max_bytes":1000000,"max_age":3600000000000,"storage":"file"}`, nil, true},
	{"with a first sequence", `{"name":"S","subjects":["s.>"],"first_seq":1000,"storage":"file","compression":"s2"}`, []string{"s.3"}, true},
	{"republished and rewritten", `{"name":"S","subjects":["s.>"],"storage":"file","republish":{"src":">","dest":"again.>"},"deny_delete":true,"deny_purge":true}`, nil, false},
}

// TestThereAndBack backs streams up, deletes and restores them, and sees that a second backup is the same.
func TestThereAndBack(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			nc := start(t, "")
			if kind.name == "interest" {
				var made restored
				request(t, nc, "STREAM.CREATE.S", kind.config, &made)
				request(t, nc, "CONSUMER.CREATE.S.all", `{"stream_name":"S","config":{"name":"all","durable_name":"all","ack_policy":"explicit"}}`, &made)
			}
			fill(t, nc, kind.config)
			busy(t, nc, kind.consumers...)
			if kind.gaps {
				for _, seq := range []int{12, 1011} {
					var gone restored
					request(t, nc, "STREAM.MSG.DELETE.S", fmt.Sprintf(`{"seq":%d}`, seq), &gone)
				}
			}
			first := backUp(t, nc, "S", "")
			if first.Error != nil {
				t.Fatalf("backup: %+v", first.Error)
			}
			var gone restored
			request(t, nc, "STREAM.DELETE.S", "", &gone)
			made, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.STREAM.CREATED.S")
			check(t, err)
			answer := putBack(t, nc, "S", first)
			if _, err := made.NextMsg(5 * time.Second); err != nil {
				t.Errorf("no advisory about the stream: %v", err)
			}
			if answer.DidCreate != nil || answer.Config.Name != "S" || !strings.HasSuffix(answer.Type, "stream_create_response") {
				t.Errorf("got the answer %+v", answer)
			}
			second := backUp(t, nc, "S", "")
			same(t, second.data, first.data)
			if !bytes.Equal(second.Config, first.Config) {
				t.Errorf("configuration: got %s\nwant %s", second.Config, first.Config)
			}
			goesOn(t, nc, answer.State.Last+1)
			js, err := nc.JetStream()
			check(t, err)
			again, err := js.Publish("s.new", []byte("new"), nats.MsgId("id 39"))
			if err != nil || !again.Duplicate {
				t.Errorf("an id from before was not found out: %+v, %v", again, err)
			}
		})
	}
}

// goesOn sees that the restored stream takes messages.
func goesOn(t *testing.T, nc *nats.Conn, seq uint64) {
	t.Helper()
	js, err := nc.JetStream()
	check(t, err)
	ack, err := js.Publish("s.new", []byte("new"))
	if err != nil || ack.Sequence != seq {
		t.Errorf("published: %+v, %v, want sequence %d", ack, err, seq)
	}
}

// TestBackupIsSentInChunks sees how chunks are cut and acknowledged, and how a backup ends.
func TestBackupIsSentInChunks(t *testing.T) {
	nc := start(t, "")
	fill(t, nc, kinds[0].config)
	for _, tt := range []struct {
		name, more string
		many       bool
	}{
		{"as usual", "", false},
		{"small", `,"chunk_size":1024,"window_size":1024`, true},
		{"too small", `,"chunk_size":-5,"window_size":1`, false},
		{"checked", `,"chunk_size":2000,"jsck":true,"no_consumers":true`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := backUp(t, nc, "S", tt.more)
			if many := b.chunks > 1; many != tt.many {
				t.Errorf("got %d chunks", b.chunks)
			}
			if ended := b.header.Get("Status") == "204"; ended != tt.many {
				t.Errorf("ends with %v", b.header)
			}
			if _, _, messages := contents(t, b.data); len(messages) != 40 {
				t.Errorf("got %d messages", len(messages))
			}
		})
	}
}

// TestRefusedBackups asks for what cannot be.
func TestRefusedBackups(t *testing.T) {
	nc := start(t, "")
	fill(t, nc, kinds[0].config)
	for body, code := range map[string]int{
		"": 10003, "{}": 10003, `{"deliver_subject":""}`: 10003, `{"deliver_subject":"a b"}`: 10015, `{"deliver_subject":"a.>"}`: 10015,
		`{"deliver_subject":"a","chunk_size":1.5}`: 10025, `{"deliver_subject":"a","x":1}`: 10025, `{"no_consumers":true}`: 10015,
	} {
		var b taken
		request(t, nc, "STREAM.SNAPSHOT.S", body, &b)
		if b.Error == nil || b.Error.Code != code {
			t.Errorf("%s: got %+v, want %d", body, b.Error, code)
		}
	}
	var b taken
	request(t, nc, "STREAM.SNAPSHOT.NONE", `{"deliver_subject":"a"}`, &b)
	if b.Error == nil || b.Error.Code != 10059 {
		t.Errorf("got %+v", b.Error)
	}
}

// TestBackupOfABusyStream takes backups while messages come, go and are acknowledged: each is of one moment, as far as
// its consumers say, and restores.
func TestBackupOfABusyStream(t *testing.T) {
	nc := start(t, "")
	fill(t, nc, kinds[2].config) // a work queue
	busy(t, nc, "s.1", "s.2")
	js, err := nc.JetStream()
	check(t, err)
	sub, err := js.PullSubscribe("s.1", "c0", nats.Bind("S", "c0"))
	check(t, err)
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := js.Publish(fmt.Sprintf("s.%d", i%3), make([]byte, 500)); err != nil {
				done <- err
				return
			}
			messages, err := sub.Fetch(1, nats.MaxWait(5*time.Second))
			for _, m := range messages {
				err = errors.Join(err, m.AckSync())
			}
			if err != nil && !errors.Is(err, nats.ErrTimeout) {
				done <- err
				return
			}
		}
	}()
	for n := range 5 {
		b := backUp(t, nc, "S", `,"chunk_size":1024,"window_size":2048`)
		copied := fmt.Sprintf(`{"name":"COPY%d","subjects":["copy.%d"],"retention":"workqueue"}`, n, n)
		r := begin(t, nc, fmt.Sprint("COPY", n), copied, "{}")
		if r = send(t, nc, r.Deliver, b.data, 3000); r.Error != nil {
			t.Fatalf("restore: %+v", r.Error)
		}
		state, _, _ := contents(t, b.data)
		if r.State.Last != state.LastSequence {
			t.Errorf("restored up to %d, want %d", r.State.Last, state.LastSequence)
		}
	}
	close(stop)
	check(t, <-done)
}

// TestMirrorAndSwitch lets a mirror take a stream's place, as docs/migrate.md says.
func TestMirrorAndSwitch(t *testing.T) {
	nc := start(t, "")
	fill(t, nc, kinds[0].config)
	var answer restored
	request(t, nc, "STREAM.CREATE.NEW", `{"name":"NEW","mirror":{"name":"S"}}`, &answer)
	if answer.Error != nil {
		t.Fatalf("mirror: %+v", answer.Error)
	}
	servertest.Eventually(t, "the mirror has everything", func() bool {
		request(t, nc, "STREAM.INFO.NEW", "", &answer)
		return answer.State.Last == 40
	})
	request(t, nc, "STREAM.DELETE.S", "", &answer)
	request(t, nc, "STREAM.UPDATE.NEW", `{"name":"NEW","subjects":["s.>"]}`, &answer)
	if answer.Error != nil {
		t.Fatalf("promote: %+v", answer.Error)
	}
	goesOn(t, nc, 41)
	request(t, nc, "STREAM.INFO.NEW", "", &answer)
	if answer.State.Messages != 41 || answer.State.First != 1 {
		t.Errorf("got %+v", answer.State)
	}
}
