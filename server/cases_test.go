package server_test

import (
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"runnel/conf"
	"runnel/server/servertest"
)

// The tests of this file are public reports about servers of this kind, by number, each with relatives of the
// fault that it stands for.

// TestCaseC001 sends sizes that fit no number type: each ends its connection only, and allocates nothing.
func TestCaseC001(t *testing.T) {
	s := servertest.Start(t, "")
	const tooLarge = "-ERR 'Maximum Payload Violation'"
	tests := []struct{ send, want string }{
		{"PUB foo 18446744073709551617", tooLarge},
		{"PUB foo 9223372036854775807", tooLarge},
		{"PUB foo 9223372036854775808", tooLarge},
		{"PUB foo 9999999999", tooLarge},
		{"PUB foo 4294967297", tooLarge},
		{"PUB foo 1048577", tooLarge},
		{"PUB foo 0000000000001048577", tooLarge},
		{"PUB foo reply 18446744073709551617", tooLarge},
		{"PUB foo " + strings.Repeat("9", 1000), tooLarge},
		{"HPUB foo 12 18446744073709551617", tooLarge},
		{"PUB foo -1", ""},
		{"PUB foo +1", ""},
		{"PUB foo 1a", ""},
		{"PUB foo 0x10", ""},
		{"PUB foo 1.5", ""},
		{"PUB foo 1e3", ""},
		{"PUB foo ٣", ""},
		{"HPUB foo 18446744073709551617 5", ""},
		{"HPUB foo -1 5", ""},
		{"HPUB foo 4294967308 12", ""},
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, tt := range tests {
		c := servertest.DialQuiet(t, s)
		c.Send(tt.send + "\r\n")
		if tt.want != "" {
			c.Expect(tt.want)
		}
		c.ExpectClosed()
		servertest.DialQuiet(t, s).Close()
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
	// UNSUB has a number too: one beyond all counting is never reached.
	c := servertest.DialQuiet(t, s)
	c.Send("SUB foo 1\r\nUNSUB 1 18446744073709551617\r\nPUB foo 0\r\n\r\n")
	c.Expect("MSG foo 1 0", "")
	for _, n := range []string{"-1", "1x"} {
		c := servertest.DialQuiet(t, s)
		c.Send("SUB foo 1\r\nUNSUB 1 %s\r\n", n)
		c.ExpectClosed()
	}
}

// TestCaseC004 sends HPUB with lengths that contradict each other, and without headers agreed.
func TestCaseC004(t *testing.T) {
	const headers = `CONNECT {"verbose":false,"headers":true}` + "\r\n"
	const none = `CONNECT {"verbose":false,"headers":false}` + "\r\n"
	tests := []struct {
		name, connect, send string
		want                []string
		ends                bool
	}{
		{"header longer than all", headers, "HPUB foo 20 10\r\n01234567890123456789\r\n", nil, true},
		{"header one longer than all", headers, "HPUB foo 13 12\r\nNATS/1.0\r\n\r\nx\r\n", nil, true},
		{"no header", headers, "HPUB foo 0 2\r\nhi\r\n", []string{"MSG foo 9 2", "hi"}, false},
		{"nothing at all", headers, "HPUB foo 0 0\r\n\r\n", []string{"MSG foo 9 0", ""}, false},
		{"header and nothing else", headers, "HPUB foo 12 12\r\nNATS/1.0\r\n\r\n\r\n", []string{"HMSG foo 9 12 12", "NATS/1.0", "", ""}, false},
		{"not agreed", none, "HPUB foo 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", nil, true},
		{"not agreed by default", "CONNECT {\"verbose\":false}\r\n", "HPUB foo 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", nil, true},
		{"limit", headers, "HPUB a 12 64\r\nNATS/1.0\r\n\r\n" + strings.Repeat("x", 52) + "\r\n", nil, false},
		{"headers count towards the limit", headers, "HPUB a 12 65\r\n", []string{"-ERR 'Maximum Payload Violation'"}, true},
		{"lengths missing", headers, "HPUB foo 12\r\n", nil, true},
		{"too many words", headers, "HPUB foo r x 12 14\r\n", nil, true},
	}
	s := servertest.Start(t, "max_payload: 64")
	watch := servertest.DialQuiet(t, s)
	watch.Send("SUB foo 9\r\n")
	watch.Flush()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := servertest.Dial(t, s)
			c.Send(tt.connect + tt.send)
			if tt.ends {
				c.Expect(tt.want...)
				c.ExpectClosed()
			} else {
				c.Flush()
				watch.Expect(tt.want...)
			}
			c.Close()
			watch.Flush() // nothing else was delivered
		})
	}
	// Who takes no headers gets the payload alone.
	bare := servertest.Dial(t, s)
	bare.Send(none + "SUB foo 1\r\n")
	bare.Flush()
	c := servertest.DialQuiet(t, s)
	c.Send("HPUB foo r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
	bare.Expect("MSG foo 1 r 2", "hi")
}

