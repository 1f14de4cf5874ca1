package system_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/s2"

	"runnel/headers"
	"runnel/server/monitor"
	"runnel/server/system"
)

var serverNames = strings.Fields("IDZ STATSZ VARZ CONNZ SUBSZ ROUTEZ GATEWAYZ LEAFZ ACCOUNTZ JSZ HEALTHZ EXPVARZ IPQUEUESZ RAFTZ PROFILEZ")

// TestServices asks every service once and looks for words in the answer.
func TestServices(t *testing.T) {
	const ping, own, account = "$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.NABC", "$SYS.REQ.ACCOUNT"
	tests := []struct{ subject, body, want string }{
		{ping, "", `"statsz":{"start":"1999-12-31T23:00:00Z"`},
		{ping + ".IDZ", "", `{"name":"srv1","host":"0.0.0.0","id":"NABC"}`},
		{ping + ".STATSZ", "", `"active_accounts":2`},
		{ping + ".VARZ", "", `"data":{"server_id":"NABC","server_name":"srv1"`},
		{ping + ".CONNZ", "", `"num_connections":3`},
		{ping + ".CONNZ", `{"limit":1,"offset":1}`, `"connections":[{"cid":8,`},
		{ping + ".CONNZ", `{"acc":"SYS","subscriptions":true}`, `"subscriptions_list":["$SYS.\u003e"]`},
		{ping + ".SUBSZ", "", `"num_subscriptions":3`},
		{ping + ".SUBSZ", `{"subscriptions":true,"account":"SYS"}`, `"subscriptions_list":[{"account":"SYS"`},
		{ping + ".ROUTEZ", "", `"routes":[]`},
		{ping + ".GATEWAYZ", "", `"outbound_gateways":{}`},
		{ping + ".LEAFZ", "", `"leafs":[]`},
		{ping + ".ACCOUNTZ", "", `"accounts":["A","B","SYS"]`},
		{ping + ".ACCOUNTZ", `{"account":"A"}`, `"account_detail":{"account_name":"A"`},
		{ping + ".ACCOUNTZ", `{"account":"Z"}`, `"error":{"code":400,"description":"Account Z does not exist"}`},
		{ping + ".JSZ", `{"accounts":true,"limit":9223372036854775807,"offset":9223372036854775807}`, `"disabled":true`},
		{ping + ".HEALTHZ", "", `"data":{"status":"ok","status_code":200}`},
		{ping + ".HEALTHZ", `{"stream":"s"}`, `"status_code":400`},
		{ping + ".EXPVARZ", "", `"memstats":{`},
		{ping + ".IPQUEUESZ", "", `"data":{"busy":{"pending":1}}`},
		{ping + ".IPQUEUESZ", `{"all":true}`, `"idle":{"pending":0}`},
		{ping + ".RAFTZ", "", `"data":{}`},
		{ping + ".PROFILEZ", "", `"data":{"profile":null,"error":"Profile name not specified"}`},
		{own + ".PROFILEZ", `{"name":"goroutine","debug":1}`, `"data":{"profile":"`},
		{own + ".IDZ", "", `{"name":"srv1"`},
		{own + ".VARZ", "", `"data":{"server_id":"NABC"`},
		{own + ".CONNZ", `{"cid":7,"auth":true}`, `"authorized_user":"ann"`},
		{account + ".A.SUBSZ", "", `"subscriptions_list":[{"account":"A","subject":"foo.*","qgroup":"q1"`},
		{account + ".A.CONNZ", `{"acc":"SYS"}`, `"num_connections":2`},
		{account + ".A.LEAFZ", "", `"leafs":[]`},
		{account + ".A.JSZ", "", `"error":{"code":500,"description":"jetstream not enabled"}`},
		{account + ".A.INFO", "", `"data":{"account_name":"A"`},
		{account + ".Z.INFO", "", `"error":{"code":400,"description":"Account Z does not exist"}`},
		{account + ".A.STATZ", "", `"account_statz":[{"acc":"A","name":"team a","conns":2`},
		{account + ".B.STATZ", "", `"account_statz":[{"acc":"B"`},
		{account + ".Z.STATZ", "", `"account_statz":[]`},
		{account + ".A.CONNS", "", `{"type":"io.nats.server.advisory.v1.account_connections","id":"`},
		{account + ".Z.CONNS", "", `"error":{"code":400`},
		{account + ".PING.STATZ", "", `"account_statz":[{"acc":"A"`},
		{account + ".PING.STATZ", `{"accounts":["B"],"include_unused":true}`, `"account_statz":[{"acc":"B"`},
		{account + ".PING.CONNZ", "", `"num_connections":3`},
		{account + ".PING.INFO", "", `Account PING does not exist`},
		{account + ".NSUBS", `{"acc":"A","subject":"foo.1"}`, `2`},
		{account + ".NSUBS", `{"acc":"A","subject":"foo.1","queue":"q1"}`, `1`},
		{account + ".NSUBS", `{"acc":"A","subject":"*.1"}`, `2`},
		{account + ".NSUBS", `{"acc":"Z","subject":"foo.1"}`, `0`},
		{"$SYS.DEBUG.SUBSCRIBERS", "$SYS.x", `1`},
		{"$SYS.DEBUG.SUBSCRIBERS", " $SYS.x  q ", `0`},
		{"$SYS.DEBUG.SUBSCRIBERS", "", `"code":400`},
		{"$SYS.DEBUG.SUBSCRIBERS", "$SYS.*", `1`},
		{"$SYS.DEBUG.SUBSCRIBERS", "foo..x", `"code":400`},
		{"$SYS.REQ.USER.INFO", "", `"data":{"user":"ann","account":"SYS","account_name":"SYS"}`},
	}
	inWorld(t, func(w *world) {
		for _, tt := range tests {
			replies := w.ask("SYS", tt.subject, tt.body)
			if len(replies) != 1 || !strings.Contains(string(replies[0].payload), tt.want) {
				t.Errorf("%s %s: got %s, want one reply with %s", tt.subject, tt.body, texts(replies), tt.want)
			}
		}
	})
}

