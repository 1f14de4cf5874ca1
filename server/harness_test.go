package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/conf"
	"runnel/server"
	"runnel/server/servertest"
)

// login is the CONNECT of an ordinary client with these members besides.
func login(members string) string {
	if members != "" {
		members += ","
	}
	return `CONNECT {` + members + `"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1}` + "\r\n"
}

// user is login by name and password.
func user(name, password string) string {
	return login(fmt.Sprintf(`"user":%q,"pass":%q`, name, password))
}

// dialAs connects a raw client as a user.
func dialAs(t testing.TB, s *server.Server, name, password string) *servertest.Client {
	t.Helper()
	c := servertest.Dial(t, s)
	c.Send(user(name, password))
	c.Flush()
	return c
}

// get asks a monitoring page and returns the status and the body.
func get(t testing.TB, s *server.Server, path string) (status int, body string) {
	t.Helper()
	r, err := http.Get(s.Ports().Monitoring[0] + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

// page asks a monitoring page and decodes it.
func page[T any](t testing.TB, s *server.Server, path string) T {
	t.Helper()
	var v T
	status, body := get(t, s, path)
	if status != http.StatusOK {
		t.Fatalf("GET %s: status %d: %s", path, status, body)
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, body)
	}
	return v
}

// connz is what the tests look at in /connz.
type connz struct {
	NumConnections int `json:"num_connections"`
	Total, Offset  int
	Limit          int
	Connections    []struct {
		CID           uint64
		Kind, Type    string
		IP            string
		Port          int
		Name, Lang    string
		User          string `json:"authorized_user"`
		Account       string
		Reason        string
		InMsgs        int64    `json:"in_msgs"`
		OutMsgs       int64    `json:"out_msgs"`
		Subscriptions int      `json:"subscriptions"`
		List          []string `json:"subscriptions_list"`
		TLSVersion    string   `json:"tls_version"`
		TLSFirst      bool     `json:"tls_first"`
	}
}

// closedReasons waits until n connections have ended and returns why, the last one first.
func closedReasons(t testing.TB, s *server.Server, n int) []string {
	t.Helper()
	var z connz
	servertest.Eventually(t, fmt.Sprintf("%d closed connections", n), func() bool {
		z = page[connz](t, s, "/connz?state=closed&sort=cid")
		return len(z.Connections) >= n
	})
	var reasons []string
	for _, c := range z.Connections {
		reasons = append([]string{c.Reason}, reasons...)
	}
	return reasons
}

// reload parses config and applies it; it must be accepted.
func reload(t testing.TB, s *server.Server, config string) []conf.Change {
	t.Helper()
	changes, err := s.Reload(servertest.Options(t, config))
	if err != nil {
		t.Fatalf("reload: %v", err)
	}
	return changes
}

// writeConfig writes a config file and returns its options.
func writeConfig(t testing.TB, config string) (file string, o *conf.Options) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "server.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := conf.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, o
}

// request asks a service and returns the answer.
func request(t testing.TB, nc *nats.Conn, subject, body string) string {
	t.Helper()
	m, err := nc.Request(subject, []byte(body), servertest.Patience)
	if err != nil {
		t.Fatalf("request %s: %v", subject, err)
	}
	return string(m.Data)
}

// next is the next message of a subscription.
func next(t testing.TB, sub *nats.Subscription) *nats.Msg {
	t.Helper()
	m, err := sub.NextMsg(servertest.Patience)
	if err != nil {
		t.Fatalf("no message on %s: %v", sub.Subject, err)
	}
	return m
}

// mustContain checks that text has all parts.
func mustContain(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s is %.600q, want %q in it", what, text, p)
		}
	}
}
