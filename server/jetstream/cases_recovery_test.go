package jetstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/jetlog/store"
	"runnel/server"
	"runnel/server/servertest"
)

// killed goes on with what the disk has while the server runs, which is what a killed one leaves.
func (s *site) killed() {
	s.t.Helper()
	after := copied(s.t, s.dir)
	s.stop()
	s.config = strings.ReplaceAll(s.config, s.dir, after)
	s.dir = after
	s.open()
}

// whole is all that the info of a stream has which must not change while nobody changes the stream.
func (s *site) whole(stream string) string {
	s.t.Helper()
	var a struct {
		Created string
		Config  json.RawMessage
		State   json.RawMessage
	}
	s.must("STREAM.INFO."+stream, `{"deleted_details":true,"subjects_filter":">"}`, &a)
	return fmt.Sprintf("created %s\nconfig  %s\nstate   %s", a.Created, a.Config, a.State)
}

// TestCaseC077 restarts a server: sequences, times and holes of its streams are as before.
func TestCaseC077(t *testing.T) {
	s := newSite(t, "")
	s.stream("F", `"subjects":["f"],"first_seq":10000`)
	s.stores(10000, "f", "x")
	s.stream("EMPTY", `"subjects":["e"],"first_seq":10000`)
	s.stream("PURGED", `"subjects":["p"],"first_seq":500`)
	s.stream("HOLES", `"subjects":["h.*"],"max_msgs_per_subject":5`)
	for n := range uint64(20) {
		s.stores(500+n, "p", "x")
		s.stores(n+1, fmt.Sprint("h.", n%3), "x", "Nats-Msg-Id", fmt.Sprint(n))
	}
	s.must("STREAM.PURGE.PURGED", "", nil)
	for _, n := range []int{9, 13, 14, 20} {
		s.must("STREAM.MSG.DELETE.HOLES", fmt.Sprintf(`{"seq":%d}`, n), nil)
	}
	s.stream("WORK", `"subjects":["w"],"retention":"workqueue"`)
	s.consumer("WORK", "c", "")
	for n := range uint64(5) {
		s.stores(n+1, "w", "x")
	}
	for i, m := range s.next("WORK", "c", 4) {
		if i%2 == 0 {
			s.acknowledge(m, "+ACK")
		}
	}
	names := []string{"F", "EMPTY", "PURGED", "HOLES", "WORK"}
	want := map[string]string{}
	for _, name := range names {
		want[name] = s.whole(name)
	}
	consumer := s.consumerState("WORK", "c")
	for _, how := range []string{"restarted", "killed", "killed again", "restarted again"} {
		if strings.HasPrefix(how, "killed") {
			s.killed()
		} else {
			s.restart()
		}
		for _, name := range names {
			if got := s.whole(name); got != want[name] {
				t.Errorf("%s, %s:\ngot  %s\nwant %s", how, name, got, want[name])
			}
		}
		s.holds("F", 1, 10000, 10000)
		wants(t, how+": the consumer", s.consumerState("WORK", "c"), consumer)
	}
	s.stores(10001, "f", "x")
	s.stores(10000, "e", "x")
	s.stores(520, "p", "x")
	s.stores(21, "h.1", "x")
	s.stores(6, "w", "x")
}

