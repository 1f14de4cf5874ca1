package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/engine/latency"
)

// sharing makes a configuration of accounts, each with one user of its name in lower case.
func sharing(all ...accounts.AccountConfig) accounts.Config {
	for i := range all {
		a := &all[i]
		name := strings.ToLower(a.Name)
		a.Users = append(a.Users, accounts.UserConfig{Username: name, Password: name})
	}
	return accounts.Config{Accounts: all}
}

func exportStream(subject string) accounts.ExportConfig {
	return accounts.ExportConfig{Subject: subject}
}

func exportService(subject string) accounts.ExportConfig {
	return accounts.ExportConfig{Subject: subject, Service: true}
}

func importStream(account, subject, to string) accounts.ImportConfig {
	return accounts.ImportConfig{Account: account, Subject: subject, To: to}
}

func importService(account, subject, to string) accounts.ImportConfig {
	return accounts.ImportConfig{Account: account, Subject: subject, To: to, Service: true}
}

func mapping(source string, destinations ...any) accounts.MappingConfig {
	m := accounts.MappingConfig{Source: source}
	for i := 0; i < len(destinations); i += 2 {
		m.Destinations = append(m.Destinations, accounts.MappingDestination{
			Subject: destinations[i].(string), Weight: destinations[i+1].(int),
		})
	}
	return m
}

type (
	exports = []accounts.ExportConfig
	imports = []accounts.ImportConfig
)

// reload makes the accounts what cfg says; connections stay who they are.
func (h *harness) reload(cfg accounts.Config) {
	h.t.Helper()
	policy, err := h.registry.Compile(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.registry.Activate(policy)
}

// account is the account of that name.
func (h *harness) account(name string) *accounts.Account {
	h.t.Helper()
	a := h.policy.Account(name)
	if a == nil {
		h.t.Fatalf("there is no account %s", name)
	}
	return a
}

// sub subscribes; each subscription is "subject sid" or "subject queue sid".
func (c *client) sub(subscriptions ...string) {
	c.t.Helper()
	for _, s := range subscriptions {
		c.send("%s", "SUB "+s+"\r\n")
	}
	c.flush()
}

// pub publishes, with a reply subject unless it is empty.
func (c *client) pub(subject, reply, payload string) {
	c.t.Helper()
	c.send("PUB %s %s %d\r\n%s\r\n", subject, reply, len(payload), payload)
}

// got expects one message.
func (c *client) got(subject, sid, reply, payload string) {
	c.t.Helper()
	want := fmt.Sprintf("MSG %s %s ", subject, sid)
	if reply != "" {
		want += reply + " "
	}
	c.expect(fmt.Sprint(want, len(payload)), payload)
}

// unheard expects 503 for a request.
func (c *client) unheard(reply, sid, subject string) {
	c.t.Helper()
	c.flushed(message{subject: reply, header: "NATS/1.0 503\r\nNats-Subject: " + subject + "\r\n\r\n"}, sid)
}

// flushed expects one message and then nothing more.
func (c *client) flushed(want message, sid string) {
	c.t.Helper()
	got := c.message()
	want.sid = sid
	if got != want {
		c.t.Fatalf("got %+v, want %+v", got, want)
	}
	c.flush()
}

// asked reads a request and returns the reply subject; who asks is told to a service as who.
func (c *client) asked(subject, sid, who, payload string) (reply string) {
	c.t.Helper()
	m := c.message()
	info, ok := strings.CutPrefix(m.header, "NATS/1.0\r\n"+latency.InfoHeader+": ")
	if !ok || m.subject != subject || m.sid != sid || m.payload != payload || !strings.HasPrefix(info, who) {
		c.t.Fatalf("got %+v, want a request on %s of %s", m, subject, who)
	}
	return m.reply
}

func TestMappings(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		cfg := sharing(accounts.AccountConfig{Name: "A", Mappings: []accounts.MappingConfig{
			mapping("old", "new", 100),
			mapping("from.*.*", "to.{{wildcard(2)}}.$1", 100),
			mapping("up.>", "v1.up.>", 100),
			mapping("new.again", "old", 100), // what old is mapped to is not applied once more
			mapping("secret", "hidden", 100),
			mapping("allowed", "secret", 100),
			mapping("lost", "lost", 0),
		}})
		cfg.Accounts[0].Users = append(cfg.Accounts[0].Users, accounts.UserConfig{Username: "u", Password: "u", Permissions: &accounts.Permissions{
			Publish: accounts.Rules{Deny: []string{"secret"}},
		}})
		h := start(t, pollers, cfg, nil)
		c, u := h.login("a"), h.login("u")
		c.sub("> 1")
		for _, m := range [][2]string{
			{"old", "new"}, {"from.a.b", "to.b.a"}, {"up.x.y", "v1.up.x.y"}, {"new.again", "old"}, {"new", "new"}, {"other", "other"},
		} {
			for range 3 {
				c.pub(m[0], "r", "x")
				c.got(m[1], "1", "r", "x")
			}
		}
		u.pub("secret", "", "x") // it is mapped before it is looked at
		u.flush()
		c.got("hidden", "1", "", "x")
		u.pub("allowed", "", "x")
		u.expect(publishViolation("secret"))
		c.pub("lost", "", "x")
		c.flush()
		h.engine.Publish(h.account("A"), "old", "", nil, nil) // the server's own are not mapped
		c.got("old", "1", "", "")
		c.send("UNSUB 1\r\n")
		c.sub("inbox.* 2")
		c.pub("from.a.b", "inbox.1", "x")
		c.unheard("inbox.1", "2", "to.b.a")
	})
}