// TestServicesJetStream asks a server on which account A uses JetStream.
func TestServicesJetStream(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.mu.Lock()
		w.source.jetStream = []monitor.JetStreamAccount{{Name: "A", ID: "A", JetStreamStats: monitor.JetStreamStats{StorageBytes: 7}}}
		w.source.mu.Unlock()
		for _, tt := range []struct{ subject, body, want string }{
			{"$SYS.REQ.SERVER.PING.JSZ", "", `"streams":1,`},
			{"$SYS.REQ.SERVER.PING.JSZ", `{"account":"A","streams":true}`, `"stream_detail":[{"name":"ORDERS-A"`},
			{"$SYS.REQ.ACCOUNT.A.JSZ", "", `"data":{"name":"A","id":"A","memory":0,"storage":7,`},
			{"$SYS.REQ.ACCOUNT.A.JSZ", `{"streams":true,"account":"B"}`, `"stream_detail":[{"name":"ORDERS-A"`},
			{"$SYS.REQ.ACCOUNT.B.JSZ", "", `"error":{"code":500,"description":"account \"B\" not jetstream enabled"}`},
			{"$SYS.REQ.ACCOUNT.Z.JSZ", "", `"error":{"code":500,"description":"account \"Z\" not found"}`},
			{"$SYS.REQ.SERVER.PING.STATSZ", "", `"jetstream":{"config":{`},
			{"$SYS.REQ.ACCOUNT.A.INFO", "", `"jetstream_enabled":true`},
		} {
			replies := w.ask("SYS", tt.subject, tt.body)
			if len(replies) != 1 || !strings.Contains(string(replies[0].payload), tt.want) {
				t.Errorf("%s %s: got %s, want one reply with %s", tt.subject, tt.body, texts(replies), tt.want)
			}
		}
	})
}

func texts(messages []message) string {
	var list []string
	for _, m := range messages {
		list = append(list, string(m.payload))
	}
	return fmt.Sprintf("%d: %s", len(list), strings.Join(list, "\n"))
}

