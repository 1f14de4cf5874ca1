package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/engine/latency"
)

// servicesConfig has account A, whose services B imports, and C what B imports in its turn.
func servicesConfig() accounts.Config {
	lasting := exportService("many.*")
	lasting.Response = accounts.ResponseStream
	measured := exportService("timed.*")
	measured.Latency = &accounts.LatencyConfig{Subject: "metrics.timed", Sampling: 100}
	traced := exportService("traced.*")
	traced.Latency = &accounts.LatencyConfig{Subject: "metrics.traced"}
	short := exportService("short.*")
	short.Threshold = 50 * time.Millisecond
	short.Latency = &accounts.LatencyConfig{Subject: "metrics.short", Sampling: 100}
	shared := importService("A", "q.*", "shared.*")
	shared.Share = true
	sharedOn := importService("B", "shared.*", "")
	sharedOn.Share = true
	cfg := sharing(
		accounts.AccountConfig{Name: "A", Exports: exports{exportService("q.*"), lasting, measured, traced, short, exportStream("q.*")}},
		accounts.AccountConfig{
			Name: "B",
			Imports: imports{
				importService("A", "q.*", ""), importService("A", "q.*", "ask.*"), shared, importService("A", "many.*", ""),
				importService("A", "timed.*", ""), importService("A", "traced.*", ""), importService("A", "short.*", ""),
			},
			Exports:  exports{exportService("ask.*"), exportService("shared.*")},
			Mappings: []accounts.MappingConfig{mapping("m.*", "q.$1", 100)},
		},
		accounts.AccountConfig{Name: "C", Imports: imports{
			importService("B", "ask.*", "far.*"), importService("B", "shared.*", "hush.*"), sharedOn, importStream("A", "q.*", "seen.*"),
		}},
		accounts.AccountConfig{Name: "D"},
	)
	cfg.Accounts[0].Users = append(cfg.Accounts[0].Users,
		accounts.UserConfig{Username: "mute", Password: "mute", Permissions: &accounts.Permissions{Publish: accounts.Rules{Allow: []string{"x"}}}},
		accounts.UserConfig{Username: "answers", Password: "answers", Permissions: &accounts.Permissions{Responses: &accounts.ResponsePermission{Max: 1}}},
	)
	return cfg
}

// isReplySubject tells whether subject is one for answers from another account.
func isReplySubject(subject string) bool { return strings.HasPrefix(subject, "_R_.") }

func TestServiceImports(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, servicesConfig(), nil)
		a, b, c := h.login("a"), h.login("b"), h.login("c")
		b.sub("inbox.* 1")
		c.sub("inbox.* 1")
		b.pub("q.x", "inbox.0", "x")
		b.unheard("inbox.0", "1", "q.x")
		c.pub("far.x", "inbox.0", "x")
		c.unheard("inbox.0", "1", "far.x")
		a.sub("q.* 1")
		c.sub("seen.* 2")
		for i := range 3 {
			inbox := fmt.Sprint("inbox.", i)
			b.pub("q.x", inbox, "question")
			reply := a.asked("q.x", "1", `{"acc":"B"`, "question")
			if !isReplySubject(reply) {
				t.Fatalf("reply subject %q", reply)
			}
			c.pub(reply, "", "not from the account that was asked")
			c.flush()
			a.pub(reply, "", "answer")
			b.got(inbox, "1", "", "answer")
			a.pub(reply, "", "another")
			a.flush()
			b.flush()
			b.pub("m.y", inbox, "mapped")
			a.pub(a.asked("q.y", "1", `{"acc":"B"`, "mapped"), "", "answer")
			b.got(inbox, "1", "", "answer")
			b.pub("ask.z", inbox, "moved")
			a.send("HPUB %s 12 13\r\nNATS/1.0\r\n\r\nx\r\n", a.asked("q.z", "1", `{"acc":"B"`, "moved"))
			if m := b.message(); m.header != "NATS/1.0\r\n\r\n" || m.payload != "x" || m.subject != inbox {
				t.Errorf("got %+v", m)
			}
			c.pub("far.z", inbox, "chained")
			a.pub(a.asked("q.z", "1", `{"acc":"C","svc":"B"`, "chained"), "", "answer")
			c.got(inbox, "1", "", "answer")
			b.pub("q.x", "", "no answer wanted")
			if reply := a.asked("q.x", "1", `{"acc":"B"`, "no answer wanted"); reply != "" {
				t.Errorf("reply subject %q where none is wanted", reply)
			}
		}
		a.pub("q.x", "", "the stream has what is published, not what is asked from elsewhere")
		if seen := c.message(); seen.subject != "seen.x" || !strings.HasPrefix(seen.payload, "the stream") {
			t.Errorf("got %+v", seen)
		}
		a.message()
		for _, x := range []*client{a, b, c} {
			x.flush()
		}
	})
}

