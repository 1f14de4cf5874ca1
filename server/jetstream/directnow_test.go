package jetstream_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestDirectGetNow: what is answered on the spot is what a lane answers, to which a long body goes.
func TestDirectGetNow(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"allow_direct":true,"max_msgs_per_subject":1`)
	s.stream("M", `"subjects":["m.>"],"allow_direct":true,"storage":"memory"`)
	s.stream("N", `"subjects":["n.>"]`)
	for _, subject := range []string{"s.a", "s.b", "s.a", "m.a"} {
		m := nats.NewMsg(subject)
		m.Header.Set("X", strings.Repeat("x", 10))
		m.Data = bytes.Repeat([]byte(subject), 200)
		if _, err := s.conn.RequestMsg(m, servertest.Patience); err != nil {
			t.Fatal(err)
		}
	}
	get := func(stream, body string) *nats.Msg {
		t.Helper()
		m, err := s.conn.Request("$JS.API.DIRECT.GET."+stream, []byte(body), servertest.Patience)
		if err != nil {
			t.Fatalf("get %s %s: %v", stream, body, err)
		}
		m.Subject = ""
		return m
	}
	for _, c := range []struct{ stream, body, status, sequence string }{
		{"S", `{"seq":3}`, "", "3"},
		{"S", `{"seq":3,"no_hdr":true}`, "", ""},
		{"S", `{"seq":1}`, "404", ""}, // replaced
		{"S", `{"seq":4}`, "404", ""},
		{"S", `{"last_by_subj":"s.a"}`, "", "3"},
		{"S", `{"last_by_subj":"s.c"}`, "404", ""},
		{"S", `{"last_by_subj":"s.*"}`, "", "3"},
		{"S", `{"last_by_subj":"s.a","seq":1}`, "408", ""},
		{"S", `{"next_by_subj":"s.>","seq":1}`, "", "2"},
		{"M", `{"last_by_subj":"m.a"}`, "", "1"},
	} {
		now, later := get(c.stream, c.body), get(c.stream, c.body+strings.Repeat(" ", 300))
		if got := now.Header.Get("Status"); got != c.status || now.Header.Get("Nats-Sequence") != c.sequence {
			t.Errorf("%s %s: status %q and header %v, want %q and sequence %q", c.stream, c.body, got, now.Header, c.status, c.sequence)
		}
		if len(now.Header) != len(later.Header) || !bytes.Equal(now.Data, later.Data) {
			t.Errorf("%s %s: %v and %d bytes, from a lane %v and %d", c.stream, c.body, now.Header, len(now.Data), later.Header, len(later.Data))
		}
		for name, values := range later.Header {
			if got := now.Header.Get(name); got != values[0] {
				t.Errorf("%s %s: %s is %q, from a lane %q", c.stream, c.body, name, got, values[0])
			}
		}
	}
	if m, err := s.conn.Request("$JS.API.DIRECT.GET.N", []byte(`{"seq":1}`), servertest.Patience); err == nil {
		t.Errorf("a stream that does not allow it answers %v", m.Header)
	}
	if m := get("S.s.b", ""); m.Header.Get("Nats-Sequence") != "2" {
		t.Errorf("the last of s.b: %v", m.Header)
	}
	s.restart()
	if m := get("S.s.b", ""); m.Header.Get("Nats-Sequence") != "2" {
		t.Errorf("the last of s.b after a restart: %v", m.Header)
	}
}
