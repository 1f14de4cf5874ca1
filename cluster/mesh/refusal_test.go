package mesh_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"runnel/cluster/mesh"
)

// TestRefusals has b, which has a as a seed, refused by it or refuse it. Both say why, and none forgets the other.
func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		change func(a, b *mesh.Config)
		a, b   string // parts of the lines that the two log
	}{
		{
			"cluster name",
			func(_, b *mesh.Config) { b.Self.Cluster = "other" },
			"cluster.name must be the same on all servers", `the other server refused: the server b is in the cluster \"other\"`,
		},
		{
			"credentials",
			func(a, b *mesh.Config) {
				a.Username, a.Password, b.Seeds = "u", "secret", []string{"nats://u:wrong@a:1"}
			},
			"wrong credentials: cluster.authorization", "the other server refused: wrong credentials",
		},
		{
			"no credentials",
			func(a, _ *mesh.Config) { a.Password = "secret" },
			"wrong credentials", "the other server refused: wrong credentials",
		},
		{
			"own decision",
			func(a, _ *mesh.Config) { a.Authorize = func(u, p string) bool { return u+p != "" } },
			"wrong credentials", "the other server refused: wrong credentials",
		},
		{
			"server name",
			func(_, b *mesh.Config) { b.Self.Name = "a" },
			"both servers are named a: server_name must be different", "the other server refused: both servers are named a",
		},
		{
			"server id",
			func(a, b *mesh.Config) { b.Self.ID, b.Self.Start = a.Self.ID, time.Now().Add(time.Second) },
			"one has a copy of the other's store", "the other server refused: both servers have the id ID-a",
		},
		{
			"too many accounts",
			func(_, b *mesh.Config) {
				for i := range 300 {
					b.Accounts = append(b.Accounts, fmt.Sprint("A", i))
				}
			},
			"301 accounts with a route of their own, 256 are allowed", "the other server refused: 301 accounts",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) {
				ca, cb := config(n, "a"), config(n, "b", "a:1")
				tt.change(&ca, &cb)
				a, b := start(t, ca), start(t, cb)
				after(10 * time.Second)
				wantMesh(t, nil, a)
				a.wantLog("level=WARN", tt.a, "from=b")
				b.wantLog("level=WARN", tt.b, "addr=a:1")
				if text := a.logs.text() + b.logs.text(); strings.Contains(text, "secret") {
					t.Errorf("the password is in the log: %s", text)
				}
				before := n.dialled()
				after(time.Minute)
				if n.dialled() < before+2 {
					t.Errorf("%d attempts in a minute, want one every half", n.dialled()-before)
				}
				a.close()
				b.close()
			})
		})
	}
}

// TestStrangers connects with what does not belong to a cluster port.
func TestStrangers(t *testing.T) {
	frame := func(body string) string {
		return "RUNNEL1\n" + string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body
	}
	const clients = "-ERR 'this port is for servers of the cluster; clients have another'\r\n"
	tests := []struct {
		name, send string
		end        bool // the stranger says that nothing more comes
		answer     string
		log        string // "" for none
	}{
		{"a client that waits", "", false, clients, "it sent nothing: perhaps a client"},
		{"a port scan", "", true, "", ""},
		{"a client that speaks", "CONNECT {}\r\nPING\r\n", false, clients, "it speaks the protocol of clients"},
		{"a few bytes", "PING\r\n", false, clients, "it speaks the protocol of clients"},
		{"HTTP", "GET /varz HTTP/1.1\r\nHost: a\r\n\r\n", false, clients, "monitoring has a port of its own"},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03", false, clients, "cluster.tls must be configured on all"},
		{"another version", "RUNNEL2\n\x00\x00\x00\x02{}", false, clients, "another version of the protocol between servers"},
		{"noise", "\x00\x01\x02\x03\x04\x05\x06\x07\x08", false, clients, "belong to no protocol known here"},
		{"a huge frame", "RUNNEL1\n\xff\xff\xff\xff", false, "a frame of 4294967295 bytes, where 65536 are allowed", "a frame of 4294967295 bytes"},
		{"no JSON", frame("[1"), false, "a frame that cannot be read", "a frame that cannot be read"},
		{"an unexpected frame", frame(`{"ready":true}`), false, "an unexpected frame", "an unexpected frame"},
		{"half a frame", frame(`{"hello":{}}`)[:16], true, "", "it ended the connection during the handshake"},
		{"no member", frame(`{"hello":{}}`), false, "is empty", "is empty"},
		{
			"a compression of tomorrow", frame(`{"hello":{"member":{"id":"x","name":"x","cluster":"c"},"offer":{"compression":"zstd"}}}`), false,
			`unknown compression \"zstd\"`, `unknown compression`,
		},
		{"a link of no session", frame(`{"link":{"id":"ID-x","session":1,"token":"t"}}`), false, "there is no such session", "there is no such session"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) {
				a := start(t, config(n, "a"))
				conn, err := n.dialer("x")(t.Context(), "a:1")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(conn, tt.send); err != nil {
					t.Fatal(err)
				}
				if tt.end {
					conn.(*end).CloseWrite()
				}
				answer, err := io.ReadAll(conn)
				if err != nil || !strings.Contains(string(answer), tt.answer) || tt.answer == "" && len(answer) > 0 {
					t.Errorf("got the answer %q and %v, want %q", answer, err, tt.answer)
				}
				conn.Close()
				after(time.Second)
				if tt.log != "" {
					a.wantLog("level=WARN", tt.log, "from=x")
				} else if got := a.logs.text(); got != "" {
					t.Errorf("got the log %q, want nothing", got)
				}
				a.close()
			})
		})
	}
}