// TestServiceImportsBesideSubscriptions: a request goes to who subscribed to it in the account as well.
func TestServiceImportsBesideSubscriptions(t *testing.T) {
	h := start(t, 0, servicesConfig(), nil)
	a, b := h.login("a"), h.login("b")
	b.sub("inbox.* 1", "q.x 2")
	b.pub("q.x", "inbox.1", "x")
	b.got("q.x", "2", "inbox.1", "x")
	b.flush()
	a.sub("q.* group 1")
	b.pub("q.x", "inbox.1", "x")
	b.got("q.x", "2", "inbox.1", "x")
	a.pub(a.asked("q.x", "1", `{"acc":"B"`, "x"), "", "answer")
	b.got("inbox.1", "1", "", "answer")
}

func TestServiceWithManyAnswers(t *testing.T) {
	h := start(t, 0, servicesConfig(), nil)
	a, b := h.login("a"), h.login("b")
	a.sub("many.* 1")
	b.sub("inbox.* 1")
	b.pub("many.x", "inbox.1", "x")
	reply := a.asked("many.x", "1", `{"acc":"B"`, "x")
	for i := range 3 {
		a.pub(reply, "", fmt.Sprint(i))
		b.got("inbox.1", "1", "", fmt.Sprint(i))
	}
	a.send("HPUB %s 12 12\r\nNATS/1.0\r\n\r\n\r\n", reply) // with a header it is not the end
	b.message()
	a.pub(reply, "", "")
	b.got("inbox.1", "1", "", "")
	a.pub(reply, "", "after the end")
	a.flush()
	b.flush()
}

// TestAnswersThatAsk: who answers may ask back on a subject that leads to the one who asked, and acknowledgements keep
// their subject.
func TestAnswersThatAsk(t *testing.T) {
	h := start(t, 0, servicesConfig(), nil)
	a, c := h.login("a"), h.login("c")
	a.sub("q.* 1", "back.* 2")
	c.sub("inbox.* 1")
	c.pub("far.x", "inbox.1", "x")
	reply := a.asked("q.x", "1", `{"acc":"C"`, "x")
	a.pub(reply, "back.1", "answer, and question")
	m := c.message()
	if m.subject != "inbox.1" || !isReplySubject(m.reply) || m.reply == reply {
		t.Fatalf("got %+v", m)
	}
	c.pub(m.reply, "", "answer to that")
	a.got("back.1", "2", "", "answer to that")
	c.pub(m.reply, "", "once more")
	c.flush()
	a.flush()

	c.pub("far.x", "inbox.2", "x")
	reply = a.asked("q.x", "1", `{"acc":"C"`, "x")
	h.engine.Publish(h.account("A"), reply, "$JS.ACK.s.c.1.1.1.1.0", nil, []byte("x"))
	c.got("inbox.2", "1", "$JS.ACK.s.c.1.1.1.1.0", "x")
}

// TestAnswersByPermission: to answer takes the permission that it takes in the own account.
func TestAnswersByPermission(t *testing.T) {
	for _, tt := range []struct {
		user string
		may  bool
	}{{"a", true}, {"answers", true}, {"mute", false}} {
		t.Run(tt.user, func(t *testing.T) {
			h := start(t, 0, servicesConfig(), nil)
			a, b := h.login(tt.user), h.login("b")
			a.sub("q.* 1")
			b.sub("inbox.* 1")
			b.pub("q.x", "inbox.1", "x")
			reply := a.asked("q.x", "1", `{"acc":"B"`, "x")
			a.pub(reply, "", "answer")
			if !tt.may {
				a.expect(publishViolation(reply))
				b.flush()
				return
			}
			a.flush()
			b.got("inbox.1", "1", "", "answer")
		})
	}
}