// TestCaseC082 publishes once more what was acknowledged, after the server has come back.
func TestCaseC082(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"allow_atomic":true`)
	s.stream("W", `"subjects":["w"],"retention":"workqueue"`)
	s.stores(1, "s.a", "x", "Nats-Msg-Id", "id1")
	s.batch("s.b", "b", 1, "", "Nats-Msg-Id", "id2")
	s.batch("s.c", "b", 2, "1", "Nats-Msg-Id", "id3")
	s.must("STREAM.MSG.DELETE.S", `{"seq":1}`, nil)
	s.stores(1, "w", "x", "Nats-Msg-Id", "id1")
	s.consumer("W", "c", "")
	s.acknowledge(s.next("W", "c", 1)[0], "+ACK")
	for _, again := range []func(){s.restart, s.killed, s.restart} {
		again()
		for i, id := range []string{"id1", "id2", "id3"} {
			if a := s.publish("s.z", "y", "Nats-Msg-Id", id); !a.Duplicate || a.Sequence != uint64(i+1) {
				t.Errorf("%s: got %v, want a duplicate of %d", id, a, i+1)
			}
		}
		if a := s.publish("w", "y", "Nats-Msg-Id", "id1"); !a.Duplicate || a.Sequence != 1 {
			t.Errorf("what was worked off: got %v, want a duplicate of 1", a)
		}
		s.holds("S", 2, 2, 3)
		s.holds("W", 0, 2, 1)
	}
	s.stores(4, "s.z", "y", "Nats-Msg-Id", "id4")
}

// TestCaseC084 has several clients create the same at once, with different and with equal configurations.
func TestCaseC084(t *testing.T) {
	const clients = 6
	s := newSite(t, "")
	s.stream("ON", `"subjects":["on"]`)
	var conns [clients]*nats.Conn
	for i := range conns {
		conns[i] = servertest.Connect(t, s.server)
	}
	// together sends a request of each client at once, and counts the codes of the answers. Who succeeds must
	// find what was made.
	together := func(subject, info string, body func(i int) string) map[int]int {
		t.Helper()
		var mu sync.Mutex
		codes := map[int]int{}
		var all sync.WaitGroup
		for i, nc := range conns {
			all.Go(func() {
				code, err := codeOf(nc, subject, body(i))
				if err == nil && code == 0 {
					if found, err := codeOf(nc, info, ""); found != 0 || err != nil {
						t.Errorf("%s right after it was created: got error %d, %v", info, found, err)
					}
				}
				if err != nil {
					t.Errorf("%s: %v", subject, err)
				}
				mu.Lock()
				defer mu.Unlock()
				codes[code]++
			})
		}
		all.Wait()
		return codes
	}
	for round := range 20 {
		name := fmt.Sprint("P", round)
		stream := func(same int) func(int) string {
			return func(i int) string { return streamBody(name, fmt.Sprintf(`"max_msgs":%d`, 100+i*same)) }
		}
		wants(t, "different streams", together("STREAM.CREATE."+name, "STREAM.INFO."+name, stream(1)), map[int]int{0: 1, 10058: clients - 1})
		s.must("STREAM.DELETE."+name, "", nil)
		wants(t, "equal streams", together("STREAM.CREATE."+name, "STREAM.INFO."+name, stream(0)), map[int]int{0: clients})
		consumer := func(same int) func(int) string {
			return func(i int) string {
				return consumerBody("ON", name, "create", fmt.Sprintf(`"ack_policy":"explicit","max_deliver":%d`, 5+i*same))
			}
		}
		wants(t, "different consumers", together("CONSUMER.CREATE.ON."+name, "CONSUMER.INFO.ON."+name, consumer(1)), map[int]int{0: 1, 10148: clients - 1})
		s.must("CONSUMER.DELETE.ON."+name, "", nil)
		wants(t, "equal consumers", together("CONSUMER.CREATE.ON."+name, "CONSUMER.INFO.ON."+name, consumer(0)), map[int]int{0: clients})
	}
	s.restart()
	var names struct{ Total int }
	s.must("STREAM.NAMES", "", &names)
	if names.Total != 21 {
		t.Errorf("%d streams, want 21", names.Total)
	}
}

// TestCaseC084Subjects has several clients create streams with the same subject: one gets it.
func TestCaseC084Subjects(t *testing.T) {
	const clients = 6
	s := newSite(t, "")
	var mu sync.Mutex
	codes := map[int]int{}
	var all sync.WaitGroup
	for i := range clients {
		nc := servertest.Connect(t, s.server)
		all.Go(func() {
			name := fmt.Sprint("S", i)
			code, err := codeOf(nc, "STREAM.CREATE."+name, streamBody(name, `"subjects":["a.*"]`))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			codes[code]++
		})
	}
	all.Wait()
	wants(t, "streams of one subject", codes, map[int]int{0: 1, 10065: clients - 1})
	s.publish("a.b", "x")
}

// codeOf sends a request below $JS.API and returns the code of its error.
func codeOf(nc *nats.Conn, subject, body string) (int, error) {
	m, err := nc.Request("$JS.API."+subject, []byte(body), servertest.Patience)
	if err != nil {
		return 0, err
	}
	var a struct {
		Error struct {
			Code int `json:"err_code"`
		}
	}
	return a.Error.Code, json.Unmarshal(m.Data, &a)
}

// TestCaseC080 takes away, damages and replaces by an older one every file of a store in turn: the stream is as
// before, or something says that it is not.
func TestCaseC080(t *testing.T) {
	if testing.Short() {
		t.Skip("many files")
	}
	dir := t.TempDir()
	at := func(dir string) *site {
		return &site{t: t, dir: dir, config: fmt.Sprintf("http_port: -1\njetstream { store_dir: %q, sync: os }", dir)}
	}
	s := at(dir)
	s.open()
	s.stream("S", `"subjects":["s.>"]`)
	for n := range uint64(50) {
		s.stores(n+1, fmt.Sprint("s.", n%5), strings.Repeat("x", 1000), "Nats-Msg-Id", fmt.Sprint(n))
	}
	for n := 10; n < 15; n++ {
		s.must("STREAM.MSG.DELETE.S", fmt.Sprintf(`{"seq":%d}`, n), nil)
	}
	s.stop()
	flush(t, filepath.Join(dir, "runnel"))
	older := copied(t, dir)
	s.open()
	for n := uint64(50); n < 60; n++ {
		s.stores(n+1, fmt.Sprint("s.", n%5), "x")
	}
	s.must("STREAM.MSG.DELETE.S", `{"seq":20}`, nil)
	want := s.whole("S")
	killed := copied(t, dir)
	s.stop()

	for _, damage := range damages(t, killed, older) {
		t.Run(damage.name, func(t *testing.T) {
			s := at(copied(t, killed))
			s.t = t
			if err := damage.do(s.dir); err != nil {
				t.Fatal(err)
			}
			got, told := s.look()
			if got != want && told == "" {
				t.Errorf("nothing tells of it:\ngot  %s\nwant %s", got, want)
			}
			t.Logf("as before: %v, told: %.300s", got == want, told)
		})
	}
}

// damage is something that happens to a file.
type damage struct {
	name string
	do   func(dir string) error
}

// damages are all that may happen to the files of a store.
func damages(t *testing.T, killed, older string) (list []damage) {
	t.Helper()
	err := filepath.WalkDir(killed, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" || d.Name() == "reserve" {
			return err
		}
		name, err := filepath.Rel(killed, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		used := len(strings.TrimRight(string(data), "\x00"))
		// Without its log, or with an older one, a store does not know what was acknowledged last, and nothing else does.
		isLog := filepath.Ext(name) == ".wal"
		if !isLog || used < 1000 {
			list = append(list, damage{"remove " + name, func(dir string) error { return os.Remove(filepath.Join(dir, name)) }})
		}
		for _, at := range []int{0, used / 2, used - 1} {
			if at >= 0 {
				list = append(list, damage{fmt.Sprintf("flip %s %d", name, at), func(dir string) error {
					flipped := bytes.Clone(data)
					flipped[at] ^= 4
					return os.WriteFile(filepath.Join(dir, name), flipped, 0o600)
				}})
			}
		}
		if old, err := os.ReadFile(filepath.Join(older, name)); err == nil && !isLog {
			list = append(list, damage{"older " + name, func(dir string) error {
				return os.WriteFile(filepath.Join(dir, name), old, 0o600)
			}})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// look opens a server on a store that may be damaged, and returns the state of stream S and what tells that
// something is wrong.
func (s *site) look() (state, told string) {
	s.t.Helper()
	o := servertest.Options(s.t, s.config)
	var log lines
	srv, err := server.Open(o, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		return "", err.Error()
	}
	defer func() {
		ctx, cancel := context.WithTimeout(s.t.Context(), servertest.Patience)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			s.t.Errorf("shut down: %v", err)
		}
	}()
	s.server = srv
	s.conn = servertest.Connect(s.t, srv)
	defer s.conn.Close()
	r := s.ask("STREAM.INFO.S", "")
	if r.code == 0 {
		state = s.whole("S")
	} else {
		told = r.text
	}
	if health, err := http.Get(srv.Ports().Monitoring[0] + "/healthz"); err == nil {
		if health.StatusCode != http.StatusOK {
			told += " " + health.Status
		}
		_ = health.Body.Close()
	}
	for line := range strings.SplitSeq(log.String(), "\n") {
		// What nobody was promised to be safe is cut off without a warning, but not without a word.
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") || strings.Contains(line, "was cut off") {
			told += " " + line
		}
	}
	return state, told
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// copied copies a folder that a server may use. What is in the making may be gone before it is read.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "store")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) == ".tmp" {
			return ignoreGone(err)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(filepath.Join(to, name), 0o700))
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return ignoreGone(err)
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// flush has a store write what it has in memory to files.
func flush(t *testing.T, dir string) {
	t.Helper()
	s, _, err := store.Open(store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCaseC091 looks what an acknowledgement waits for, unless somebody wishes otherwise. That it does, and that many
// share one sync, is tested where it is done, in jetlog/store and jetlog/wal.
func TestCaseC091(t *testing.T) {
	for words, want := range map[string]string{"": "always", ", sync: always": "always", ", sync_interval: always": "always", ", sync: os": "os", ", sync: \"interval=100ms\"": "interval=100ms"} {
		s := servertest.Start(t, fmt.Sprintf("http_port: -1\njetstream { store_dir: %q%s }", t.TempDir(), words))
		var page struct{ Config struct{ Sync string } }
		if err := json.Unmarshal(fetch(t, s, "/jsz?config=1"), &page); err != nil || page.Config.Sync != want {
			t.Errorf("%q: acknowledgements wait for %q, %v, want %q", words, page.Config.Sync, err, want)
		}
	}
	s := newSite(t, "")
	s.config = strings.Replace(s.config, ", sync: os", "", 1)
	s.restart()
	s.stream("S", `"subjects":["s"]`)
	s.many(2000, func(int) string { return "s" })
	s.killed()
	s.holds("S", 2000, 1, 2000)
}

// fetch reads a monitoring page.
func fetch(t *testing.T, s *server.Server, path string) []byte {
	t.Helper()
	r, err := http.Get(s.Ports().Monitoring[0] + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("GET %s: %s, %v: %.200s", path, r.Status, err, text)
	}
	return text
}

// TestCaseC015 asks pages for numbers at the edge of what there is.
func TestCaseC015(t *testing.T) {
	s := newSite(t, "http_port: -1")
	sub := s.subscribe("foo.*")
	for _, name := range []string{"A", "B"} {
		s.stream(name, `"subjects":["`+name+`"]`)
		s.consumer(name, "c", "")
	}
	const most = "9223372036854775807"
	pages := map[string]string{ // and the list that must be empty
		"/connz?offset=%d&limit=1":                     "connections",
		"/connz?offset=%d&limit=%d":                    "connections",
		"/connz?subs=1&state=any&offset=%d&limit=%d":   "connections",
		"/subsz?subs=1&offset=%d&limit=1":              "subscriptions_list",
		"/subsz?subs=1&offset=%d&limit=%d":             "subscriptions_list",
		"/jsz?accounts=1&offset=%d&limit=%d":           "account_details",
		"/jsz?streams=1&consumers=1&offset=%d&limit=1": "account_details",
	}
	for page, list := range pages {
		var answer map[string]any
		if err := json.Unmarshal(fetch(t, s.server, strings.ReplaceAll(page, "%d", most)), &answer); err != nil {
			t.Errorf("%s: %v", page, err)
		}
		if items, _ := answer[list].([]any); len(items) != 0 {
			t.Errorf("%s: %d %s, want none", page, len(items), list)
		}
	}
	for _, page := range []string{"/connz?limit=" + most, "/subsz?subs=1&limit=" + most, "/jsz?accounts=1&streams=1&limit=" + most} {
		fetch(t, s.server, page)
	}
	// The same in requests: beyond the end there is nothing.
	for _, call := range []string{"STREAM.NAMES", "STREAM.LIST", "CONSUMER.NAMES.A", "CONSUMER.LIST.A"} {
		var answer struct {
			Total, Offset      int
			Streams, Consumers []any
		}
		s.must(call, `{"offset":`+most+`}`, &answer)
		if len(answer.Streams)+len(answer.Consumers) != 0 || answer.Total == 0 || answer.Offset != answer.Total {
			t.Errorf("%s: got %+v, want nothing at the end", call, answer)
		}
		if r := s.ask(call, `{"offset":-1}`); r.code == 0 && !strings.Contains(string(r.raw), `"offset":0`) {
			t.Errorf("%s before the beginning: got %s", call, r.raw)
		}
	}
	s.must("STREAM.INFO.A", `{"subjects_filter":">","offset":`+most+`}`, nil)
	fetch(t, s.server, "/varz")
	if !sub.IsValid() {
		t.Error("the client is not connected any more")
	}
}
