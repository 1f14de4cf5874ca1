package jetstream_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

var (
	update = flag.Bool("update", false, "write what the server answers into the scenarios")
	url    = flag.String("url", "", "play the scenarios against this server, which must be empty, instead of one of our own")
)

// TestScenarios plays testdata/*.txt against a server. A line that begins with a verb is an action, the lines behind
// it, up to an empty line, are what comes of it:
//
//	req SUBJECT [BODY]        a request, and its answer
//	reqs N SUBJECT [BODY]     a request, and N answers to it
//	pub SUBJECT [Name: value; ...] [BODY]   a publish with headers that is acknowledged
//	send SUBJECT [BODY]       a publish that nobody answers
//	sub SUBJECT               a subscription, whose messages `got` shows
//	got N                     the next N messages of all subscriptions
//	ack KIND                  answers the last message that came, and waits for the answer to that
//
// What differs from run to run is replaced: times, the server's name, ids.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { play(t, file) })
	}
}

// start runs a server with JetStream.
func start(t *testing.T, more string) *nats.Conn {
	t.Helper()
	if *url != "" {
		nc, err := nats.Connect(*url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	s := servertest.Start(t, fmt.Sprintf("server_name: scenario\njetstream { store_dir: %q, sync: os }\n%s", t.TempDir(), more))
	return servertest.Connect(t, s)
}

func play(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, conn: start(t, ""), messages: make(chan *nats.Msg, 1000)}
	var out bytes.Buffer
	for block := range strings.SplitSeq(strings.TrimRight(string(text), "\n"), "\n\n") {
		for line := range strings.SplitSeq(block, "\n") {
			verb, rest, _ := strings.Cut(line, " ")
			switch {
			case line == "" || line[0] == '#':
				fmt.Fprintln(&out, line)
			case slices.Contains(verbs, verb):
				fmt.Fprintln(&out, line)
				out.WriteString(p.do(verb, rest))
			}
		}
		fmt.Fprintln(&out)
	}
	got := bytes.TrimRight(out.Bytes(), "\n")
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	compare(t, string(text), string(got))
}

// compare names the first line that differs, with the action before it.
func compare(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	action := ""
	for i := range max(len(w), len(g)) {
		var x, y string
		if i < len(w) {
			x = w[i]
		}
		if i < len(g) {
			y = g[i]
		}
		if verb, _, _ := strings.Cut(x, " "); slices.Contains(verbs, verb) {
			action = x
		}
		if x != y {
			t.Fatalf("line %d, after %q:\ngot  %s\nwant %s", i+1, action, y, x)
		}
	}
}

var verbs = []string{"req", "reqs", "pub", "send", "sub", "got", "ack"}

// player plays one scenario.
type player struct {
	t        *testing.T
	conn     *nats.Conn
	messages chan *nats.Msg
	last     *nats.Msg
}

func (p *player) do(verb, rest string) string {
	first, more, _ := strings.Cut(rest, " ")
	switch verb {
	case "req":
		return p.request(1, first, nil, more)
	case "reqs":
		n, err := strconv.Atoi(first)
		if err != nil {
			p.t.Fatalf("reqs %s: %v", rest, err)
		}
		subject, body, _ := strings.Cut(more, " ")
		return p.request(n, subject, nil, body)
	case "pub":
		header, body := headerOf(more)
		return p.request(1, first, header, body)
	case "send":
		p.check(p.conn.Publish(first, []byte(more)))
		p.check(p.conn.Flush())
	case "sub":
		_, err := p.conn.ChanSubscribe(first, p.messages)
		p.check(err)
		p.check(p.conn.Flush())
	case "got":
		n, err := strconv.Atoi(first)
		p.check(err)
		var out strings.Builder
		for range n {
			out.WriteString(p.receive())
		}
		return out.String()
	case "ack":
		m, err := p.conn.Request(p.last.Reply, []byte(rest), servertest.Patience)
		p.check(err)
		return show(m)
	}
	return ""
}

func (p *player) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// headerOf reads `[Name: value; Name: value] body`.
func headerOf(s string) (nats.Header, string) {
	if !strings.HasPrefix(s, "[") {
		return nil, s
	}
	block, body, _ := strings.Cut(s[1:], "]")
	h := nats.Header{}
	for field := range strings.SplitSeq(block, "; ") {
		name, value, _ := strings.Cut(field, ": ")
		h[name] = []string{value}
	}
	return h, strings.TrimPrefix(body, " ")
}

// request sends a request and shows n answers.
func (p *player) request(n int, subject string, header nats.Header, body string) string {
	p.t.Helper()
	inbox := p.conn.NewInbox()
	sub, err := p.conn.SubscribeSync(inbox)
	p.check(err)
	defer func() { _ = sub.Unsubscribe() }()
	p.check(p.conn.PublishMsg(&nats.Msg{Subject: subject, Reply: inbox, Header: header, Data: []byte(body)}))
	var out strings.Builder
	for range n {
		m, err := sub.NextMsg(servertest.Patience)
		if errors.Is(err, nats.ErrNoResponders) {
			return "  no responders\n"
		}
		if err != nil {
			p.t.Fatalf("%s: %v; so far:\n%s", subject, err, out.String())
		}
		if m.Reply != "" {
			p.last = m
		}
		m.Subject = strings.Replace(m.Subject, inbox, "", 1)
		out.WriteString(show(m))
	}
	return out.String()
}

func (p *player) receive() string {
	p.t.Helper()
	select {
	case m := <-p.messages:
		if m.Reply != "" {
			p.last = m
		}
		return show(m)
	case <-time.After(servertest.Patience):
		p.t.Fatal("no message came")
	}
	return ""
}

// show is a message as scenarios have it.
func show(m *nats.Msg) string {
	var out strings.Builder
	if m.Subject != "" && !strings.HasPrefix(m.Subject, "_INBOX.") {
		fmt.Fprintf(&out, "  %s %s\n", m.Subject, m.Reply)
	}
	names := make([]string, 0, len(m.Header))
	for name := range m.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range m.Header[name] {
			fmt.Fprintf(&out, "  %s: %s\n", name, value)
		}
	}
	fmt.Fprintf(&out, "  %s\n", m.Data)
	return steady(out.String())
}

// replacements are of what differs from run to run.
var replacements = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`"(ack_time|active|pause_remaining|age)":\d+`), `"$1":<duration>`},
	{regexp.MustCompile(`(\$JS\.ACK\.[^.]+\.[^.]+\.\d+\.\d+\.\d+)\.\d{19}\.`), "$1.<time>."},
	{regexp.MustCompile(`"id":"[A-Za-z0-9]{22}"`), `"id":"<id>"`},
	{regexp.MustCompile(`,"served_per_second":[\d.e+-]+`), ""},        // lately, whenever that was
	{regexp.MustCompile(`,"stalled":\{"reason":"no_requests"\}`), ""}, // there may have been no turn to see it
	{regexp.MustCompile(`"<time>","ts":"<time>"`), `"<time>","ts":"<time>"`},
}

func steady(s string) string {
	for _, r := range replacements {
		s = r.pattern.ReplaceAllString(s, r.with)
	}
	return strings.ReplaceAll(s, "0001-01-01T00:00:00Z", "<never>")
}