// TestForgedReplies: nobody has answers sent to a subject of the server's, or learns anything from made up ones.
func TestForgedReplies(t *testing.T) {
	h := start(t, 0, servicesConfig(), nil)
	a, b := h.login("a"), h.login("b")
	a.sub("q.* 1")
	b.pub("q.x", "_R_.aaaaaa.bbbbbb.cccccccc", "x")
	b.expect(`-ERR 'Permissions Violation for Publish with Reply of "_R_.aaaaaa.bbbbbb.cccccccc"'`)
	for _, subject := range []string{"_R_.a", "_R_.aaaaaa.bbbbbb.cccccccc", "_R_.aaaaaa.bbbbbb.cccccccc.T", "_R_.>", "_R_..", "_R_.a..b"} {
		a.pub(subject, "", "x")
		a.flush()
	}
	b.flush()
}

// TestRequestInfo: a service is told who asks, as much as was agreed, and not by the client itself.
func TestRequestInfo(t *testing.T) {
	h := start(t, 0, servicesConfig(), nil)
	a, b, c := h.login("a"), h.login("b"), h.login("c")
	a.sub("q.* 1")
	forged := "NATS/1.0\r\nX: y\r\nNats-Request-Info: {\"acc\":\"SYS\"}\r\n\r\n"
	long := "NATS/1.0\r\nX: y\r\nLong: " + strings.Repeat("l", 600) + "\r\n\r\n"
	all := []string{"", forged, long}
	tests := []struct {
		name    string
		asks    *client
		subject string
		account string
		through string
		shared  bool
	}{
		{"little", b, "q.x", "B", "", false},
		{"shared", b, "shared.x", "B", "", true},
		{"through another", c, "far.x", "C", "B", false},
		{"shared by the last only", c, "hush.x", "C", "B", false},
		{"shared by both", c, "shared.x", "C", "B", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, block := range all {
				tt.asks.send("HPUB %s %d %d\r\n%sx\r\n", tt.subject, len(block), len(block)+1, block)
				m := a.message()
				_, text, _ := strings.Cut(m.header, latency.InfoHeader+": ")
				text, end, _ := strings.Cut(text, "\r\n")
				var who latency.Client
				if err := json.Unmarshal([]byte(text), &who); err != nil || end != "\r\n" || strings.Contains(m.header, "SYS") {
					t.Fatalf("got header %q, %v", m.header, err)
				}
				if block != "" && !strings.HasPrefix(m.header, "NATS/1.0\r\nX: y\r\n") || m.payload != "x" {
					t.Errorf("got %+v, the request had %q", m, block)
				}
				if who.Account != tt.account || who.Service != tt.through || (who.User != "") != tt.shared || (who.ID != 0) != tt.shared ||
					(who.Host != "") != tt.shared || (who.Start != nil) != tt.shared || (who.Server != "") != tt.shared {
					t.Errorf("got %s", text)
				}
			}
		})
	}
	h.engine.Publish(h.account("B"), "q.x", "", nil, []byte("server's"))
	a.got("q.x", "1", "", "server's")
	// What the server passes on, of a stream say, was written by a client.
	h.engine.Publish(h.account("B"), "q.x", "", []byte(forged), []byte("server's"))
	if m := a.message(); m.header != "NATS/1.0\r\nX: y\r\n\r\n" {
		t.Errorf("got %+v", m)
	}
}

