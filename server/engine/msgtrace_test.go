package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/msgtrace"
)

// way is what is told of a message, and where.
type way struct {
	account, destination string
	trace                *msgtrace.Trace
}

func (h *harness) traced(a *accounts.Account, destination string, t *msgtrace.Trace) {
	h.ways <- way{a.Name(), destination, t}
}

// told returns what is told next: account and destination, and then for each step its type and what it says.
func (h *harness) told() string {
	h.t.Helper()
	select {
	case w := <-h.ways:
		return w.text(h.t)
	case <-time.After(patience):
		h.t.Fatal("nothing is told")
	}
	return ""
}

// untold checks that nothing was told up to now.
func (h *harness) untold(after string) {
	h.t.Helper()
	select {
	case w := <-h.ways:
		h.t.Errorf("%s: told %s", after, w.text(h.t))
	default:
	}
}

func (w way) text(t testing.TB) string {
	t.Helper()
	lines := []string{w.account + " " + w.destination}
	for _, event := range w.trace.Report().Events {
		b, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		var e struct{ Type, Name, Acc, Subj, To, From, Stream, Sub, Queue, Error string }
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintln(
			e.Type, e.Name, e.Acc, e.From, e.Subj, e.To, e.Stream, e.Sub, e.Queue, e.Error)), " "))
	}
	return strings.Join(lines, "\n")
}

// connectAs logs in as a client with that name, and subscribes.
func (h *harness) connectAs(user, name string, subscriptions ...string) *client {
	h.t.Helper()
	c := h.dial()
	c.send(`CONNECT {"verbose":false,"headers":true,"no_responders":true,"user":%q,"pass":%q,"name":%q}`+"\r\n", user, user, name)
	c.sub(subscriptions...)
	return c
}

// askTrace publishes a message that asks to have its way told, with further header lines.
func (c *client) askTrace(destination, subject, reply string, lines ...string) {
	c.t.Helper()
	fields := append([]string{"NATS/1.0", "Nats-Trace-Dest: " + destination}, lines...)
	header := strings.Join(fields, "\r\n") + "\r\n\r\n"
	c.send("HPUB %s %s %d %d\r\n%shello\r\n", subject, reply, len(header), len(header)+5, header)
}

const traceOnly = "Nats-Trace-Only: true"

// TestTraced follows messages in one account.
func TestTraced(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		cfg := sharing(accounts.AccountConfig{Name: "A", Mappings: []accounts.MappingConfig{mapping("old", "new", 100)}})
		cfg.Accounts[0].Users = append(cfg.Accounts[0].Users,
			accounts.UserConfig{Username: "few", Password: "few", Permissions: &accounts.Permissions{Publish: accounts.Rules{Allow: []string{"a", "may"}}}},
			accounts.UserConfig{Username: "deaf", Password: "deaf", Permissions: &accounts.Permissions{Subscribe: accounts.Rules{Deny: []string{"d.no"}}}},
		)
		h := start(t, pollers, cfg, nil)
		p := h.connectAs("a", "pub", "r 9")
		h.connectAs("a", "one", "a 1", "new 2", "q.* g 3")
		bare := h.dial()
		bare.send(`CONNECT {"verbose":false,"user":"a","pass":"a","name":"bare"}` + "\r\n")
		bare.sub("a 1", "d.> 2")
		h.connectAs("deaf", "deaf", "d.> 1")
		few := h.connectAs("few", "few")
		for _, tt := range []struct{ name, subject, want string }{
			{"fan-out", "a", "A t\nin pub A a\neg one a\neg bare a"},
			{"mapped", "old", "A t\nin pub A old\nsm new\neg one new"},
			{"queue group", "q.1", "A t\nin pub A q.1\neg one q.* g"},
			{"nobody", "x", "A t\nin pub A x"},
			{"not to all", "d.no", "A t\nin pub A d.no\neg deaf d.> Not delivered because subscription denies this subject\neg bare d.>"},
		} {
			for _, lines := range [][]string{nil, {traceOnly}} {
				p.askTrace("t", tt.subject, "", lines...)
				if got := h.told(); got != tt.want {
					t.Errorf("%s %v: got\n%s\nwant\n%s", tt.name, lines, got, tt.want)
				}
			}
		}
		few.askTrace("may", "a", "")
		if got, want := h.told(), "A may\nin few A a\neg one a\neg bare a"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		few.askTrace("may", "b", "")
		if got, want := h.told(), `A may
in few A b Permissions Violation for Publish to "b"`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		few.expect(`-ERR 'Permissions Violation for Publish to "b"'`)
		few.askTrace("t", "a", "")
		few.expect(`-ERR 'Permissions Violation for Publish to "t"'`)
		p.askTrace("t", "x", "r")
		p.unheard("r", "9", "x")
		h.told()
		for _, destination := range []string{"t.*", "", "trace disabled", "a..b"} {
			p.askTrace(destination, "a", "")
		}
		p.flush()
		h.untold("no destination")
		// The two got: one fan-out that was no trace alone, one of few, four without a destination.
		if n := len(bare.drain()); n != 1+1+4+1 {
			t.Errorf("%d messages were delivered, want 7", n)
		}
	})
}

