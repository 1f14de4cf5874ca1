package jetstream_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/servertest"
)

// noStream fails the test if there is a stream of the name, or the name is kept.
func noStream(t *testing.T, nc *nats.Conn, name string) {
	t.Helper()
	var info restored
	request(t, nc, "STREAM.INFO."+name, "", &info)
	if info.code() != 10059 {
		t.Errorf("stream %s: got %+v, want 10059", name, info.Error)
	}
	servertest.Eventually(t, "the name is free", func() bool {
		var made restored
		request(t, nc, "STREAM.CREATE."+name, fmt.Sprintf(`{"name":%q,"subjects":["free"]}`, name), &made)
		if made.Error == nil {
			request(t, nc, "STREAM.DELETE."+name, "", &made)
		}
		return made.Error == nil
	})
}

// TestRefusedRestores asks for what cannot be.
func TestRefusedRestores(t *testing.T) {
	nc := start(t, "")
	fill(t, nc, kinds[0].config)
	for _, tt := range []struct {
		stream, config string
		code           int
	}{
		{"R", `{}`, 10003},
		{"R", `{"name":"Q"}`, 10056},
		{"S", `{"name":"S","subjects":["q"]}`, 10130},
		{"R", `{"name":"R","subjects":["s.1"]}`, 10065},
		{"R", `{"name":"R","num_replicas":3}`, 10074},
		{"R", `{"name":"R","x":1}`, 10025},
		{"R", `{"name":"R","max_age":-7}`, 10052},
	} {
		if r := begin(t, nc, tt.stream, tt.config, "{}"); r.code() != tt.code {
			t.Errorf("%s %s: got %+v, want %d", tt.stream, tt.config, r.Error, tt.code)
		}
	}
	var r restored
	request(t, nc, "STREAM.RESTORE.R", "", &r)
	if r.code() != 10003 {
		t.Errorf("without a body: got %+v", r.Error)
	}
}

// TestFailedRestores sends what is no backup, or none for this stream: nothing stays of it.
func TestFailedRestores(t *testing.T) {
	nc := start(t, "")
	fill(t, nc, kinds[0].config)
	busy(t, nc, "s.1", "s.2")
	whole := backUp(t, nc, "S", "")
	alone := backUp(t, nc, "S", `,"no_consumers":true`)
	old, err := os.ReadFile("backup/testdata/2.14-consumers.tar.s2")
	check(t, err)
	changed := append([]byte(nil), whole.data...)
	changed[len(changed)/2] ^= 0x20
	for _, tt := range []struct {
		name, config string
		data         []byte
		size         int
		code         int
		text         string
	}{
		{"nothing", `{"name":"R"}`, nil, 100, 10062, "not a backup"},
		{"something else", `{"name":"R"}`, []byte(strings.Repeat("hello", 500)), 100, 10062, ""},
		{"one byte changed", `{"name":"R"}`, changed, 500, 10062, "backup"},
		{"not whole", `{"name":"R"}`, whole.data[:len(whole.data)/2], 500, 10062, "backup"},
		{"the end is missing", `{"name":"R"}`, whole.data[:len(whole.data)-3], 500, 10062, "backup"},
		{"old and not whole", `{"name":"R"}`, old[:len(old)-40], 300, 10062, "backup"},
		{"too many consumers", `{"name":"R","max_consumers":1}`, whole.data, 500, 10026, ""},
		{"a consumer that does not fit", `{"name":"R","retention":"workqueue"}`, whole.data, 500, 0, ""},
		{"interest without consumers", `{"name":"R","retention":"interest"}`, alone.data, 500, 10062, "no consumers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := begin(t, nc, "R", tt.config, "{}")
			if r.Error != nil {
				t.Fatalf("got %+v", r.Error)
			}
			var other restored
			request(t, nc, "STREAM.CREATE.R", `{"name":"R","subjects":["r"]}`, &other)
			if other.Error == nil {
				t.Error("the name of a stream that is being restored was given away")
			}
			noInfo(t, nc)
			r = send(t, nc, r.Deliver, tt.data, tt.size)
			if r.code() != tt.code || r.Error != nil && !strings.Contains(r.Error.Text, tt.text) {
				t.Fatalf("got %+v, want %d %q", r.Error, tt.code, tt.text)
			}
			if r.Error == nil {
				request(t, nc, "STREAM.DELETE.R", "", r)
			}
			noStream(t, nc, "R")
		})
	}
}

// noInfo sees that a half restored stream is nowhere to be seen.
func noInfo(t *testing.T, nc *nats.Conn) {
	t.Helper()
	var names struct{ Streams []string }
	request(t, nc, "STREAM.NAMES", "", &names)
	if len(names.Streams) != 1 {
		t.Errorf("got the streams %v", names.Streams)
	}
}

// TestRestoreBeyondLimits restores into an account that has not enough room.
func TestRestoreBeyondLimits(t *testing.T) {
	dir := t.TempDir()
	s := servertest.Start(t, fmt.Sprintf(`
		jetstream { store_dir: %q, sync: os }
		accounts {
			BIG { users: [{user: big, password: p}], jetstream: enabled }
			SMALL { users: [{user: small, password: p}], jetstream { max_file: 5K, max_mem: 0, max_streams: 3, max_consumers: 1 } }
		}`, dir))
	big := servertest.Connect(t, s, nats.UserInfo("big", "p"))
	fill(t, big, kinds[0].config)
	b := backUp(t, big, "S", "")
	small := servertest.Connect(t, s, nats.UserInfo("small", "p"))
	r := begin(t, small, "S", string(b.Config), string(b.State))
	if r = send(t, small, r.Deliver, b.data, 700); r.code() != 10002 {
		t.Errorf("got %+v, want 10002", r.Error)
	}
	noStream(t, small, "S")
}

