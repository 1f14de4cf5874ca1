package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

const traceConfig = `
system_account: SYS
jetstream { store_dir: %q }
accounts {
  SYS { users [ {user: sys, password: sys} ], exports [ {service: "$SYS.DEBUG.SUBSCRIBERS"}, {service: "$SYS.REQ.ACCOUNT.*.INFO", account_token_position: 4} ] }
  A {
    jetstream: enabled
    users [ {user: a, password: a} ]
    exports [ {service: "ask.*", allow_trace: true}, {stream: "s.>"} ]
    mappings { old: new }
    msg_trace { dest: "traces.all", sampling: 100 }
    limits { max_connections: 100, max_payload: 65536 }
  }
  B {
    users [ {user: b, password: b} ]
    imports [ {service: {account: A, subject: "ask.*"}, to: "q.$1"}, {stream: {account: A, subject: "s.>"}, prefix: "a", allow_trace: true},
      {service: {account: SYS, subject: "$SYS.DEBUG.SUBSCRIBERS"}}, {service: {account: SYS, subject: "$SYS.REQ.ACCOUNT.B.INFO"}} ]
  }
}`

// report is what is published about a message.
type report struct {
	Server  struct{ Name, ID, Ver string }
	Request struct {
		Header  map[string][]string
		MsgSize int `json:"msgsize"`
	}
	Events []struct {
		Type, Name, Acc, Subj, To, From, Stream, Subject, Sub, Queue, Error string
		TS                                                                  string
		Kind                                                                int
		CID                                                                 uint64
	}
}

// steps are the events in short.
func (r *report) steps() string {
	var all []string
	for i := range r.Events {
		e := &r.Events[i]
		all = append(all, strings.Join(strings.Fields(fmt.Sprintln(e.Type, e.Acc, e.From, e.Subj, e.To, e.Stream, e.Subject, e.Sub, e.Queue, e.Error)), " "))
	}
	return strings.Join(all, "; ")
}

// TestMessageTrace asks for the ways of messages through everything that one server has.
func TestMessageTrace(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(traceConfig, t.TempDir()))
	a, b := servertest.Connect(t, s, nats.UserInfo("a", "a")), servertest.Connect(t, s, nats.UserInfo("b", "b"))
	js, err := a.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}}); err != nil {
		t.Fatal(err)
	}
	subscribe := func(nc *nats.Conn, subject string) *nats.Subscription {
		t.Helper()
		sub, err := nc.SubscribeSync(subject)
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	reports := map[string]*nats.Subscription{"a": subscribe(a, "way"), "b": subscribe(b, "way"), "all": subscribe(a, "traces.all")}
	subscribe(a, "new")
	subscribe(b, "a.s.*")
	if _, err := a.Subscribe("ask.*", func(m *nats.Msg) { _ = m.Respond([]byte("yes")) }); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, tt := range []struct {
		from, subject, header, told, want string
	}{
		{"a", "old", "", "a", "in A old; sm new; eg new"},
		{"a", "s.1", "", "a", "in A s.1; se B a.s.1; eg B a.s.*"},
		{"b", "q.1", "", "b", "in B q.1; si A q.1 ask.1; eg A ask.*"},
		{"a", "orders.1", "", "a", "in A orders.1; js ORDERS orders.1"},
		{"a", "orders.2", "only", "a", "in A orders.2; js ORDERS orders.2"},
		{"a", "orders.3", "expect", "a", "in A orders.3; js ORDERS orders.3 wrong last sequence: 1"},
		{"a", "old", "parent", "all", "in A old; sm new; eg new"},
	} {
		m := nats.NewMsg(tt.subject)
		m.Data = []byte("hello")
		if tt.header == "parent" {
			m.Header.Set("traceparent", parent)
		} else {
			m.Header.Set("Nats-Trace-Dest", "way")
		}
		switch tt.header {
		case "only":
			m.Header.Set("Nats-Trace-Only", "true")
		case "expect":
			m.Header.Set("Nats-Expected-Last-Sequence", "77")
		}
		if err := map[string]*nats.Conn{"a": a, "b": b}[tt.from].PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		var r report
		data := next(t, reports[tt.told]).Data
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		if got := r.steps(); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.subject, tt.header, got, tt.want)
		}
		if r.Server.ID != s.ID() || r.Request.MsgSize < 30 || len(r.Request.Header) == 0 || r.Events[0].CID == 0 || r.Events[0].TS == "" {
			t.Errorf("%s: report %s", tt.subject, data)
		}
	}
	info, err := js.StreamInfo("ORDERS")
	if err != nil || info.State.Msgs != 1 {
		t.Errorf("the stream has %+v, %v; want 1 message", info, err)
	}
	stored, err := js.GetMsg("ORDERS", 1)
	if err != nil || stored.Header.Get("Nats-Trace-Dest") != "trace disabled" {
		t.Errorf("stored %+v, %v", stored, err)
	}
}