// TestTracedNoEcho: who does not want its own messages is told of that.
func TestTracedNoEcho(t *testing.T) {
	h := start(t, 0, sharing(accounts.AccountConfig{Name: "A"}), nil)
	c := h.dial()
	c.send(`CONNECT {"verbose":false,"headers":true,"echo":false,"user":"a","pass":"a","name":"c"}` + "\r\n")
	c.sub("a 1")
	c.askTrace("t", "a", "")
	if got, want := h.told(), "A t\nin c A a\neg c a Not delivered because of no echo"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTracedAcross follows messages into other accounts, where only those may tell whose owners allow it.
func TestTracedAcross(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		open, closed := importStream("A", "s.>", "b.s.>"), importStream("A", "s.>", "c.s.>")
		open.AllowTrace = true
		frank, discreet := exportService("frank"), exportService("discreet")
		frank.AllowTrace = true
		h := start(t, pollers, sharing(
			accounts.AccountConfig{Name: "A", Exports: exports{exportStream("s.>"), frank, discreet}},
			accounts.AccountConfig{Name: "B", Imports: imports{open, importService("A", "frank", "ask.f"), importService("A", "discreet", "ask.d")}},
			accounts.AccountConfig{Name: "C", Imports: imports{closed}},
		), nil)
		a, b := h.connectAs("a", "a", "frank w 1", "discreet 2"), h.connectAs("b", "b", "b.s.* 1", "r 2")
		c := h.connectAs("c", "c", "c.s.* 1")
		const streams = "A t\nin a A s.1\nse B b.s.1\neg b B b.s.*\nse C c.s.1"
		a.askTrace("t", "s.1", "")
		if got := h.told(); got != streams {
			t.Errorf("streams: got\n%s\nwant\n%s", got, streams)
		}
		b.message()
		c.message()
		a.askTrace("t", "s.1", "", traceOnly)
		if got := h.told(); got != streams {
			t.Errorf("streams, trace only: got\n%s\nwant\n%s", got, streams)
		}
		b.flush()
		c.flush()

		const wantFrank, wantDiscreet = "B t\nin b B ask.f\nsi A ask.f frank\neg a A frank w", "B t\nin b B ask.d\nsi A ask.d discreet"
		b.askTrace("t", "ask.f", "r")
		if got := h.told(); got != wantFrank {
			t.Errorf("service: got\n%s\nwant\n%s", got, wantFrank)
		}
		if m := a.message(); !strings.Contains(m.header, "Nats-Trace-Dest: t\r\n") {
			t.Errorf("the service got %+v", m)
		}
		b.askTrace("t", "ask.d", "r")
		if got := h.told(); got != wantDiscreet {
			t.Errorf("service: got\n%s\nwant\n%s", got, wantDiscreet)
		}
		m := a.message()
		if !strings.Contains(m.header, "Nats-Trace-Dest: trace disabled\r\n") || m.reply == "" {
			t.Errorf("the service got %+v", m)
		}
		a.pub(m.reply, "", "yes")
		b.got("r", "2", "", "yes")
		b.askTrace("t", "ask.f", "r", traceOnly)
		if got := h.told(); got != wantFrank {
			t.Errorf("service, trace only: got\n%s\nwant\n%s", got, wantFrank)
		}
		b.askTrace("t", "ask.d", "r", traceOnly)
		if got := h.told(); got != wantDiscreet {
			t.Errorf("service, trace only: got\n%s\nwant\n%s", got, wantDiscreet)
		}
		b.unheard("r", "2", "ask.d")
		a.flush()
	})
}

