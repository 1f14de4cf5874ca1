package server_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"runnel/server/servertest"
)

// TestInfoMembers compares the members of INFO, in the first and in the second one, with those that clients
// know from other servers; only "runnel" is our own.
func TestInfoMembers(t *testing.T) {
	const always = "api_lvl client_id client_ip go headers host max_payload port proto runnel server_id server_name version xkey"
	authority := servertest.NewAuthority(t)
	tls := authority.Server()
	_, key := newUserKey(t)
	tests := []struct {
		name, config, members string
		first, second         string
	}{
		{"plain", ``, ``, always, always + " connect_info remote_account"},
		{"user", `authorization { user: a, password: x }`, `"user":"a","pass":"x"`, always + " auth_required", always + " auth_required connect_info remote_account"},
		{"system", `accounts { A { users: [{user: b, password: x}] }, $SYS { users: [{user: a, password: x}] } }`, `"user":"a","pass":"x"`, always + " auth_required", always + " acc_is_sys auth_required connect_info remote_account"},
		{"nkey", `accounts { A { users: [{nkey: ` + key + `}, {user: a, password: x}] } }, no_auth_user: a`, ``, always + " nonce", always + " auth_required connect_info nonce remote_account"},
		{"optional TLS", tls.Block("") + "allow_non_tls: true", ``, always + " tls_available", always + " connect_info remote_account tls_available"},
	}
	for _, tt := range tests {
		s := servertest.Start(t, tt.config)
		c := servertest.Dial(t, s)
		check := func(which, want string) {
			t.Helper()
			expected := strings.Fields(want)
			slices.Sort(expected)
			if got := slices.Sorted(maps.Keys(c.Info())); !slices.Equal(got, expected) {
				t.Errorf("%s, %s INFO:\ngot  %q\nwant %q", tt.name, which, got, expected)
			}
		}
		check("first", tt.first)
		c.Send(login(tt.members) + "PING\r\n")
		c.Expect("PONG")
		c.ReadInfo()
		check("second", tt.second)
		c.Flush() // a further PING brings no further INFO
	}
}

func TestInfoValues(t *testing.T) {
	s := servertest.Start(t, `server_name: "me", max_payload: 1KB`)
	c, other := servertest.Dial(t, s), servertest.Dial(t, s)
	info := c.Info()
	for member, want := range map[string]any{
		"server_id": s.ID(), "server_name": "me", "version": "2.15.2", "proto": 1.0, "host": "127.0.0.1", "client_ip": "127.0.0.1",
		"headers": true, "max_payload": 1024.0, "api_lvl": 5.0,
	} {
		if info[member] != want {
			t.Errorf("%s = %v, want %v", member, info[member], want)
		}
	}
	if id := s.ID(); len(id) != 56 || id[0] != 'N' {
		t.Errorf("id = %q, want the public key of a server", id)
	}
	if info["client_id"] == other.Info()["client_id"] {
		t.Errorf("two clients have the id %v", info["client_id"])
	}
	if got := servertest.Dial(t, servertest.Start(t, "")).Info(); got["server_name"] != got["server_id"] {
		t.Errorf("server_name = %v, want the id %v", got["server_name"], got["server_id"])
	}
	advertised := servertest.Start(t, `client_advertise: "nats.example.com:1234"`)
	if got := servertest.Dial(t, advertised).Info(); got["host"] != "nats.example.com" || got["port"] != 1234.0 {
		t.Errorf("host and port = %v, %v, want those advertised", got["host"], got["port"])
	}
}

// TestProtocolZero checks that a client of the old protocol sees INFO once, whatever happens.
func TestProtocolZero(t *testing.T) {
	s := servertest.Start(t, `max_payload: 1000`)
	old, current := servertest.Dial(t, s), servertest.DialQuiet(t, s)
	old.Send(`CONNECT {"verbose":false}` + "\r\nPING\r\n")
	if line := old.Line(); line != "PONG" {
		t.Fatalf("got %q, want PONG", line)
	}
	current.ReadInfo() // the second one
	reload(t, s, `max_payload: 10`)
	current.ReadInfo()
	if got := current.Info()["max_payload"]; got != 10.0 {
		t.Errorf("max_payload = %v, want 10", got)
	}
	old.Send("PING\r\n")
	if line := old.Line(); line != "PONG" {
		t.Errorf("got %q, want PONG", line)
	}
}