func TestUnknownNamesHaveNoResponder(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, subject := range []string{
			"$SYS.REQ.SERVER.PING.FOO", "$SYS.REQ.SERVER.NABC.FOO", "$SYS.REQ.SERVER.NOTHER.VARZ", "$SYS.REQ.SERVER.PING.KICK",
			"$SYS.REQ.SERVER.PING.RELOAD", "$SYS.REQ.ACCOUNT.A.FOO", "$SYS.REQ.ACCOUNT.A", "$SYS.REQ.FOO", "$SYS.REQ.SERVER.PING.VARZ.X",
		} {
			if n := w.bus.request("SYS", system.Request{Subject: subject, Reply: "r"}); n != 0 {
				t.Errorf("%s: %d services took it, want none", subject, n)
			}
		}
		for _, subject := range []string{"$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.NABC.VARZ", "$SYS.REQ.ACCOUNT.A.INFO", "$SYS.DEBUG.SUBSCRIBERS"} {
			if n := w.bus.request("A", system.Request{Subject: subject, Reply: "r"}); n != 0 {
				t.Errorf("%s by an ordinary account: %d services took it, want none", subject, n)
			}
		}
	})
}

// TestOrdinaryAccounts checks that users see their own account and nothing else.
func TestOrdinaryAccounts(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, subject := range []string{"$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.ACCOUNT.PING.CONNZ"} {
			for _, body := range []string{"", `{"acc":"SYS"}`, `{"cid":9}`, `{"acc":"","state":2,"auth":true}`} {
				_, text := w.one("A", subject, body)
				if strings.Contains(text, `"cid":9`) || strings.Contains(text, `"SYS"`) {
					t.Errorf("%s %s shows another account: %s", subject, body, text)
				}
			}
			if _, text := w.one("A", subject, ""); !strings.Contains(text, `"num_connections":2`) {
				t.Errorf("%s: got %s, want the 2 own connections", subject, text)
			}
		}
		for _, body := range []string{"", `{"accounts":["SYS","B"],"include_unused":true}`} {
			_, text := w.one("A", "$SYS.REQ.ACCOUNT.PING.STATZ", body)
			if strings.Count(text, `"acc":`) != 1 || !strings.Contains(text, `"acc":"A"`) {
				t.Errorf("STATZ %s: got %s, want account A alone", body, text)
			}
		}
		if n := w.bus.request("A", system.Request{Subject: "$SYS.REQ.USER.INFO", Reply: "r"}); n != 1 {
			t.Fatalf("%d services took it, want 1", n)
		}
		synctest.Wait()
		if got := w.bus.take(); len(got) != 0 {
			t.Errorf("somebody without an account got %s", texts(got))
		}
	})
}

// TestImportedService checks what a user gets whose account imports a service of the system account: the answer goes back
// the way the request came, and counts are about the own account.
func TestImportedService(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, tt := range []struct{ subject, body, want string }{
			{"$SYS.DEBUG.SUBSCRIBERS", "foo.1", "2"},
			{"$SYS.DEBUG.SUBSCRIBERS", "$SYS.x", "0"},
			{"$SYS.REQ.ACCOUNT.A.STATZ", "", `"account_statz":[{"acc":"A"`},
		} {
			w.bus.request("SYS", system.Request{
				Subject: tt.subject, Reply: "_R_.1", Payload: []byte(tt.body), Requester: system.Requester{CID: 7, Account: "A", User: "ann"},
			})
			synctest.Wait()
			got := w.bus.take()
			if len(got) != 1 || got[0].account != "SYS" || got[0].subject != "_R_.1" || !strings.Contains(string(got[0].payload), tt.want) {
				t.Errorf("%s %s: got %+v, want %s on _R_.1 in SYS", tt.subject, tt.body, texts(got), tt.want)
			}
		}
	})
}

func TestUserInfo(t *testing.T) {
	inWorld(t, func(w *world) {
		w.bus.request("A", system.Request{Subject: "$SYS.REQ.USER.INFO", Reply: "_INBOX.1", Requester: system.Requester{
			CID: 7, Account: "A", AccountName: "team a", User: "UKEY", UserName: "ann", Expires: time.Minute,
			Permissions: &system.Permissions{
				Publish:   &system.SubjectPermissions{Allow: []string{"foo.>", "$SYS.REQ.>"}, Deny: []string{"bar"}},
				Subscribe: &system.SubjectPermissions{Allow: []string{"x"}},
				Responses: &system.ResponsePermissions{MaxMsgs: 3, Expires: 2 * time.Second},
			},
		}})
		synctest.Wait()
		var a answer
		if err := json.Unmarshal(w.bus.take()[0].payload, &a); err != nil {
			t.Fatal(err)
		}
		want := `{"user":"UKEY","account":"A","account_name":"team a","user_name":"ann","permissions":{` +
			`"publish":{"allow":["foo.\u003e","$SYS.REQ.\u003e"],"deny":["bar"]},"subscribe":{"allow":["x"]},` +
			`"responses":{"max":3,"ttl":2000000000}},"expires":60000000000}`
		if string(a.Data) != want {
			t.Errorf("got %s\nwant %s", a.Data, want)
		}
	})
}