func TestMappingsByWeight(t *testing.T) {
	h := start(t, 0, sharing(accounts.AccountConfig{Name: "A", Mappings: []accounts.MappingConfig{
		mapping("half", "one", 50, "two", 50),
		mapping("some", "one", 30), // the rest stays
		mapping("fewer", "one", 20, "fewer", 30),
		mapping("numbers.*", "n.{{random(4)}}.$1", 100),
	}}), nil)
	c := h.login("a")
	tests := []struct {
		publish string
		want    map[string][2]int // between how many of 400
	}{
		{"half", map[string][2]int{"one": {120, 280}, "two": {120, 280}}},
		{"some", map[string][2]int{"one": {60, 200}, "some": {200, 340}}},
		{"fewer", map[string][2]int{"one": {30, 160}, "fewer": {50, 200}, "": {120, 280}}},
		{"numbers.x", map[string][2]int{"n.0.x": {40, 190}, "n.1.x": {40, 190}, "n.2.x": {40, 190}, "n.3.x": {40, 190}}},
	}
	for _, tt := range tests {
		t.Run(tt.publish, func(t *testing.T) {
			const messages = 400
			var mu sync.Mutex
			got := make(map[string]int)
			lost := messages
			in := h.engine.Subscribe(h.account("A"), ">", "", func(m *engine.Message) {
				mu.Lock()
				defer mu.Unlock()
				got[string(m.Subject)]++
				lost--
			})
			for range messages {
				c.pub(tt.publish, "", "x")
			}
			c.flush()
			in.Unsubscribe()
			mu.Lock()
			defer mu.Unlock()
			if lost > 0 {
				got[""] = lost
			}
			for subject, n := range got {
				if between, ok := tt.want[subject]; !ok || n < between[0] || n > between[1] {
					t.Errorf("%d messages on %q, want %v", n, subject, tt.want)
				}
			}
		})
	}
}

// TestMappingsChange: a reload takes effect between two messages, and none is lost.
func TestMappingsChange(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		config := func(to string) accounts.Config {
			a := accounts.AccountConfig{Name: "A"}
			if to != "" {
				a.Mappings = []accounts.MappingConfig{mapping("m", to, 100)}
			}
			return sharing(a)
		}
		h := start(t, pollers, config(""), nil)
		c, other := h.login("a"), h.login("a")
		c.sub("> 1")
		for i := range 30 {
			to := [...]string{"", "x", "y.z"}[i%3]
			h.reload(config(to))
			if to == "" {
				to = "m"
			}
			other.pub("m", "", "x")
			c.got(to, "1", "", "x")
		}
	})
}

