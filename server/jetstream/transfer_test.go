package jetstream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/jetstream/backup"
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

// same compares two backups. What was written last may be another time when that message has gone.
func same(t testing.TB, got, want []byte) {
	t.Helper()
	s1, c1, m1 := contents(t, got)
	s2, c2, m2 := contents(t, want)
	s1.LastTime, s2.LastTime = time.Time{}, time.Time{}
	if s1 != s2 {
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