// TestBadBodies checks that what cannot be read is never met with silence.
func TestBadBodies(t *testing.T) {
	var subjects []string
	for _, name := range serverNames {
		subjects = append(subjects, "$SYS.REQ.SERVER.PING."+name)
	}
	for name := range strings.FieldsSeq("SUBSZ CONNZ LEAFZ JSZ INFO STATZ CONNS") {
		subjects = append(subjects, "$SYS.REQ.ACCOUNT.A."+name)
	}
	subjects = append(subjects, strings.Fields("$SYS.REQ.SERVER.PING $SYS.REQ.ACCOUNT.NSUBS $SYS.REQ.ACCOUNT.PING.STATZ "+
		"$SYS.REQ.SERVER.NABC.KICK $SYS.REQ.SERVER.NABC.LDM $SYS.REQ.SERVER.NABC.CONNZ $SYS.REQ.SERVER.NABC.SUBSZ")...)
	bodies := []string{"{", "x", "[]", "1", `{"cid":1}}`, `{"tags":1,"cid":"x"}`, "\x00", strings.Repeat("[", 20_000)}
	inWorld(t, func(w *world) {
		for _, subject := range subjects {
			for _, body := range bodies {
				if strings.HasSuffix(body, `"x"}`) && strings.HasSuffix(subject, "NABC.SUBSZ") {
					continue // no such member there
				}
				a, text := w.one("SYS", subject, body)
				if a.Error == nil || a.Error.Code != 400 || a.Server == nil || a.Server.ID != "NABC" || len(text) > 2000 {
					t.Errorf("%s %.20q: got %.200s, want an envelope with error 400", subject, body, text)
				}
			}
		}
		a, _ := w.one("A", "$SYS.REQ.ACCOUNT.PING.CONNZ", "{")
		if a.Error == nil || a.Error.Code != 400 {
			t.Errorf("ordinary account: got %+v, want error 400", a.Error)
		}
	})
}

// TestBadOptions checks that the error names the member and what it may be.
func TestBadOptions(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"CONNZ", `{"sort":"beauty"}`, "one of cid, start"},
		{"CONNZ", `{"sort":"stop"}`, "closed"},
		{"CONNZ", `{"limit":1.5}`, "limit"},
		{"CONNZ", `{"offset":9223372036854775808}`, "offset"},
		{"CONNZ", `{"state":9}`, "open (0), closed (1) or any (2)"},
		{"SUBSZ", `{"test":"a.*"}`, "without wildcards"},
		{"JSZ", `{"limit":"x"}`, "limit"},
		{"HEALTHZ", `{"js-server-only":1}`, "true or false"},
		{"PROFILEZ", `{"duration":"1s"}`, "duration"},
	}
	inWorld(t, func(w *world) {
		for _, tt := range tests {
			a, text := w.one("SYS", "$SYS.REQ.SERVER.PING."+tt.name, tt.body)
			if a.Error == nil || a.Error.Code != 400 || a.Data != nil || !strings.Contains(a.Error.Description, tt.want) {
				t.Errorf("%s %s: got %s, want error 400 with %q", tt.name, tt.body, text, tt.want)
			}
		}
	})
}

