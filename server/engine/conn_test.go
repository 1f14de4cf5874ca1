package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/wire"
)

// journal is a log handler that keeps what is logged.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "cid" && a.Key != "client" {
			line += " " + a.Key + "=" + a.Value.String()
		}
		return true
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
	return nil
}

// take returns what was logged since the last call.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// TestTrace: each operation is logged, secrets are not, and long messages only as far as wanted.
func TestTrace(t *testing.T) {
	const header = "NATS/1.0\r\nA: b\r\n\r\n"
	tests := []struct {
		name, send string
		change     func(*engine.Settings)
		want       []string
	}{
		{"subscribe", "SUB a.* q 1\r\nUNSUB 1 5\r\nUNSUB 1\r\nPONG\r\n", nil, []string{
			"<<- [SUB a.* q 1]", "<<- [UNSUB 1 5]", "<<- [UNSUB 1]", "<<- [PONG]",
		}},
		{"publish", "SUB a 1\r\nPUB a 5\r\nhello\r\n", nil, []string{
			"<<- [SUB a 1]", "<<- [PUB a 5]", `<<- MSG_PAYLOAD: "hello"`, "->> [MSG a 1 5]",
		}},
		{"reply", "PUB b r 2\r\n\"\n\r\n", nil, []string{"<<- [PUB b r 2]", `<<- MSG_PAYLOAD: "\"\n"`}},
		{
			"cut", "PUB b 5\r\nhello\r\n", func(s *engine.Settings) { s.MaxTracedBytes = 3 },
			[]string{"<<- [PUB b 5]", `<<- MSG_PAYLOAD: "hel"...`},
		},
		{"headers", fmt.Sprintf("HPUB b %d %d\r\n%shi\r\n", len(header), len(header)+2, header), nil, []string{
			"<<- [HPUB b 18 20]", `<<- MSG_PAYLOAD: "NATS/1.0\r\nA: b\r\n\r\nhi"`,
		}},
		{
			"headers only", fmt.Sprintf("HPUB b %d %d\r\n%shi\r\n", len(header), len(header)+2, header),
			func(s *engine.Settings) { s.TraceHeaders = true },
			[]string{"<<- [HPUB b 18 20]", `<<- MSG_PAYLOAD: "NATS/1.0\r\nA: b\r\n\r\n"`},
		},
		{"secrets", `CONNECT {"user":"u","pass":"hunter2","auth_token":"hunter2","verbose":false,"headers":true}` + "\r\n", nil, []string{"<<- [CONNECT]"}},
	}
	both(t, func(t *testing.T, pollers int) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) {
					s.Trace = true
					if tt.change != nil {
						tt.change(s)
					}
				})
				c := h.connect()
				h.journal.take()
				c.send("%sPING\r\n", tt.send)
				for c.line() != "PONG" {
					continue
				}
				want := append(tt.want, "<<- [PING]")
				if got := h.journal.take(); strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		}
	})
}

// TestNoSecretsInLog: not even of a CONNECT that cannot be read.
func TestNoSecretsInLog(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{Username: "u", Password: "p"}, func(s *engine.Settings) { s.Trace = true })
		for _, text := range []string{
			`CONNECT {"user":"u","pass":"hunter2"}`, `CONNECT {"user":"u","pass":hunter2}`, `CONNECT hunter2`, `CONNECT {"pass":["hunter2"]}`,
			`CONNECT {"user":"u","pass":"p","verbose":"hunter2"}`,
		} {
			c := h.dial()
			c.send("%s\r\n", text)
			h.waitClosed()
			if got := strings.Join(h.journal.take(), "\n"); strings.Contains(got, "hunter2") || got == "" {
				t.Errorf("%s: logged %q", text, got)
			}
		}
	})
}