func TestStreamImports(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, sharing(
			accounts.AccountConfig{Name: "A", Exports: exports{exportStream("s.>"), exportStream("t.*.*")}},
			accounts.AccountConfig{
				Name: "B", Imports: imports{importStream("A", "s.>", "from.a.>"), importStream("A", "t.*.*", "$2.$1")},
				Exports: exports{exportStream("from.>")},
			},
			accounts.AccountConfig{Name: "C", Imports: imports{importStream("B", "from.a.>", "far.>")}},
			accounts.AccountConfig{Name: "D"},
		), nil)
		a, b, c, d := h.login("a"), h.login("b"), h.login("c"), h.login("d")
		d.sub("> 1")
		for range 2 { // also what is in the cache already
			a.pub("s.x", "", "early")
			a.pub("private", "", "x")
		}
		a.flush()
		b.sub("> 1", "from.a.x 2")
		c.sub("far.* 3")
		plain := h.dial()
		plain.send(`CONNECT {"verbose":false,"pedantic":false,"user":"b","pass":"b"}` + "\r\n")
		plain.sub("from.a.h 1")
		for range 2 {
			a.pub("s.x", "reply", "hello")
			b.got("from.a.x", "2", "reply", "hello")
			b.got("from.a.x", "1", "reply", "hello")
			c.got("far.x", "3", "reply", "hello")
			a.pub("t.one.two", "", "x")
			b.got("two.one", "1", "", "x")
			a.pub("private", "", "x")
			a.flush()
			a.send("HPUB s.h 18 19\r\nNATS/1.0\r\nX: y\r\n\r\nz\r\n")
			plain.got("from.a.h", "1", "", "z")
			if m := b.message(); m.subject != "from.a.h" || m.header != "NATS/1.0\r\nX: y\r\n\r\n" {
				t.Errorf("got %+v", m)
			}
			c.message()
		}
		h.engine.Publish(h.account("A"), "s.y", "", nil, []byte("server's"))
		b.got("from.a.y", "1", "", "server's")
		c.got("far.y", "3", "", "server's")
		b.send("UNSUB 2 3\r\nUNSUB 1\r\n")
		b.flush()
		for range 3 {
			a.pub("s.x", "", "last")
		}
		b.got("from.a.x", "2", "", "last")
		for range 3 {
			c.got("far.x", "3", "", "last")
		}
		b.flush() // it wanted three
		b.pub("from.a.x", "", "b's own")
		c.got("far.x", "3", "", "b's own")
		for _, x := range []*client{a, b, c, d} {
			x.flush()
		}
	})
}

// TestStreamsEnterNoServices: what has come by the import of a stream asks nobody, whatever the importer imports besides.
func TestStreamsEnterNoServices(t *testing.T) {
	h := start(t, 0, sharing(
		accounts.AccountConfig{Name: "A", Exports: exports{exportStream("s")}},
		accounts.AccountConfig{Name: "B", Imports: imports{importStream("A", "s", "q"), importService("C", "q", "")}},
		accounts.AccountConfig{Name: "C", Exports: exports{exportService("q")}},
	), nil)
	a, b, c := h.login("a"), h.login("b"), h.login("c")
	b.sub("q 1")
	c.sub("q 1")
	a.pub("s", "", "published")
	b.got("q", "1", "", "published")
	a.flush()
	c.flush()
	b.pub("q", "", "asked")
	c.asked("q", "1", `{"acc":"B"`, "asked")
}

// TestManyOpenRequests: there are bounds to what waits for answers; the first request has to go for one too many.
func TestManyOpenRequests(t *testing.T) {
	h := start(t, 2, sharing(
		accounts.AccountConfig{Name: "A", Exports: exports{exportService("q")}},
		accounts.AccountConfig{Name: "B", Imports: imports{importService("A", "q", "")}},
	), nil)
	var mu sync.Mutex
	var replies []string
	h.engine.Subscribe(h.account("A"), "q", "", func(m *engine.Message) {
		mu.Lock()
		defer mu.Unlock()
		replies = append(replies, string(m.Reply))
	})
	b := h.login("b")
	b.sub("inbox.> 1")
	const most = 1 << 16
	for i := range most + 1 {
		b.pub("q", fmt.Sprint("inbox.", i), "")
	}
	b.flush()
	mu.Lock()
	defer mu.Unlock()
	if len(replies) != most+1 {
		t.Fatalf("%d requests, want %d", len(replies), most+1)
	}
	if n := h.engine.Publish(h.account("A"), replies[0], "", nil, []byte("x")); n != 0 {
		t.Error("the first request is still open")
	}
	for _, i := range []int{1, most / 2, most} {
		h.engine.Publish(h.account("A"), replies[i], "", nil, []byte("x"))
		b.got(fmt.Sprint("inbox.", i), "1", "", "x")
	}
}