// TestCaseC007 checks where a wildcard sign is a wildcard and where it is a letter.
func TestCaseC007(t *testing.T) {
	s := servertest.Start(t, "")
	tests := []struct {
		pattern string
		yes, no []string
	}{
		{"foo.*x", []string{"foo.*x"}, []string{"foo.ax", "foo.x"}},
		{"foo.x*", []string{"foo.x*"}, []string{"foo.xa", "foo.x"}},
		{"foo.>x", []string{"foo.>x"}, []string{"foo.ax", "foo.a.x"}},
		{"foo.x>", []string{"foo.x>"}, []string{"foo.xa", "foo.x.a"}},
		{"foo.**", []string{"foo.**"}, []string{"foo.ab", "foo.a"}},
		{">x", []string{">x"}, []string{"ax", "x"}},
		{"*", []string{"a", "*", ">"}, []string{"a.b"}},
		{">", []string{"a", "a.b", "*", ">", "a.>"}, []string{"a..b", ".a", "a."}},
		{"foo.*", []string{"foo.a", "foo.*", "foo.>"}, []string{"foo", "foo.a.b", "foo."}},
		{"foo.>", []string{"foo.a", "foo.a.b", "foo.*"}, []string{"foo", "fooa.b", "foo."}},
		{"foo.bar", []string{"foo.bar"}, []string{"foo.*", "foo.>", "FOO.bar"}},
		{"*.b.*", []string{"a.b.c"}, []string{"a.b", "a.x.c", "a.b.c.d"}},
	}
	for _, tt := range tests {
		c := servertest.DialQuiet(t, s)
		c.Send("SUB " + tt.pattern + " 1\r\n")
		for _, subject := range tt.no {
			c.Send("PUB " + subject + " 0\r\n\r\n")
		}
		c.Flush()
		for _, subject := range tt.yes {
			c.Send("PUB " + subject + " 0\r\n\r\n")
			c.Expect("MSG "+subject+" 1 0", "")
		}
		c.Flush()
		c.Close()
	}
	c := servertest.DialQuiet(t, s)
	for _, subject := range []string{"foo.>.bar", "foo.", ".foo", "foo..bar", ".", "..", ">.foo", "*.", "foo.>."} {
		c.Send("SUB " + subject + " 1\r\n")
		c.Expect("-ERR 'Invalid Subject'")
		c.Flush()
	}
}

// TestCaseC010 has one queue group on subjects that overlap: each message goes to one member.
func TestCaseC010(t *testing.T) {
	s := servertest.Start(t, "")
	tests := []struct{ patterns []string }{
		{[]string{"a.b", "a.*"}},
		{[]string{"a.*", "a.>"}},
		{[]string{"a.b", "a.b"}},
		{[]string{"a.b", "a.*", "*.b", "a.>", ">"}},
	}
	for _, tt := range tests {
		for _, separate := range []bool{false, true} { // each member on a connection of its own, or all on one
			const n = 100
			first := servertest.DialQuiet(t, s)
			first.Send("SUB a.b plain\r\n")
			members := []*servertest.Client{first}
			for i, p := range tt.patterns {
				if separate {
					members = append(members, servertest.DialQuiet(t, s))
				}
				members[len(members)-1].Send("SUB %s q queue%d\r\n", p, i)
			}
			for _, m := range members {
				m.Flush()
			}
			publisher := servertest.DialQuiet(t, s)
			publisher.Send("%s", strings.Repeat("PUB a.b 0\r\n\r\n", n))
			publisher.Flush()
			plain, queue := 0, 0
			for _, m := range members {
				m.Send("PING\r\n")
				for line := m.Line(); line != "PONG"; line = m.Line() {
					plain += strings.Count(line, " plain ")
					queue += strings.Count(line, " queue")
				}
				m.Close()
			}
			if plain != n || queue != n {
				t.Errorf("%v, separate %v: %d to the plain subscription and %d to the group, want %d each", tt.patterns, separate, plain, queue, n)
			}
		}
	}
}