// TestViolationsAreLogged: who tried what is in the log, in one line, whatever the client sent.
func TestViolationsAreLogged(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, users(), nil)
		c := h.login("alice")
		h.journal.take()
		c.send("%sSUB secret 1\r\nSUB foo.secret q 2\r\n", pub("baz", ""))
		c.expect(publishViolation("baz"), subscribeViolation("secret"), `-ERR 'Permissions Violation for Subscription to "foo.secret" using queue "q"'`)
		c.flush()
		want := []string{
			"permissions violation user=alice attempt=Publish to subject=baz",
			"permissions violation user=alice attempt=Subscription to subject=secret queue=",
			"permissions violation user=alice attempt=Subscription to subject=foo.secret queue=q",
		}
		if got := h.journal.take(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestConnectInfo: a client that takes INFO at any time gets one with its first PONG, and no other does.
func TestConnectInfo(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		old, modern := h.dial(), h.dial()
		old.send(`CONNECT {"verbose":false,"protocol":0}` + "\r\n")
		old.flush()
		old.flush()
		modern.send(`CONNECT {"verbose":false,"protocol":1,"name":"n","lang":"go","version":"1.2"}` + "\r\n")
		modern.flush()
		text, ok := strings.CutPrefix(modern.line(), "INFO ")
		var info wire.Info
		if err := json.Unmarshal([]byte(text), &info); !ok || err != nil || !info.ConnectInfo || info.ClientID != modern.id {
			t.Errorf("got %q, %v, want an INFO that says so", text, err)
		}
		modern.flush()
		if h.served(old).TakesInfo() || !h.served(modern).TakesInfo() {
			t.Error("protocol 0 takes INFO, or protocol 1 does not")
		}
		if got := h.served(modern).Client(); got != (engine.Client{Name: "n", Lang: "go", Version: "1.2"}) {
			t.Errorf("client = %+v", got)
		}
		silent := h.dial()
		silent.send("PING\r\n")
		silent.expect("PONG")
		if h.served(silent).Connected() || !h.served(modern).Connected() {
			t.Error("who sent no CONNECT is connected, or who did is not")
		}
	})
}

// TestFacts: what is known of a connection.
func TestFacts(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		before := time.Now()
		c := h.connect()
		served := h.served(c)
		if m := served.Meta(); m.IP != "127.0.0.1" || m.Start.Before(before.Add(-time.Minute)) {
			t.Errorf("meta = %+v", m)
		}
		if got := served.LastActivity(); got.Before(before.Add(-time.Minute)) || got.After(time.Now().Add(time.Minute)) {
			t.Errorf("last activity %v, connected %v", got, before)
		}
		c.send("SUB a 1\r\nSUB b q 2\r\n")
		c.flush()
		got := map[string]string{}
		for _, s := range served.Subscriptions() {
			got[s.SID] = s.Subject + " " + s.Queue
		}
		if served.SubscriptionCount() != 2 || len(got) != 2 || got["1"] != "a " || got["2"] != "b q" {
			t.Errorf("subscriptions = %v", got)
		}
		if all := h.engine.Conns(); len(all) != 1 || all[0] != served || h.engine.ConnCount() != 1 {
			t.Errorf("%d connections, want this one", len(all))
		}
		if h.engine.Conn(c.id+1) != nil {
			t.Error("a connection that nobody made is served")
		}
	})
}

// TestRefusal: what a client is told and what monitoring shows are what the handler says.
func TestRefusal(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		refusal := &engine.Refusal{Reason: engine.ReasonMaxAccountConnections, Text: "maximum account active connections exceeded"}
		h.refusal.Store(refusal)
		for _, slow := range []bool{false, true} {
			h.mayBlock.Store(slow)
			c := h.dial()
			c.send("CONNECT {}\r\nSUB a 1\r\n")
			c.expect("-ERR '" + refusal.Error() + "'")
			c.expectEOF()
			if got := h.waitClosed(); got != refusal.Reason {
				t.Errorf("reason = %q, want %q", got, refusal.Reason)
			}
		}
	})
}

func TestReasons(t *testing.T) {
	seen := map[string]engine.Reason{}
	for r := engine.ReasonNone + 1; r <= engine.ReasonKicked; r++ {
		text := r.String()
		if text == "" || text == "Unknown" {
			t.Errorf("reason %d has no text", r)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("reasons %d and %d are both %q", r, other, text)
		}
		seen[text] = r
	}
	for r, want := range map[engine.Reason]string{engine.ReasonNone: "", engine.ReasonSlowPending: "Slow Consumer (Pending Bytes)", 99: "Unknown"} {
		if got := r.String(); got != want {
			t.Errorf("reason %d = %q, want %q", r, got, want)
		}
	}
	if engine.DefaultPollers() < 1 {
		t.Error("no pollers by default")
	}
}