// TestStreamImportsToQueues: each account has queue groups of its own, and a sender to one group reaches one member.
func TestStreamImportsToQueues(t *testing.T) {
	h := start(t, 0, sharing(
		accounts.AccountConfig{Name: "A", Exports: exports{exportStream("s")}},
		accounts.AccountConfig{Name: "B", Imports: imports{importStream("A", "s", "")}},
	), nil)
	members := []*client{h.login("a"), h.login("a"), h.login("b"), h.login("b")}
	for _, m := range members {
		m.sub("s q 1")
	}
	publisher := h.login("a")
	const messages = 40
	for range messages {
		publisher.pub("s", "", "x")
	}
	publisher.flush()
	count := func(c *client) (n int) { return int(h.served(c).Counters().OutMessages) }
	if a, b := count(members[0])+count(members[1]), count(members[2])+count(members[3]); a != messages || b != messages {
		t.Errorf("%d and %d messages in the two accounts, want %d each", a, b, messages)
	}
	p := h.engine.NewPublisher()
	defer p.Close()
	for range messages {
		if n := p.Deliver(h.account("A"), "s", "q", "shown", "", nil, nil); n != 1 {
			t.Fatalf("%d members of the group get it, want 1", n)
		}
	}
}

// TestStreamImportsToTheServer: who subscribes inside the server sees what the account sees.
func TestStreamImportsToTheServer(t *testing.T) {
	h := start(t, 0, sharing(
		accounts.AccountConfig{Name: "A", Exports: exports{exportStream("s.*")}, Mappings: []accounts.MappingConfig{mapping("m.*", "s.$1", 100)}},
		accounts.AccountConfig{Name: "B", Imports: imports{importStream("A", "s.*", "local.*")}},
	), nil)
	got := make(chan string, 10)
	h.engine.Subscribe(h.account("B"), "local.>", "", func(m *engine.Message) {
		got <- fmt.Sprint(string(m.Subject), " ", string(m.Reply), " ", string(m.Payload), " ", m.From != nil)
	})
	a := h.login("a")
	a.pub("s.x", "r", "1")
	a.pub("m.x", "", "2")
	a.flush()
	h.engine.Publish(h.account("A"), "s.y", "", nil, []byte("3"))
	p := h.engine.NewPublisher()
	defer p.Close()
	p.Deliver(h.account("A"), "s.y", "", "shown", "", nil, []byte("4"))
	p.Flush()
	for _, want := range []string{"local.x r 1 true", "local.x  2 true", "local.y  3 false", "shown  4 false"} {
		if g := <-got; g != want {
			t.Errorf("got %q, want %q", g, want)
		}
	}
}

// TestStreamImportsToServices: what the server serves an account with is asked by its own clients and by imports of the
// service, not by what it imports as a stream.
func TestStreamImportsToServices(t *testing.T) {
	h := start(t, 0, sharing(
		accounts.AccountConfig{Name: "A", Exports: exports{exportStream(">")}},
		accounts.AccountConfig{Name: "B", Exports: exports{exportService("api.>"), exportStream(">")}, Imports: imports{importStream("A", ">", "")}},
		accounts.AccountConfig{Name: "C", Imports: imports{importService("B", "api.>", ""), importStream("B", ">", "")}},
	), nil)
	calls := make(chan string, 100)
	for _, name := range []string{"B", "C"} {
		h.engine.SubscribeService(h.account(name), "api.>", func(m *engine.Message) { calls <- name + " " + string(m.Payload) })
	}
	for _, name := range []string{"a", "b", "c"} {
		c := h.login(name)
		c.pub("api.x", "", "of "+name)
		c.flush()
		h.engine.Publish(h.account(strings.ToUpper(name)), "api.x", "", nil, []byte("by "+name))
	}
	var asked []string
	for len(calls) > 0 {
		asked = append(asked, <-calls)
	}
	want := []string{"B of b", "B by b", "C of c", "B of c", "C by c", "B by c"}
	if !slices.Equal(asked, want) {
		t.Errorf("got %q, want %q", asked, want)
	}
}