// TestCaseC012 looks for ways around a deny: a wildcard, a queue group, both, and a subscription from before.
func TestCaseC012(t *testing.T) {
	s := servertest.Start(t, `authorization { users: [ {user: admin, password: x},
		{user: a, password: x, permissions { publish { deny: "foo.secret" }, subscribe { allow: "foo.>", deny: ["foo.secret", "foo.deep.>"] } } } ] }`)
	admin := dialAs(t, s, "admin", "x")
	wide := []string{"foo.*", "foo.>", "foo.* q"}
	for _, pattern := range wide {
		c := dialAs(t, s, "a", "x")
		c.Send("SUB " + pattern + " 1\r\n")
		c.Flush()
		admin.Send("PUB foo.secret 0\r\n\r\nPUB foo.deep.x 0\r\n\r\nPUB foo.open 0\r\n\r\n")
		c.Expect("MSG foo.open 1 0", "")
		c.Flush()
		c.Close()
	}
	c := dialAs(t, s, "a", "x")
	for _, refused := range []string{"foo.secret", "foo.deep.x", "foo.deep.>", "foo.deep.*", ">", "*.secret", "foo"} {
		c.Send("SUB " + refused + " 1\r\n")
		c.Expect(fmt.Sprintf("-ERR 'Permissions Violation for Subscription to %q'", refused))
		c.Send("SUB " + refused + " q 1\r\n")
		c.Expect(fmt.Sprintf("-ERR 'Permissions Violation for Subscription to %q using queue \"q\"'", refused))
	}
	// Nor does it receive what it may not publish, by publishing to itself.
	c.Send("SUB foo.* 2\r\nPUB foo.secret 0\r\n\r\n")
	c.Expect(`-ERR 'Permissions Violation for Publish to "foo.secret"'`)
	// A denied member does not make a queue group lose messages.
	other := dialAs(t, s, "admin", "x")
	other.Send("SUB foo.secret q 7\r\n")
	other.Flush()
	c.Send("SUB foo.* q 3\r\nUNSUB 2\r\n")
	c.Flush()
	const n = 50
	admin.Send("%s", strings.Repeat("PUB foo.secret 0\r\n\r\n", n))
	for range n {
		other.Expect("MSG foo.secret 7 0", "")
	}
	c.Flush()
}

// TestCaseC015 pages at the edge of the numbers.
func TestCaseC015(t *testing.T) {
	s := servertest.Start(t, "http_port: -1")
	servertest.DialQuiet(t, s)
	numbers := []string{"9223372036854775807", "9223372036854775806", strconv.Itoa(math.MaxInt32), "9223372036854775808", "-1", "-9223372036854775808", "0"}
	for _, path := range []string{"/connz?", "/connz?state=any&", "/subsz?subs=1&", "/subsz?test=a&", "/jsz?", "/jsz?accounts=1&"} {
		for _, offset := range numbers {
			for _, limit := range numbers {
				status, body := get(t, s, path+"offset="+offset+"&limit="+limit)
				outside := offset == "9223372036854775808" || limit == "9223372036854775808"
				if outside && status != http.StatusBadRequest || !outside && status != http.StatusOK {
					t.Errorf("%soffset=%s&limit=%s: %d %s", path, offset, limit, status, body)
				}
			}
		}
	}
	for _, limit := range []string{"1", numbers[0]} {
		if z := page[connz](t, s, "/connz?offset="+numbers[0]+"&limit="+limit); len(z.Connections) != 0 || z.Total != 1 {
			t.Errorf("limit %s: got %+v, want none of one", limit, z)
		}
	}
	if z := page[connz](t, s, "/connz?limit="+numbers[0]); len(z.Connections) != 1 {
		t.Errorf("a huge limit: got %+v, want one", z)
	}
}

// TestCaseC017 sends one NATS message as WebSocket frames of several kinds.
func TestCaseC017(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(plainWeb, ""))
	const connect = `CONNECT {"verbose":false}` + "\r\n"
	t.Run("fragments with a ping between", func(t *testing.T) {
		c := dialWeb(t, s)
		c.frame(frameBinary, connect[:10])
		c.frame(frameFinal|framePing, "hi")
		if opcode, payload := c.read(); opcode != framePong || string(payload) != "hi" {
			t.Errorf("got opcode %d with %q, want pong hi", opcode, payload)
		}
		c.frame(frameFinal|frameContinuation, connect[10:]+"PING\r\n")
		c.until("PONG\r\n")
	})
	t.Run("text frame", func(t *testing.T) {
		c := dialWeb(t, s)
		c.frame(frameFinal|frameText, connect+"PING\r\n")
		c.until("PONG\r\n")
	})
	t.Run("empty frames", func(t *testing.T) {
		c := dialWeb(t, s)
		c.send("")
		c.frame(frameBinary, "")
		c.frame(frameContinuation, connect)
		c.frame(frameContinuation, "")
		c.frame(frameFinal|frameContinuation, "PING\r\n")
		c.until("PONG\r\n")
	})
	t.Run("a byte a frame", func(t *testing.T) {
		c := dialWeb(t, s)
		for i := range connect {
			c.send(connect[i : i+1])
		}
		c.send("SUB a 1\r\nPUB a 3\r\nab")
		c.send("c\r\nPING\r\n")
		mustContain(t, "answer", c.until("PONG\r\n"), "MSG a 1 3\r\nabc\r\n")
	})
}