// TestTracedChain follows a stream through an account that exports what it imports: every import on the way must allow it.
func TestTracedChain(t *testing.T) {
	trusting := func(i accounts.ImportConfig) accounts.ImportConfig {
		i.AllowTrace = true
		return i
	}
	h := start(t, 0, sharing(
		accounts.AccountConfig{Name: "A", Exports: exports{exportStream("s.>")}},
		accounts.AccountConfig{Name: "B", Imports: imports{trusting(importStream("A", "s.>", "b.>"))}, Exports: exports{exportStream("b.>")}},
		accounts.AccountConfig{Name: "C", Imports: imports{importStream("A", "s.>", "c.>")}, Exports: exports{exportStream("c.>")}},
		accounts.AccountConfig{Name: "D", Imports: imports{trusting(importStream("B", "b.>", "bd.>")), trusting(importStream("C", "c.>", "cd.>"))}},
	), nil)
	a := h.connectAs("a", "a")
	h.connectAs("d", "d", "bd.> 1", "cd.> 2")
	a.askTrace("t", "s.1", "")
	if got, want := h.told(), "A t\nin a A s.1\nse D bd.1\neg d D bd.>\nse D cd.1"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTracedParent: an account has messages told that are part of a trace of another system.
func TestTracedParent(t *testing.T) {
	const parent = "NATS/1.0\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0%d\r\n\r\n"
	cfg := sharing(accounts.AccountConfig{Name: "A", Trace: &accounts.TraceConfig{Destination: "all", Sampling: 100}}, accounts.AccountConfig{Name: "B"})
	cfg.Accounts[0].Users = append(cfg.Accounts[0].Users,
		accounts.UserConfig{Username: "few", Password: "few", Permissions: &accounts.Permissions{Publish: accounts.Rules{Allow: []string{"a"}}}})
	h := start(t, 0, cfg, nil)
	publish := func(c *client, sampled int) {
		header := fmt.Sprintf(parent, sampled)
		c.send("HPUB a %d %d\r\n%s\r\n", len(header), len(header), header)
		c.flush()
	}
	a, b := h.connectAs("a", "a"), h.connectAs("b", "b")
	publish(a, 1)
	if got, want := h.told(), "A all\nin a A a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	publish(h.connectAs("few", "few"), 1) // the account wants it, so its users need no permission
	if got, want := h.told(), "A all\nin few A a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	publish(a, 0)
	publish(b, 1)
	h.untold("not sampled, or of another account")
	a.askTrace("t", "a", "")
	if got, want := h.told(), "A t\nin a A a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTracedInternal: a subscriber of the server's own is handed the trace if it says that it knows what to do with it,
// and no message that is for its trace alone if it does not.
func TestTracedInternal(t *testing.T) {
	h := start(t, 0, sharing(accounts.AccountConfig{Name: "A"}), nil)
	handed := make(chan bool, 10)
	h.engine.SubscribeTraced(h.account("A"), "s", "", func(m *engine.Message) {
		if handed <- m.Trace != nil; m.Trace != nil {
			m.Trace.Store("S").Done("s", false, "")
		}
	})
	h.engine.Subscribe(h.account("A"), "p", "", func(m *engine.Message) { handed <- m.Trace != nil })
	c := h.connectAs("a", "c")
	for _, lines := range [][]string{nil, {traceOnly}} {
		c.askTrace("t", "s", "", lines...)
		if got, want := h.told(), "A t\nin c A s\njs S"; got != want || !<-handed {
			t.Errorf("got %s, want %s", got, want)
		}
		c.askTrace("t", "p", "", lines...)
		if got, want := h.told(), "A t\nin c A p\neg p"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if len(lines) == 0 && <-handed {
			t.Error("a subscriber that knows no traces was handed one")
		}
	}
	c.pub("s", "", "x")
	c.flush()
	if n := len(handed); n != 1 || <-handed {
		t.Errorf("%d messages are there, want 1 without a trace", n)
	}
}