func TestFilters(t *testing.T) {
	tests := []struct {
		body string
		fits bool
	}{
		{``, true},
		{`null`, true},
		{`{}`, true},
		{`{"server_name":"srv1"}`, true},
		{`{"server_name":"rv"}`, true},
		{`{"server_name":"rv","exact_match":true}`, false},
		{`{"server_name":"srv1","exact_match":true}`, true},
		{`{"server_name":"other"}`, false},
		{`{"host":"0.0"}`, true},
		{`{"host":"0.0","exact_match":true}`, false},
		{`{"host":"1.1"}`, false},
		{`{"cluster":"ea"}`, true},
		{`{"cluster":"west"}`, false},
		{`{"cluster":"east","exact_match":true,"host":"0.0.0.0"}`, true},
		{`{"tags":["x"]}`, true},
		{`{"tags":["X","AZ:1"]}`, true},
		{`{"tags":["x","nope"]}`, false},
		{`{"tags":[]}`, true},
		{`{"domain":"hub"}`, true},
		{`{"domain":"hu"}`, false},
		{`{"server_name":"srv","tags":["nope"]}`, false},
	}
	inWorld(t, func(w *world) {
		for _, tt := range tests {
			for _, subject := range []string{"$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.PING.VARZ", "$SYS.REQ.ACCOUNT.A.INFO"} {
				if got := len(w.ask("SYS", subject, tt.body)) == 1; got != tt.fits {
					t.Errorf("%s %s: answered %v, want %v", subject, tt.body, got, tt.fits)
				}
			}
			if len(w.ask("SYS", "$SYS.REQ.SERVER.NABC.VARZ", tt.body)) != 1 {
				t.Errorf("%s: a request for this very server was not answered", tt.body)
			}
		}
	})
}

func TestActions(t *testing.T) {
	const own = "$SYS.REQ.SERVER.NABC."
	inWorld(t, func(w *world) {
		tests := []struct{ name, body, want string }{
			{"KICK", `{"cid":7}`, ""},
			{"KICK", `{"cid":99}`, `"code":500,"description":"no such client or leafnode id"`},
			{"KICK", ``, `"code":400`},
			{"KICK", `{"cid":-1}`, `"code":400`},
			{"LDM", `{"cid":7}`, ""},
			{"LDM", `{"cid":99}`, `"code":500,"description":"no such client id"`},
			{"RELOAD", ``, ""},
		}
		for _, tt := range tests {
			a, text := w.one("SYS", own+tt.name, tt.body)
			if (a.Error == nil) != (tt.want == "") || a.Data != nil || !strings.Contains(text, tt.want) {
				t.Errorf("%s %s: got %s, want %q", tt.name, tt.body, text, tt.want)
			}
		}
		if got, want := w.actions.all(), "kick kick ldm ldm reload"; got != want {
			t.Errorf("got actions %s, want %s", got, want)
		}
		w.actions.changes = []string{"max_payload: old=\"1\", new=\"2\""}
		if a, text := w.one("SYS", own+"RELOAD", ""); a.Error != nil || !strings.Contains(text, `"data":{"changes":["max_payload: old=\"1\", new=\"2\""]}`) {
			t.Errorf("RELOAD: got %s, want what has changed", text)
		}
		w.actions.err = errors.New("bad line 7")
		if a, text := w.one("SYS", own+"RELOAD", ""); a.Error == nil || a.Error.Code != 500 || a.Error.Description != "bad line 7" {
			t.Errorf("RELOAD: got %s, want the error", text)
		}
	})
}

// TestWithoutReply checks that an action happens though nobody waits for its outcome.
func TestWithoutReply(t *testing.T) {
	inWorld(t, func(w *world) {
		from := system.Requester{Account: "SYS"}
		w.bus.request("SYS", system.Request{Subject: "$SYS.REQ.SERVER.NABC.KICK", Payload: []byte(`{"cid":7}`), Requester: from})
		w.bus.request("SYS", system.Request{Subject: "$SYS.REQ.SERVER.PING.VARZ", Requester: from})
		synctest.Wait()
		if got := w.bus.take(); len(got) != 0 || w.actions.all() != "kick" {
			t.Errorf("got %s and actions %q, want no message and the kick", texts(got), w.actions.all())
		}
	})
}