// TestCaseC019 has variables that lead to themselves or to nothing: the error names variable and line.
func TestCaseC019(t *testing.T) {
	t.Setenv("RING_A", "$RING_B")
	t.Setenv("RING_B", "$RING_A")
	t.Setenv("SELF", "$SELF")
	tests := []struct{ config, name, place string }{
		{"\nport: $RING_A", "RING_A", ":2:"},
		{"\nmax_payload: $RING_B", "RING_B", ":2:"},
		{"port: $SELF", "SELF", ":1:"},
		{"SELF: $SELF\nport: $SELF", "SELF", ":1:"},
		{"A: $B\nB: $A\nport: $A", "$B", ":1:"},
		{"port: $NOPE_OF_ALL", "NOPE_OF_ALL", ":1:"},
		{"authorization { users: [ {user: a, password: $NOPE_OF_ALL} ] }", "NOPE_OF_ALL", ":1:"},
	}
	for _, tt := range tests {
		_, err := conf.Parse("c.conf", []byte(tt.config))
		if err == nil {
			t.Errorf("%q: no error", tt.config)
			continue
		}
		mustContain(t, tt.config, err.Error(), tt.name, "c.conf"+tt.place)
	}
}

// TestCaseC021 has mistakes of each kind: the error has the place, and the field.
func TestCaseC021(t *testing.T) {
	tests := []struct{ config, place, field string }{
		{"\nprot: 1", "c.conf:2:1", "prot"},
		{"jetstream { store_dri: x }", "c.conf:1:13", "store_dri"},
		{"port: \"abc\"", "c.conf:1:", "port"},
		{"max_payload: 10GB", "c.conf:1:", "max_payload"},
		{"\n\nauthorization {\n user: a", "c.conf:3:15", ""},
		{"server_name: \"abc", "c.conf:1:", ""},
		{"ping_interval: soon", "c.conf:1:", "ping_interval"},
		{"http: [1]", "c.conf:1:", "http"},
		{"authorization: 7", "c.conf:1:", "authorization"},
		{"accounts { A { users: [ {usr: a} ] } }", "c.conf:1:26", "usr"},
		{"max_connections: 1e99", "c.conf:1:", "max_connections"},
	}
	for _, tt := range tests {
		_, err := conf.Parse("c.conf", []byte(tt.config))
		if err == nil {
			t.Errorf("%q: no error", tt.config)
			continue
		}
		mustContain(t, tt.config, err.Error(), tt.place, tt.field)
		if strings.Contains(err.Error(), "interface conversion") {
			t.Errorf("%q: %v", tt.config, err)
		}
	}
	// Legal, but deserving a remark with its place.
	o, err := conf.Parse("c.conf", []byte("\nping_interval: 120"))
	if err != nil || len(o.Warnings) != 1 {
		t.Fatalf("a duration without a unit: %v, warnings %v", err, o)
	}
	mustContain(t, "warning", o.Warnings[0].Error(), "c.conf:2:", "ping_interval")
}

// TestCaseC023 is one life of a server with reloads: a user goes, a limit falls, a file is broken, a port moves.
func TestCaseC023(t *testing.T) {
	const users = "authorization { users: [ {user: a, password: a}, {user: b, password: b} ] }\n"
	const one = "authorization { users: [ {user: a, password: a} ] }\n"
	s := servertest.Start(t, "http_port: -1, max_payload: 1000\n"+users)
	a, b := dialAs(t, s, "a", "a"), dialAs(t, s, "b", "b")
	a.ReadInfo()
	reload(t, s, "http_port: -1, max_payload: 1000\n"+one)
	b.Expect("-ERR 'Authorization Violation'")
	b.ExpectClosed()
	a.Flush()

	reload(t, s, "http_port: -1, max_payload: 10\n"+one)
	a.ReadInfo()
	type varz struct {
		MaxPayload int `json:"max_payload"`
		Port       int
	}
	if got := page[varz](t, s, "/varz").MaxPayload; got != 10 || a.Info()["max_payload"] != 10.0 {
		t.Errorf("max_payload is %d in varz and %v in INFO, want 10", got, a.Info()["max_payload"])
	}

	if _, err := conf.Parse("c.conf", []byte("max_payload: 20\nbogus_field: 1\n")); err == nil {
		t.Error("an unknown field passed")
	}
	was := page[varz](t, s, "/varz")
	changes := reload(t, s, "port: 4223, http_port: -1, max_payload: 10\n"+one)
	if len(changes) != 1 || changes[0].Key != "port" || changes[0].Old != "-1" || changes[0].New != "4223" || changes[0].Reloadable {
		t.Errorf("changes = %v, want the port with old and new value, as one that needs a restart", changes)
	}
	if got := page[varz](t, s, "/varz"); got != was {
		t.Errorf("varz = %+v, want still %+v", got, was)
	}
	a.Flush()
	dialAs(t, s, "a", "a")
}