// TestMeasuredRequestsAreBounded: the headers of requests that wait count as what they keep.
func TestMeasuredRequestsAreBounded(t *testing.T) {
	h := start(t, 0, servicesConfig(), nil)
	a, b := h.login("a"), h.login("b")
	a.sub("traced.* 1")
	watch := h.login("a")
	watch.sub("metrics.traced 1")
	block := "NATS/1.0\r\nX-B3-TraceId: " + strings.Repeat("x", 512<<10) + "\r\n\r\n"
	for range 80 { // 40 MB
		b.send("HPUB traced.x inbox.1 %d %d\r\n%sx\r\n", len(block), len(block)+1, block)
		a.message()
	}
	b.flush()
	if m := watch.metric("metrics.traced"); m.Status != latency.Timeout {
		t.Errorf("the oldest request is not given up: got %+v", m)
	}
}

// TestMeasuredAcross: of who answers from another account it is told only what anybody may know.
func TestMeasuredAcross(t *testing.T) {
	cfg := servicesConfig()
	for i := range cfg.Accounts {
		for j := range cfg.Accounts[i].Exports {
			if e := &cfg.Accounts[i].Exports[j]; e.Service && e.Subject == "ask.*" {
				e.Latency = &accounts.LatencyConfig{Subject: "metrics.ask", Sampling: 100}
			}
		}
	}
	h := start(t, 0, cfg, nil)
	a, b, c := h.login("a"), h.login("b"), h.login("c")
	a.sub("q.* 1")
	b.sub("metrics.ask 1")
	c.sub("inbox.* 1")
	c.pub("far.x", "inbox.1", "x")
	reply := a.asked("q.x", "1", `{"acc":"C"`, "x")
	a.pub(reply, "", "answer")
	c.got("inbox.1", "1", "", "answer")
	m := b.metric("metrics.ask")
	if r := m.Responder; m.Status != 200 || r == nil || r.Account != "A" || r.User != "" || r.Host != "" || r.ID != 0 {
		t.Errorf("got %+v, responder %+v", m, m.Responder)
	}
}

// TestServicesOfTheServer: handlers inside the server are asked and answer across accounts, and ask.
func TestServicesOfTheServer(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, servicesConfig(), nil)
		b, c := h.login("b"), h.login("c")
		b.sub("inbox.* 1")
		c.sub("inbox.* 1")
		publisher := h.engine.NewPublisher()
		defer publisher.Close()
		h.engine.Subscribe(h.account("A"), "q.now", "", func(m *engine.Message) {
			if m.From == nil {
				return
			}
			m.Respond([]byte("NATS/1.0\r\nX: y\r\n\r\n"), []byte("answer"))
		})
		replies := make(chan string, 1)
		h.engine.Subscribe(h.account("A"), "q.later", "", func(m *engine.Message) { replies <- string(m.Reply) })
		want := message{subject: "inbox.1", sid: "1", header: "NATS/1.0\r\nX: y\r\n\r\n", payload: "answer"}
		for range 2 {
			b.pub("q.now", "inbox.1", "x")
			if got := b.message(); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			c.pub("far.now", "inbox.1", "x")
			if got := c.message(); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			c.pub("far.later", "inbox.2", "x")
			reply := <-replies
			if n := publisher.Deliver(h.account("A"), reply, "", "shown", "", nil, []byte("later")); n != 1 {
				t.Errorf("%d get the answer, want 1", n)
			}
			publisher.Flush()
			c.got("shown", "1", "", "later")

			b.pub("q.later", "inbox.2", "x")
			if !publisher.NoResponders(h.served(b), "q.later", <-replies) {
				t.Error("the client was not told")
			}
			publisher.Flush()
			b.unheard("inbox.2", "1", "q.later")
			if n := h.engine.Publish(h.account("B"), "q.later", "inbox.3", nil, []byte("x")); n != 1 {
				t.Errorf("%d get the server's question, want 1", n)
			}
			h.engine.Publish(h.account("A"), <-replies, "", nil, []byte("to the server"))
			b.got("inbox.3", "1", "", "to the server")
		}
	})
}

// metric reads a metric from a client that subscribed to it.
func (c *client) metric(subject string) (m latency.Metric) {
	c.t.Helper()
	got := c.message()
	if err := json.Unmarshal([]byte(got.payload), &m); err != nil || got.subject != subject {
		c.t.Fatalf("got %+v, %v, want a metric on %s", got, err, subject)
	}
	return m
}

