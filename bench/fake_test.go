package bench_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestMain lets the test binary serve as the server that StartServer starts:
// called as "fake-server PORT" it runs the fake, as "fake-server PORT FOLDER" with
// JetStream and only if the folder is empty, as "fake-tenants PORT" it refuses its first client and has the
// accounts of tenants, as "fake-exit" it fails.
func TestMain(m *testing.M) {
	if len(os.Args) >= 3 && strings.HasPrefix(os.Args[1], "fake-") {
		f := &fake{}
		if os.Args[1] == "fake-tenants" {
			f.tenants, f.refuse = true, refuseFirst
		}
		if len(os.Args) == 4 {
			f.streams = &fakeStreams{}
			occupy(os.Args[3])
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		f.serve(listener)
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "fake-exit" {
		fmt.Fprintln(os.Stderr, "this server does not feel like it")
		os.Exit(7)
	}
	os.Exit(m.Run())
}

// refuseFirst refuses the first client.
func refuseFirst(n int) string {
	if n == 1 {
		return "Authorization Violation"
	}
	return ""
}

// occupy makes a file in a folder that must be empty.
func occupy(folder string) {
	entries, err := os.ReadDir(folder)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty", folder)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "data"), nil, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(7)
	}
}

// message is what the fake routes.
type message struct {
	subject, reply string
	header         int // bytes of data that are the header block
	data           []byte
}

// fault turns the nth message published on a subject of the bench (counted from
// 1) into those that are routed in its place.
type fault func(n int, m message) []message

// fake is the smallest server that nats.go and the scenarios are content with:
// literal and wildcard subscriptions, queue groups, headers. It mistreats
// messages as its fault says.
type fake struct {
	fault      fault
	maxPayload int
	noService  bool // answers every request with "no responders"
	tls        *tls.Config
	tlsFirst   bool              // handshake before INFO
	refuse     func(int) string  // the -ERR for connection number n, counted from 1; empty for none
	denied     map[string]string // the -ERR for a command, in place of doing it
	streams    *fakeStreams      // JetStream, nil without it
	tenants    bool              // bench.> arrives as imported.>

	mu    sync.Mutex // guards what follows, and all writing
	count int
	turn  int // which queue member is next
	subs  []*fakeSub
	conns []net.Conn
	hello []map[string]any // what each client said in CONNECT
	// behind is delivered at the next PING of a subscriber, before the PONG: as
	// if it had waited in the queue of that connection until then.
	behind []message
}

type fakeSub struct {
	out                 *bufio.Writer
	sid, pattern, queue string
}

// startFake runs a fake until the test ends and returns its URL.
func startFake(t *testing.T, f *fake) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		f.serve(listener)
		close(done)
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
		f.cutAll()
	})
	return "nats://" + listener.Addr().String()
}

func (f *fake) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns = append(f.conns, conn)
		f.mu.Unlock()
		go f.handle(conn)
	}
}

// cutAll closes all connections.
func (f *fake) cutAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range f.conns {
		conn.Close()
	}
}

func (f *fake) handle(conn net.Conn) {
	defer conn.Close()
	if f.tls != nil && f.tlsFirst {
		conn = tls.Server(conn, f.tls)
	}
	fmt.Fprintf(conn, "INFO %s\r\n", f.info())
	if f.tls != nil && !f.tlsFirst {
		conn = tls.Server(conn, f.tls)
	}
	in, out := bufio.NewReaderSize(conn, 64<<10), bufio.NewWriter(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			f.drop(out)
			return
		}
		words := strings.Fields(line)
		if text, ok := strings.CutPrefix(line, "CONNECT "); ok {
			words = []string{"CONNECT", text}
		}
		if err := f.command(words, in, out); err != nil {
			return
		}
	}
}

func (f *fake) info() []byte {
	limit := f.maxPayload
	if limit == 0 {
		limit = 1 << 20
	}
	info, _ := json.Marshal(map[string]any{
		"server_id": "FAKE", "server_name": "fake", "version": "2.10.0", "proto": 1, "nonce": "once",
		"headers": true, "max_payload": limit, "tls_required": f.tls != nil,
	})
	return info
}