func TestCompression(t *testing.T) {
	gunzip := func(b []byte) ([]byte, error) {
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	}
	unsnappy := func(b []byte) ([]byte, error) {
		if !bytes.HasPrefix(b, []byte("\xff\x06\x00\x00sNaPpY")) {
			return nil, errors.New("not in the framing of snappy")
		}
		return io.ReadAll(s2.NewReader(bytes.NewReader(b)))
	}
	plain := func(b []byte) ([]byte, error) { return b, nil }
	tests := []struct {
		accept, encoding string
		decode           func([]byte) ([]byte, error)
	}{
		{"snappy", "snappy", unsnappy},
		{"s2", "snappy", unsnappy},
		{"Snappy", "snappy", unsnappy},
		{"gzip", "gzip", gunzip},
		{"gzip, snappy", "snappy", unsnappy},
		{"zz , gzip", "gzip", gunzip},
		{"gzipped", "identity", plain},
		{"", "identity", plain},
	}
	inWorld(t, func(w *world) {
		for _, tt := range tests {
			header := headers.Build(headers.Field{Name: "Accept-Encoding", Value: tt.accept})
			m := w.askWith("SYS", "$SYS.REQ.SERVER.PING.VARZ", "", header)[0]
			encoding, _ := headers.Get(m.header, "Content-Encoding")
			body, err := tt.decode(m.payload)
			if string(encoding) != tt.encoding || err != nil || !json.Valid(body) {
				t.Errorf("%q: got %q %.60q %v, want JSON in %s", tt.accept, encoding, m.payload, err, tt.encoding)
			}
		}
		if m := w.ask("SYS", "$SYS.REQ.SERVER.PING.VARZ", "")[0]; m.header != nil || !json.Valid(m.payload) {
			t.Errorf("unasked: got header %q and %.60q, want plain JSON", m.header, m.payload)
		}
	})
}

// TestHugeReply checks that an answer too large for its reader becomes an error.
func TestHugeReply(t *testing.T) {
	inWorld(t, func(w *world) {
		for i := range 34 {
			w.source.accounts = append(w.source.accounts, monitor.Account{Name: strings.Repeat(string(rune('a'+i%26)), 1<<20)})
		}
		a, text := w.one("SYS", "$SYS.REQ.SERVER.PING.ACCOUNTZ", "")
		if a.Error == nil || a.Error.Code != 413 || len(text) > 1000 {
			t.Errorf("got %.200s, want error 413", text)
		}
	})
}

// FuzzRequests sends arbitrary bodies to every service: each is answered with valid JSON, or by nobody
// because its filter is for other servers.
func FuzzRequests(f *testing.F) {
	var subjects []string
	for _, name := range serverNames {
		if name != "PROFILEZ" { // takes as long as it is told to
			subjects = append(subjects, "$SYS.REQ.SERVER.PING."+name, "$SYS.REQ.SERVER.NABC."+name)
		}
	}
	subjects = append(subjects, strings.Fields("$SYS.REQ.ACCOUNT.A.CONNZ $SYS.REQ.ACCOUNT.A.STATZ $SYS.REQ.ACCOUNT.A.CONNS "+
		"$SYS.REQ.ACCOUNT.NSUBS $SYS.DEBUG.SUBSCRIBERS $SYS.REQ.SERVER.NABC.KICK $SYS.REQ.USER.INFO")...)
	for i, body := range []string{"", "{", `{"server_name":"x"}`, `{"limit":-1,"offset":9223372036854775807}`, `{"acc":"A","subject":"foo.1"}`, "foo q"} {
		f.Add(uint8(i*7), body)
	}
	bus, source := &fakeBus{}, newSource()
	s := system.New(system.Config{Bus: bus, Pages: monitor.New(source), Actions: &fakeActions{}})
	if err := s.Start(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, selector uint8, body string) {
		subject := subjects[int(selector)%len(subjects)]
		bus.request("SYS", system.Request{
			Subject: subject, Reply: "r", Payload: []byte(body), Requester: system.Requester{Account: "SYS"},
		})
		s.AnswerAll(t.Context())
		got := bus.take()
		if len(got) > 1 || len(got) == 0 && (strings.Contains(subject, ".NABC.") || strings.Contains(subject, "DEBUG")) {
			t.Fatalf("%s: got %d replies", subject, len(got))
		}
		for _, m := range got {
			if !json.Valid(m.payload) {
				t.Fatalf("%s: reply %q is not JSON", subject, m.payload)
			}
		}
	})
}

func BenchmarkPing(b *testing.B) {
	bus := &fakeBus{}
	s := system.New(system.Config{Bus: bus, Pages: monitor.New(newSource()), Actions: &fakeActions{}})
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	r := system.Request{Subject: "$SYS.REQ.SERVER.PING", Reply: "r", Requester: system.Requester{Account: "SYS"}}
	b.ReportAllocs()
	for b.Loop() {
		bus.request("SYS", r)
		s.AnswerAll(b.Context())
		bus.take()
	}
}