// TestHalfAStreamGoes begins with a store in which a restore had not come to its end.
func TestHalfAStreamGoes(t *testing.T) {
	dir := t.TempDir()
	opened, _, err := store.Open(store.Config{Dir: filepath.Join(dir, "runnel")})
	check(t, err)
	for name, metadata := range map[string]map[string]string{"HALF": {"_runnel.restoring": "true"}, "WHOLE": {}} {
		_, err := opened.Create("$G", config.Stream{Name: name, Subjects: []string{name}, MaxMessages: -1, MaxBytes: -1, Metadata: metadata})
		check(t, err)
	}
	check(t, opened.Close())
	check(t, os.MkdirAll(filepath.Join(dir, "runnel-spool"), 0o750))
	left := filepath.Join(dir, "runnel-spool", "restore-123")
	check(t, os.WriteFile(left, []byte("x"), 0o600))

	nc := servertest.Connect(t, servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q }", dir)))
	var names struct{ Streams []string }
	request(t, nc, "STREAM.NAMES", "", &names)
	if len(names.Streams) != 1 || names.Streams[0] != "WHOLE" {
		t.Errorf("got the streams %v", names.Streams)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the file of a former restore: %v", err)
	}
	var made restored
	request(t, nc, "STREAM.CREATE.M", `{"name":"M","metadata":{"_runnel.restoring":"true","a":"b"}}`, &made)
	if m := made.Config.Metadata; m["_runnel.restoring"] != "" || m["a"] != "b" {
		t.Errorf("clients can mark a stream: %v", m)
	}
}

// TestServerEndsDuringTransfers sees that neither a backup nor a restore holds up the end of the server.
func TestServerEndsDuringTransfers(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q, sync: os }", t.TempDir()))
	nc := servertest.Connect(t, s)
	fill(t, nc, kinds[0].config)
	sub, err := nc.SubscribeSync("chunks")
	check(t, err)
	var b taken
	request(t, nc, "STREAM.SNAPSHOT.S", `{"deliver_subject":"chunks","chunk_size":1024,"window_size":1024}`, &b)
	if _, err := sub.NextMsg(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	if r := begin(t, nc, "R", `{"name":"R"}`, "{}"); r.Error != nil {
		t.Fatalf("got %+v", r.Error)
	}
}

// TestTransfersThatStall waits for what does not come: acknowledgements, a listener, chunks. What is heard of it are
// the status, and the advisories.
func TestTransfersThatStall(t *testing.T) {
	nc := start(t, "")
	fill(t, nc, kinds[0].config)
	events, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.STREAM.*.*")
	check(t, err)
	chunks, err := nc.SubscribeSync("chunks")
	check(t, err)
	check(t, nc.Flush())
	var b taken
	request(t, nc, "STREAM.SNAPSHOT.S", `{"deliver_subject":"chunks","chunk_size":1024,"window_size":2048}`, &b)
	request(t, nc, "STREAM.SNAPSHOT.S", `{"deliver_subject":"nobody"}`, &b)
	if r := begin(t, nc, "R", `{"name":"R"}`, "{}"); r.Error != nil {
		t.Fatalf("got %+v", r.Error)
	}
	for {
		m, err := chunks.NextMsg(20 * time.Second)
		check(t, err)
		if len(m.Data) == 0 {
			if status := m.Header.Get("Status") + " " + m.Header.Get("Description"); status != "408 No Flow Response" {
				t.Errorf("ends with %q", status)
			}
			break
		}
	}
	ends := map[string]int{}
	for ends["snapshot_complete"] < 2 || ends["restore_complete"] < 1 {
		m, err := events.NextMsg(20 * time.Second)
		check(t, err)
		var event struct {
			Type   string         `json:"type"`
			Error  string         `json:"error"`
			Client map[string]any `json:"client"`
		}
		check(t, json.Unmarshal(m.Data, &event))
		kind := event.Type[strings.LastIndex(event.Type, ".")+1:]
		if strings.HasSuffix(kind, "complete") && event.Error == "" || event.Client["acc"] != "$G" {
			t.Errorf("got %s", m.Data)
		}
		ends[kind]++
	}
	if ends["snapshot_create"] != 2 || ends["restore_create"] != 1 {
		t.Errorf("got %v", ends)
	}
	noStream(t, nc, "R")
}

// TestServerDiesDuringARestore takes the disk as it is in the middle of a restore, and starts a server on that.
func TestServerDiesDuringARestore(t *testing.T) {
	dir := t.TempDir()
	nc := servertest.Connect(t, servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q, sync: os }", dir)))
	fill(t, nc, kinds[0].config)
	b := backUp(t, nc, "S", "")
	r := begin(t, nc, "R", `{"name":"R","subjects":["r"]}`, "{}")
	m, err := nc.Request(r.Deliver, b.data, 10*time.Second) // all but the end
	check(t, err)
	if len(m.Data) > 0 {
		t.Fatalf("got %s", m.Data)
	}
	var after string
	servertest.Eventually(t, "the disk has a stream R", func() bool {
		after = filepath.Join(t.TempDir(), "after")
		if err := os.CopyFS(after, os.DirFS(dir)); err != nil {
			return false // a file has got another name meanwhile
		}
		s, _, err := store.Open(store.Config{Dir: filepath.Join(after, "runnel")})
		if err != nil {
			return false // the copy is of no moment
		}
		defer func() { check(t, s.Close()) }()
		return s.Stream("$G", "R") != nil
	})
	again := servertest.Connect(t, servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q }", after)))
	noStream(t, again, "R")
	var info restored
	request(t, again, "STREAM.INFO.S", "", &info)
	if info.State.Messages != 40 {
		t.Errorf("got %+v", info)
	}
}