// drop removes the subscriptions of a connection.
func (f *fake) drop(out *bufio.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var kept []*fakeSub
	for _, sub := range f.subs {
		if sub.out != out {
			kept = append(kept, sub)
		}
	}
	f.subs = kept
}

func (f *fake) command(words []string, in *bufio.Reader, out *bufio.Writer) error {
	if len(words) == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if text := f.denied[words[0]]; text != "" {
		fmt.Fprintf(out, "-ERR '%s'\r\n", text)
		return out.Flush()
	}
	switch words[0] {
	case "CONNECT":
		return f.welcome(words[1], out)
	case "PING":
		if slices.ContainsFunc(f.subs, func(s *fakeSub) bool { return s.out == out }) {
			for _, m := range f.behind {
				f.route(m)
			}
			f.behind = nil
		}
		io.WriteString(out, "PONG\r\n")
		return out.Flush()
	case "SUB":
		sub := &fakeSub{out: out, pattern: words[1], sid: words[len(words)-1]}
		if len(words) == 4 {
			sub.queue = words[2]
		}
		f.subs = append(f.subs, sub)
	case "PUB", "HPUB":
		return f.publish(words, in)
	}
	return nil
}

// welcome keeps what a client says of itself, or refuses it.
func (f *fake) welcome(text string, out *bufio.Writer) error {
	var hello map[string]any
	if err := json.Unmarshal([]byte(text), &hello); err != nil {
		return err
	}
	f.hello = append(f.hello, hello)
	if f.refuse == nil {
		return nil
	}
	if refusal := f.refuse(len(f.hello)); refusal != "" {
		fmt.Fprintf(out, "-ERR '%s'\r\n", refusal)
		out.Flush()
		return io.EOF
	}
	return nil
}

// publish reads the body of a PUB or HPUB and routes the message.
func (f *fake) publish(words []string, in *bufio.Reader) error {
	var m message
	size, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return err
	}
	args := words[1 : len(words)-1]
	if words[0] == "HPUB" {
		if m.header, err = strconv.Atoi(args[len(args)-1]); err != nil {
			return err
		}
		args = args[:len(args)-1]
	}
	m.subject = args[0]
	if len(args) == 2 {
		m.reply = args[1]
	}
	m.data = make([]byte, size+2)
	if _, err := io.ReadFull(in, m.data); err != nil {
		return err
	}
	m.data = m.data[:size]
	if f.streams != nil && f.streams.handle(f, m) {
		return nil
	}
	if m.reply != "" && f.noService {
		status := "NATS/1.0 503\r\n\r\n"
		f.route(message{subject: m.reply, header: len(status), data: []byte(status)})
		return nil
	}
	if rest, ok := strings.CutPrefix(m.subject, "bench."); ok && f.tenants {
		m.subject = "imported." + rest
	}
	if f.fault == nil || !strings.HasPrefix(m.subject, "bench") && !f.tenants {
		f.route(m)
		return nil
	}
	f.count++
	for _, altered := range f.fault(f.count, m) {
		f.route(altered)
	}
	return nil
}

// route delivers a message to all that match, and to one of each queue group.
func (f *fake) route(m message) {
	groups := make(map[string][]*fakeSub)
	for _, sub := range f.subs {
		switch {
		case !matches(sub.pattern, m.subject):
		case sub.queue == "":
			sub.deliver(m)
		default:
			groups[sub.queue] = append(groups[sub.queue], sub)
		}
	}
	for _, members := range groups {
		f.turn++
		members[f.turn%len(members)].deliver(m)
	}
}

func (s *fakeSub) deliver(m message) {
	reply := ""
	if m.reply != "" {
		reply = m.reply + " "
	}
	if m.header > 0 {
		fmt.Fprintf(s.out, "HMSG %s %s %s%d %d\r\n%s\r\n", m.subject, s.sid, reply, m.header, len(m.data), m.data)
	} else {
		fmt.Fprintf(s.out, "MSG %s %s %s%d\r\n%s\r\n", m.subject, s.sid, reply, len(m.data), m.data)
	}
	s.out.Flush()
}

// matches tells whether a pattern matches a subject.
func matches(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range p {
		if token == ">" {
			return len(s) > i
		}
		if i >= len(s) || token != "*" && token != s[i] {
			return false
		}
	}
	return len(p) == len(s)
}