// TestAccountSharing checks that /accountz and $SYS show what accounts share and rewrite.
func TestAccountSharing(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(traceConfig, t.TempDir()))
	sys := servertest.Connect(t, s, nats.UserInfo("sys", "sys"))
	for account, want := range map[string]string{
		"A": `"limits":{"max_connections":100,"max_payload":65536},"mappings":{"old":[{"subject":"new","weight":100}]},"exports":[` +
			`{"subject":"ask.*","type":"service","response_type":"Singleton"},{"subject":"s.\u003e","type":"stream"}]`,
		"B": `"imports":[{"subject":"ask.*","account":"A","to":"q.*","local_subject":"q.*","type":"service","invalid":false,"share":false,"tracking":false},` +
			`{"subject":"s.\u003e","account":"A","local_subject":"a.s.\u003e","type":"stream","invalid":false,"share":false,"tracking":false},`,
	} {
		for _, subject := range []string{"$SYS.REQ.ACCOUNT." + account + ".INFO", "$SYS.REQ.SERVER.PING.ACCOUNTZ"} {
			m, err := sys.Request(subject, fmt.Appendf(nil, `{"account":%q}`, account), servertest.Patience)
			if err != nil || !strings.Contains(string(m.Data), want) {
				t.Errorf("%s: got %s, %v, want %s", subject, m.Data, err, want)
			}
		}
	}
}

// TestImportedServices checks that accounts can import services of the system account, and that those who get a subject by
// an import count among its subscribers.
func TestImportedServices(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(traceConfig, t.TempDir()))
	sys, b := servertest.Connect(t, s, nats.UserInfo("sys", "sys")), servertest.Connect(t, s, nats.UserInfo("b", "b"))
	if _, err := b.SubscribeSync("a.s.*"); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		nc                  *nats.Conn
		subject, body, want string
	}{
		{sys, "$SYS.REQ.ACCOUNT.NSUBS", `{"acc":"A","subject":"s.1"}`, "1"},
		{sys, "$SYS.REQ.ACCOUNT.NSUBS", `{"acc":"B","subject":"a.s.1"}`, "1"},
		{sys, "$SYS.REQ.ACCOUNT.NSUBS", `{"acc":"A","subject":"t.1"}`, "0"},
		{b, "$SYS.DEBUG.SUBSCRIBERS", "a.s.1", "1"},
		{b, "$SYS.DEBUG.SUBSCRIBERS", "s.1", "0"},
		{b, "$SYS.REQ.ACCOUNT.B.INFO", "", `"account_name":"B"`},
	} {
		m, err := tt.nc.Request(tt.subject, []byte(tt.body), servertest.Patience)
		if err != nil || !strings.Contains(string(m.Data), tt.want) {
			t.Errorf("%s %s: got %v, %v, want %s", tt.subject, tt.body, m, err, tt.want)
		}
	}
	if _, err := b.Request("$SYS.REQ.ACCOUNT.A.INFO", nil, servertest.Patience); err == nil {
		t.Error("an account is told about another one")
	}
}