func TestLatency(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, servicesConfig(), nil)
		a, b, watch := h.login("a"), h.login("b"), h.login("a")
		watch.sub("metrics.* 1")
		b.sub("inbox.* 1")
		b.pub("timed.x", "inbox.1", "x")
		b.unheard("inbox.1", "1", "timed.x")
		if m := watch.metric("metrics.timed"); m.Status != 503 || m.Requester.Account != "B" || m.Responder != nil {
			t.Errorf("got %+v", m)
		}
		a.sub("timed.* 1", "traced.* 2", "short.* 3", "q.* 4")
		for range 2 {
			b.pub("timed.x", "inbox.1", "x")
			reply := a.asked("timed.x", "1", `{"acc":"B"`, "x")
			if !strings.HasSuffix(reply, ".T") {
				t.Errorf("reply subject %q of a request that is measured", reply)
			}
			a.pub(reply, "", "answer")
			b.got("inbox.1", "1", "", "answer")
			m := watch.metric("metrics.timed")
			if m.Status != 200 || m.Requester.Account != "B" || m.Responder.User != "a" || m.Total < m.Service || m.Header != nil {
				t.Errorf("got %+v", m)
			}
		}
		b.pub("timed.x", "", "x")
		a.asked("timed.x", "1", `{"acc":"B"`, "x")
		if m := watch.metric("metrics.timed"); m.Status != 400 {
			t.Errorf("got %+v", m)
		}
		b.pub("short.x", "inbox.1", "x")
		a.asked("short.x", "3", `{"acc":"B"`, "x")
		if m := watch.metric("metrics.short"); m.Status != 504 {
			t.Errorf("got %+v", m)
		}
		b.pub("traced.x", "inbox.1", "x")
		a.pub(a.asked("traced.x", "2", `{"acc":"B"`, "x"), "", "answer")
		b.got("inbox.1", "1", "", "answer")
		b.send("HPUB traced.x inbox.1 19 20\r\nNATS/1.0\r\nB3: 1\r\n\r\nx\r\n")
		a.pub(a.message().reply, "", "answer")
		b.got("inbox.1", "1", "", "answer")
		if m := watch.metric("metrics.traced"); m.Status != 200 || len(m.Header["B3"]) != 1 {
			t.Errorf("got %+v", m)
		}
		b.pub("q.x", "inbox.1", "x")
		a.pub(a.asked("q.x", "4", `{"acc":"B"`, "x"), "", "answer")
		b.got("inbox.1", "1", "", "answer")
		watch.flush()
	})
}

// TestAnswersEnd: nobody gets an answer who has gone, or whose import has, and late ones go nowhere.
func TestAnswersEnd(t *testing.T) {
	h := start(t, 0, servicesConfig(), nil)
	a, b, other := h.login("a"), h.login("b"), h.login("b")
	a.sub("many.* 1", "short.* 2")
	b.sub("inbox.* 1")
	other.sub("inbox.* 1", "other.* 2")
	b.pub("many.x", "inbox.1", "x")
	reply := a.asked("many.x", "1", `{"acc":"B"`, "x")
	a.pub(reply, "", "answer")
	b.got("inbox.1", "1", "", "answer")
	other.got("inbox.1", "1", "", "answer")
	_ = b.nc.Close()
	h.waitClosed()
	a.pub(reply, "", "answer")
	other.got("inbox.1", "1", "", "answer") // who else is there still gets it

	other.pub("short.x", "other.1", "x")
	late := a.asked("short.x", "2", `{"acc":"B"`, "x")
	watch := h.login("a")
	watch.sub("metrics.* 1")
	if m := watch.metric("metrics.short"); m.Status != 504 {
		t.Errorf("got %+v", m)
	}
	a.pub(late, "", "late")
	a.flush()
	other.flush()

	cfg := servicesConfig()
	cfg.Accounts[1].Imports = cfg.Accounts[1].Imports[:3]
	h.reload(cfg)
	a.pub(reply, "", "answer")
	a.flush()
	other.flush()
	h.reload(servicesConfig())
	a.pub(reply, "", "answer")
	a.flush()
	other.flush() // it ended when the import was not there
}