// TestStreamImportsFilterDeliveries: what a user may not receive in the own account does not come from others either.
func TestStreamImportsFilterDeliveries(t *testing.T) {
	cfg := sharing(
		accounts.AccountConfig{Name: "A", Exports: exports{exportStream("s.*")}},
		accounts.AccountConfig{Name: "B", Imports: imports{importStream("A", "s.*", "local.*")}},
	)
	cfg.Accounts[1].Users[0].Permissions = &accounts.Permissions{Subscribe: accounts.Rules{Deny: []string{"local.no", "s.yes"}}}
	h := start(t, 0, cfg, nil)
	a, b := h.login("a"), h.login("b")
	b.sub("> 1")
	a.pub("s.no", "", "x")
	a.pub("s.yes", "", "x")
	b.got("local.yes", "1", "", "x")
	b.flush()
}

// TestImportsChange: an import that is gone lets nothing through, from the next message on, and one that has come does.
func TestImportsChange(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		config := func(streams, services string) accounts.Config {
			b := accounts.AccountConfig{Name: "B"}
			if streams != "" {
				b.Imports = append(b.Imports, importStream("A", "s.*", streams))
			}
			if services != "" {
				b.Imports = append(b.Imports, importService("A", "q.*", services))
			}
			return sharing(accounts.AccountConfig{Name: "A", Exports: exports{exportStream("s.*"), exportService("q.*")}}, b)
		}
		h := start(t, pollers, config("", ""), nil)
		a, b := h.login("a"), h.login("b")
		a.sub("q.* 1")
		b.sub("one.* 1", "two.* 2", "inbox.> 3")
		for i := range 30 {
			to := [...]string{"one", "", "two"}[i%3]
			pattern := ""
			if to != "" {
				pattern = to + ".*"
			}
			h.reload(config(pattern, pattern))
			a.pub("s.x", "", "x")
			a.flush()
			b.pub(to+"req.x", "inbox.1", "x")
			if to != "" {
				b.got(to+".x", map[string]string{"one": "1", "two": "2"}[to], "", "x")
			}
			b.unheard("inbox.1", "3", to+"req.x")
			if to != "" {
				b.send("UNSUB %s\r\n", map[string]string{"one": "1", "two": "2"}[to])
				b.pub(to+".x", "inbox.2", "question")
				reply := a.asked("q.x", "1", `{"acc":"B"`, "question")
				a.pub(reply, "", "answer")
				b.got("inbox.2", "3", "", "answer")
				b.sub(to + ".* " + map[string]string{"one": "1", "two": "2"}[to])
			}
		}
	})
}

// TestWatchInterestOfImporters: interest in other accounts counts, also when imports come and go.
func TestWatchInterestOfImporters(t *testing.T) {
	config := func(chain bool) accounts.Config {
		c := accounts.AccountConfig{Name: "C"}
		if chain {
			c.Imports = imports{importStream("B", "b.*", "c.*")}
		}
		return sharing(
			accounts.AccountConfig{Name: "A", Exports: exports{exportStream("d.*")}},
			accounts.AccountConfig{Name: "B", Imports: imports{importStream("A", "d.*", "b.*")}, Exports: exports{exportStream("b.*")}},
			c,
		)
	}
	h := start(t, 0, config(true), nil)
	told := make(watcher, 100)
	cancel := h.engine.WatchInterest(h.account("A"), "d.x", "", func(found bool) { told <- found })
	told.expect(t, false)
	b, c := h.login("b"), h.login("c")
	b.sub("b.> 1")
	told.expect(t, true)
	c.sub("c.x 1")
	b.send("UNSUB 1\r\n")
	b.flush()
	h.reload(config(false))
	told.expect(t, false) // C still subscribes, but imports nothing any more
	h.reload(config(true))
	told.expect(t, true)
	c.send("UNSUB 1\r\n")
	told.expect(t, false)
	cancel()
	c.sub("c.x 1")
	select {
	case found := <-told:
		t.Errorf("told %v after the watch was cancelled", found)
	case <-time.After(10 * time.Millisecond):
	}
}