// TestStrangeAnswers has a seed answer that is no server of a cluster.
func TestStrangeAnswers(t *testing.T) {
	tests := []struct{ name, send, log string }{
		{"client port", `INFO {"server_id":"x"} ` + "\r\n", "the routes of the configuration must name the cluster ports"},
		{"nothing", "", "it ended the connection without a word"},
		{"silence", "-", "it does not answer: is it the cluster port"},
		{"alert of TLS", "\x15\x03\x01\x00\x02\x02\x46\x00", "cluster.tls must be configured on all"},
		{"another version", "RUNNEL9\n", "another version of the protocol between servers"},
		{"noise", "\x00\x01\x02\x03\x04\x05\x06\x07\x08", "belong to no protocol known here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) {
				l := n.listen("x:1")
				go func() {
					for {
						conn, err := l.Accept()
						if err != nil {
							return
						}
						if tt.send == "-" {
							go drain(conn)
							continue
						}
						io.WriteString(conn, tt.send)
						conn.Close()
					}
				}()
				a := start(t, config(n, "a", "x:1"))
				after(time.Minute)
				a.wantLog("level=WARN", "cannot connect", "addr=x:1", tt.log)
				if got := strings.Count(a.logs.text(), "\n"); got > 6 {
					t.Errorf("%d lines in a minute, want fewer and fewer:\n%s", got, a.logs.text())
				}
				a.close()
				l.Close()
			})
		})
	}
}

// TestNewcomerWithTakenName has a third server that is named as the second.
func TestNewcomerWithTakenName(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		a, b := start(t, config(n, "a")), start(t, config(n, "b", "a:1"))
		after(2 * time.Second)
		cfg := config(n, "c", "a:1")
		cfg.Self.Name = "b"
		c := start(t, cfg)
		after(20 * time.Second)
		wantMesh(t, usual(), a, b)
		wantMesh(t, nil, c)
		a.wantLog("from=c", "is named b: server_name must be different on all servers")
		c.wantLog("addr=a:1", "the other server refused: another server, at b:", "is named b")
		b.close()
		after(time.Minute)
		wantMesh(t, usual(), a, c)
		a.close()
		c.close()
	})
}

// TestCrashedServerIsReplaced has a server come back before anybody has noticed that it had gone.
func TestCrashedServerIsReplaced(t *testing.T) {
	tests := []struct {
		name, id string
		later    time.Duration // of its start, by its clock
		within   time.Duration
	}{
		{"same id", "ID-b", 2 * time.Second, 3 * time.Second},
		{"same id and a clock that is wrong", "ID-b", -time.Hour, 15 * time.Second},
		{"smaller id", "ID-0", time.Hour, 15 * time.Second},
		{"larger id", "ID-z", time.Hour, 15 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) {
				a, b := start(t, config(n, "a")), start(t, config(n, "b", "a:1"))
				after(2 * time.Second)
				n.freeze("a", "b")
				if err := b.mesh.SetSeeds(nil); err != nil {
					t.Fatal(err)
				}
				b.close()
				cfg := config(n, "b", "a:1")
				cfg.Self.ID, cfg.Self.Start = tt.id, time.Now().Add(tt.later)
				b = start(t, cfg)
				after(tt.within)
				wantMesh(t, usual(), a, b)
				if tt.later < 0 {
					a.wantLog("in use by a server that was started later", "is its store a copy?")
				}
				a.close()
				b.close()
			})
		})
	}
}
