package conf_test

import (
	"fmt"
	"strings"
	"testing"

	"runnel/conf"
)

func TestDiff(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		want                string // one change per line: key: old -> new, with a ! where a restart is needed
	}{
		{
			"nothing",
			"port: 1", "port = 1 # same",
			"",
		},
		{
			"only the layout",
			"authorization { users [ {user: a, password: b} ] }", `{"authorization": {"users": [{"username": "a", "pass": "b"}]}}`,
			"",
		},
		{
			"value that may change",
			"max_payload: 1000", "max_payload: 10",
			"max_payload: 1000 -> 10",
		},
		{
			"value that may not",
			"port: 4222", "port: 4333",
			"port: 4222 -> 4333 !",
		},
		{
			"value against the default",
			"", "ping_interval: \"5s\"",
			"ping_interval: 2m -> 5s",
		},
		{
			"value back to the default",
			"debug: true", "",
			"debug: true -> false",
		},
		{
			"host and port in one",
			"listen: a:1", "listen: b:2",
			"host: a -> b !\nport: 1 -> 2 !",
		},
		{
			"monitoring in one",
			"http: a:1", "http: a:2",
			"http: a:1 -> a:2 !",
		},
		{
			"monitoring by its port",
			"http_port: 1", "http_port: 2",
			"http: :1 -> :2 !",
		},
		{
			"strings that are empty",
			"log_file: x", "",
			"log_file: x -> ",
		},
		{
			"list",
			"server_tags: [a, b]", "server_tags: [a]",
			"server_tags: [a, b] -> [a]",
		},
		{
			"map",
			"server_metadata { a: b }", "server_metadata { a: c, d: e }",
			"server_metadata: [a:b] -> [a:c d:e]",
		},
		{
			"user added",
			"authorization { users [ {user: a} ] }", "authorization { users [ {user: b, password: x}, {user: a} ] }",
			"authorization.users.b:  -> present",
		},
		{
			"user removed",
			"authorization { users [ {user: a}, {user: b, password: c, permissions { publish: x } } ] }", "authorization { users [ {user: a} ] }",
			"authorization.users.b: present -> ",
		},
		{
			"order of users",
			"authorization { users [ {user: a}, {user: b} ] }", "authorization { users [ {user: b}, {user: a} ] }",
			"",
		},
		{
			"password of a user",
			"authorization { users [ {user: a, password: old} ] }", "authorization { users [ {user: a, password: new} ] }",
			"authorization.users.a.password: [REDACTED] -> [REDACTED]",
		},
		{
			"password of a user that had none",
			"authorization { users [ {user: a} ] }", "authorization { users [ {user: a, password: new} ] }",
			"authorization.users.a.password:  -> [REDACTED]",
		},
		{
			"permissions of a user",
			"authorization { users [ {user: a, permissions { publish: x } } ] }", "authorization { users [ {user: a, permissions { publish { allow: x, deny: y } } } ] }",
			"authorization.users.a.permissions.publish.deny:  -> [y]",
		},
		{
			"permissions that come",
			"authorization { users [ {user: a} ] }", "authorization { users [ {user: a, permissions { publish: x, allow_responses: true } } ] }",
			"authorization.users.a.permissions:  -> {...}",
		},
		{
			"user whose name has a dot",
			"authorization { users [ {user: a} ] }", "authorization { users [ {user: a.b}, {user: a, password: x} ] }",
			"authorization.users.\"a.b\":  -> present\nauthorization.users.a.password:  -> [REDACTED]",
		},
		{
			"user that is a prefix of a removed one",
			"authorization { users [ {user: a.b, password: x}, {user: a} ] }", "authorization { users [ {user: a.b} ] }",
			"authorization.users.\"a.b\".password: [REDACTED] -> \nauthorization.users.a: present -> ",
		},
		{
			"token",
			"authorization { token: a }", "authorization { token: b }",
			"authorization.token: [REDACTED] -> [REDACTED]",
		},
		{
			"account added",
			"accounts { A { users [ {user: a} ] } }", "accounts { A { users [ {user: a} ] }, B { users [ {user: b} ], limits { max_conn: 3 } } }",
			"accounts.B:  -> present",
		},
		{
			"account removed",
			"accounts [A, B]", "accounts [B]",
			"accounts.A: present -> ",
		},
		{
			"limit of an account",
			"accounts { A { limits { max_conn: 3 } } }", "accounts { A { limits { max_conn: 1 } } }",
			"accounts.A.limits.max_connections: 3 -> 1",
		},
		{
			"export of an account",
			"accounts { A { exports [ {stream: a} ] } }", "accounts { A { exports [ {stream: b}, {service: c} ] } }",
			"accounts.A.exports[0].stream: a -> b\naccounts.A.exports[1]:  -> present",
		},
		{
			"import of an account",
			"accounts { B {}, A { imports [ {stream: {account: B, subject: a}} ] } }", "accounts { B {}, A { imports [ {service: {account: B, subject: a}} ] } }",
			"accounts.A.imports[0].stream: {...} -> \naccounts.A.imports[0].service:  -> {...}",
		},
		{
			"mappings",
			"mappings { foo.*: \"bar.$1\", a: b }", "mappings { foo.*: \"baz.$1\", a: [ {dest: b, weight: 50}, {dest: c, weight: 50, cluster: x} ], d: e }",
			"mappings.\"foo.*\": bar.$1 -> baz.$1\nmappings.a: b -> [b 50%, c 50% in x]\nmappings.d:  -> e",
		},
		{
			"mapping removed",
			"mappings { a: b }", "",
			"mappings.a: b -> ",
		},
		{
			"no_auth_user added",
			"authorization { users [ {user: a} ] }", "authorization { users [ {user: a} ] }\nno_auth_user: a",
			"no_auth_user:  -> a !",
		},
		{
			"no_auth_user removed",
			"authorization { users [ {user: a} ] }\nno_auth_user: a", "authorization { users [ {user: a} ] }",
			"no_auth_user: a -> ",
		},
		{
			"TLS timeout",
			"tls { cert_file: a, key_file: b }", "tls { cert_file: a, key_file: b, timeout: 5 }",
			"tls.timeout: 2s -> 5s",
		},
		{
			"TLS details",
			"tls { cert_file: a, key_file: b }", "tls { cert_file: a, key_file: b, min_version: 1.3, first: auto, curve_preferences: X25519, cipher_suites: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 }",
			"tls.cipher_suites:  -> [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\ntls.curve_preferences:  -> [X25519]\ntls.min_version: 1.2 -> 1.3\ntls.handshake_first: false -> 50ms",
		},
		{
			"TLS comes",
			"", "tls { cert_file: a, key_file: b }",
			"tls:  -> {...}",
		},
		{
			"TLS goes",
			"tls { cert_file: a, key_file: b }", "",
			"tls: {...} -> ",
		},
		{
			"TLS of the WebSocket",
			"websocket { port: 1, tls { cert_file: a, key_file: b } }", "websocket { port: 1, tls { cert_file: c, key_file: b } }",
			"websocket.tls.cert_file: a -> c",
		},
		{
			"WebSocket",
			"websocket { port: 1, no_tls: true }", "websocket { port: 1, no_tls: true, compression: true }",
			"websocket.compression: false -> true !",
		},
		{
			"WebSocket comes",
			"", "websocket { port: 1, no_tls: true }",
			"websocket:  -> {...} !",
		},
		{
			"WebSocket goes",
			"websocket { port: 1, no_tls: true, tls { cert_file: a, key_file: b } }", "",
			"websocket: {...} ->  !",
		},
		{
			"routes hide passwords",
			"cluster { routes: [\"nats://u:secret@a:1\"] }", "cluster { routes: [\"nats://u:secret@a:1\", \"nats://b:2\"] }",
			"cluster.routes: [nats://[REDACTED]@a:1] -> [nats://[REDACTED]@a:1, nats://b:2]",
		},
		{
			"only the password of a route",
			"cluster { routes: [\"nats://u:one@a:1\"] }", "cluster { routes: [\"nats://u:two@a:1\"] }",
			"cluster.routes: [nats://[REDACTED]@a:1] -> [nats://[REDACTED]@a:1]",
		},
		{
			"the URL of a resolver hides passwords and tokens",
			"resolver: \"URL(http://u:one@a/b?token=one)\"", "resolver: \"URL(https://u:two@a/b)\"",
			"resolver.url: http://[REDACTED]@a/b?[REDACTED] -> https://[REDACTED]@a/b",
		},
		{
			"store limits that grow",
			"jetstream { max_mem: 1GB }", "jetstream { max_mem: 2GB, max_file: -1 }",
			"jetstream.max_memory_store: 1073741824 -> 2147483648",
		},
		{
			"store limits that shrink",
			"jetstream { max_mem: 2GB, max_file: -1 }", "jetstream { max_mem: 1GB, max_file: 1GB }",
			"jetstream.max_memory_store: 2147483648 -> 1073741824 !\njetstream.max_file_store: -1 -> 1073741824 !",
		},
		{
			"store limit that falls away",
			"jetstream { max_file: 1GB }", "jetstream { }",
			"jetstream.max_file_store: 1073741824 -> -1",
		},
		{
			"JetStream off",
			"jetstream {}", "jetstream: false",
			"jetstream.enabled: true -> false !",
		},
		{
			"sync",
			"jetstream {}", "jetstream { sync: os }",
			"jetstream.sync: always -> os !",
		},
		{
			"limits of JetStream",
			"jetstream { limits { max_ack_pending: 5, batch { max_msgs: 1 } } }",
			"jetstream { limits { max_ack_pending: 6, batch { max_msgs: 2 } } }",
			"jetstream.limits.max_ack_pending: 5 -> 6\njetstream.limits.batch.max_msgs: 1 -> 2 !",
		},
		{
			"JetStream of an account",
			"accounts { A { jetstream { max_streams: 1 } }, B { jetstream: true } }\njetstream: true",
			"accounts { A { jetstream { max_streams: 2 } }, B {} }\njetstream: true",
			"accounts.A.jetstream.max_streams: 1 -> 2\naccounts.B.jetstream: {...} -> ",
		},
		{
			"keys that encrypt",
			"jetstream { key: one }", "jetstream { key: two, prev_key: one }",
			"jetstream.key: [REDACTED] -> [REDACTED] !\njetstream.prev_key:  -> [REDACTED] !",
		},
		{
			"remote",
			"leafnodes { remotes [ {url: \"nats://a\"} ] }", "leafnodes { remotes [ {url: \"nats://a\", hub: true}, {url: \"nats://b\"} ] }",
			"leafnodes.remotes[0].hub: false -> true\nleafnodes.remotes[1]:  -> present",
		},
		{
			"several",
			"port: 1, debug: true, max_conn: 5", "port: 2, debug: false, max_conn: 6",
			"port: 1 -> 2 !\nmax_connections: 5 -> 6\ndebug: true -> false",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var lines []string
			for _, c := range conf.Diff(parse(t, test.before), parse(t, test.after)) {
				line := fmt.Sprintf("%s: %s -> %s", c.Key, c.Old, c.New)
				if !c.Reloadable {
					line += " !"
				}
				lines = append(lines, line)
			}
			if got := strings.Join(lines, "\n"); got != test.want {
				t.Errorf("before %s\nafter  %s\ngot\n%s\nwant\n%s", test.before, test.after, got, test.want)
			}
		})
	}
}

func TestChangeString(t *testing.T) {
	c := conf.Change{Key: "port", Old: "1", New: ""}
	if got, want := c.String(), `port: old="1", new=""`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDiffOfManyUsers would take minutes if the cost were that of each pair.
func TestDiffOfManyUsers(t *testing.T) {
	config := func(password string, from, to int) *conf.Options {
		var b strings.Builder
		b.WriteString("authorization { users [\n")
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "{user: u%d, password: %s}\n", i, password)
		}
		b.WriteString("] }")
		return parse(t, b.String())
	}
	const n = 20_000
	changes := conf.Diff(config("old", 0, n), config("new", n/2, n+n/2))
	if want := n/2 + n/2 + n/2; len(changes) != want {
		t.Errorf("got %d changes, want %d", len(changes), want)
	}
}
