package conf_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/conf"
)

// The configs that the client libraries' test suites start servers with.

const testAccounts = `
system_account: "$SYS"
no_auth_user: user1
accounts {
  USERS1 { users: [ {user: "user1", pass: "password"} ], jetstream: %[1]v }
  USERS2 { users: [ {user: "user2", pass: "password"} ], jetstream: %[1]v }
  $SYS { users: [ {user: "system", pass: "password"} ] }
}`

func TestSuiteConfigs(t *testing.T) {
	for _, test := range []struct {
		name, text string
		check      func(o *conf.Options) bool
	}{
		{
			"core",
			`server_name: "n1"
listen: "127.0.0.1:4222"
client_advertise: "localhost:4222"
http: "127.0.0.1:8222"` + fmt.Sprintf(testAccounts, false),
			func(o *conf.Options) bool {
				return o.Host == "127.0.0.1" && o.Port == 4222 && o.Monitor.Port == 8222 && len(o.Accounts) == 3 &&
					o.NoAuthUser == "user1" && o.SystemAccount == "$SYS" && conf.Unsupported(o) == nil
			},
		},
		{
			"JetStream",
			`server_name: "n1"
listen: "127.0.0.1:4222"
jetstream {
  enabled: true
  store_dir: "/tmp/x"
}` + fmt.Sprintf(testAccounts, true),
			func(o *conf.Options) bool {
				return o.JetStream.StoreDir == "/tmp/x" && o.Accounts[1].JetStream != nil && o.Accounts[2].JetStream == nil
			},
		},
		{
			"cluster",
			`cluster {
  name: "c"
  listen: "127.0.0.1:6222"
  routes: [
    "nats://127.0.0.1:6222"
    "nats://127.0.0.1:6223"
  ]
}` + fmt.Sprintf(testAccounts, false),
			func(o *conf.Options) bool { return len(o.Cluster.Routes) == 2 && o.Cluster.Port == 6222 },
		},
		{
			"gateway",
			`gateway {
  name: "c"
  listen: "127.0.0.1:7222"
  gateways: [
    { name: "c", urls: ["nats://127.0.0.1:7222"] }
    { name: "d", urls: ["nats://127.0.0.1:7223", "nats://127.0.0.1:7224"] }
  ]
}`,
			func(o *conf.Options) bool {
				return len(o.Gateway.Gateways) == 2 && len(o.Gateway.Gateways[1].URLs) == 2
			},
		},
		{
			"TLS",
			`tls {
  cert_file: "/certs/server.pem"
  key_file: "/certs/key.pem"
  ca_file: "/certs/ca.pem"
  verify: true
  timeout: 0.0001
  handshake_first: true
}`,
			func(o *conf.Options) bool {
				return o.TLS.Verify && o.TLS.Timeout == 100*time.Microsecond && o.TLS.HandshakeFirst == (conf.HandshakeFirst{Enabled: true})
			},
		},
		{
			"limits",
			"max_connections: 10, max_payload: 1000, max_subscriptions: 5\nping_interval: \"50ms\"\nping_max: 3\nno_header_support: true",
			func(o *conf.Options) bool {
				return o.Limits.MaxConnections == 10 && o.Limits.MaxPayloadBytes == 1000 && o.Limits.MaxSubscriptions == 5 &&
					o.Liveness.PingInterval == 50*time.Millisecond && o.Liveness.PingMax == 3 && o.NoHeaderSupport
			},
		},
		{
			"permissions",
			`authorization {
  users = [
    {
      user: derek
      password: foo
      permissions: {
        publish = { allow: ["foo", "bar", "_INBOX.>"], deny: "baz" }
        subscribe = "foo"
        allow_responses: { max: 5, ttl: "1s" }
      }
    }
    { nkey: ` + userKey + ` }
  ]
}`,
			func(o *conf.Options) bool {
				u := o.Authorization.Users
				return u[0].Permissions.Responses.Max == 5 && u[0].Permissions.Responses.Expires == time.Second && u[1].NKey == userKey
			},
		},
		{
			"imports without a separator",
			`accounts: {
  JS: {
    jetstream: {max_mem: 64MB, max_file: 64MB}
    users: [ {user: dlc, password: foo} ]
    exports [ { service: "$JS.API.>" }, { service: "$JS.ACK.>" }, { stream: "$KV.>" } ]
  },
  U: {
    users: [ {user: rip, password: bar} ]
    imports [
      { service: { subject: "$JS.API.INFO", account: JS } }
      { service: { subject: "$JS.API.>", account: JS }, to: "jsAPI.>" },
      { stream: { subject: "$KV.>", account: JS } }
    ]
  },
}
no_auth_user: rip`,
			func(o *conf.Options) bool {
				return len(o.Accounts[1].Imports) == 3 && o.Accounts[1].Imports[1].To == "jsAPI.>" && o.Accounts[0].JetStream.MaxMemoryBytes == 64<<20
			},
		},
		{
			"WebSocket",
			"websocket { port: -1, no_tls: true, compression: true, advertise: \"localhost:80\" }",
			func(o *conf.Options) bool { return o.WebSocket.Port == -1 && o.WebSocket.Compression },
		},
		{
			"leaf node",
			"leafnodes { port: 7422, remotes [ { url: \"nats://user:pw@127.0.0.1:7422\" } ] }\njetstream { domain: leaf, limits { max_ack_pending: 7 } }",
			func(o *conf.Options) bool {
				return o.LeafNodes.Port == 7422 && len(o.LeafNodes.Remotes) == 1 && o.JetStream.Limits.MaxAckPending == 7
			},
		},
		{
			"operator",
			"trusted_keys: [" + operatorKey + "]\nresolver: MEMORY\nresolver_preload: { " + accountKey + ": \"eyJ0.x.y\" }\nsystem_account: " + accountKey,
			func(o *conf.Options) bool {
				return o.Operator.Enabled() && o.Operator.ResolverPreload[accountKey] == "eyJ0.x.y" && o.SystemAccount == accountKey
			},
		},
		{
			"whole config as JSON",
			`{
  "port": 4222,
  "authorization": {
    "users": [
      {"user": "a", "password": "b", "permissions": {"publish": {"allow": ["x.>"]}}}
    ]
  },
  "debug": true
}`,
			func(o *conf.Options) bool { return o.Log.Debug && len(o.Authorization.Users) == 1 },
		},
		{
			"JSON on one line",
			`{"port":4222,"websocket":{"port":80,"no_tls":true},"server_tags":["a","b"]}`,
			func(o *conf.Options) bool { return o.WebSocket.NoTLS && len(o.ServerTags) == 2 },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if o := parse(t, test.text); !test.check(o) {
				t.Errorf("%s\ngives %+v", test.text, o)
			}
		})
	}
}

// TestHouseCases are the recorded faults of config parsers.
func TestHouseCases(t *testing.T) {
	t.Setenv("A", "$B")
	t.Setenv("B", "$A")
	t.Setenv("SELF", "$SELF")
	for _, test := range []struct {
		name, text string
		want       []string // parts of the error
	}{
		{"ring of variables", "port: $A", []string{"c.conf:1:7", "$A refers to $B refers to $A"}},
		{"variable that is itself", "SELF: $SELF\nport: $SELF", []string{"c.conf:1:7", "$SELF refers to $SELF"}},
		{"variable that is missing", "debug: true\nport: $NOPE", []string{"c.conf:2:7", "$NOPE"}},
		{"unknown field", "debug: true\nprot: 1", []string{"c.conf:2:1", `"prot"`, `"port"`}},
		{"unknown field in a block", "jetstream { store_dri: x }", []string{"c.conf:1:13", `"store_dri"`, `"store_dir"`}},
		{"wrong type", `port: "abc"`, []string{"c.conf:1:7", "port", "number", `"abc"`}},
		{"too large", "max_payload: 10GB", []string{"c.conf:1:14", "max_payload", "10GB"}},
		{"unclosed brace", "port: 1\njetstream {\n  store_dir: x\n", []string{"c.conf:2:11", `"{"`}},
		{"unclosed quote", "port: 1\nserver_name: \"x\n", []string{"c.conf:2:14", "quote"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := conf.Parse("c.conf", []byte(test.text))
			if err == nil {
				t.Fatal("got no error")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\ndoes not say %s", err, part)
				}
			}
		})
	}
	o := parse(t, "ping_interval: 120")
	if len(o.Warnings) != 1 || !o.Warnings[0].Deprecated || o.Liveness.PingInterval != 2*time.Minute {
		t.Errorf("a duration without a unit: got %v with %v", o.Liveness.PingInterval, o.Warnings)
	}
}

// TestReloadCase is the recorded fault of reloads: what of these may be applied.
func TestReloadCase(t *testing.T) {
	const base = "port: 4222\nmax_payload: 1000\nauthorization { users [ {user: a, password: x}, {user: b, password: y} ] }\n"
	old := parse(t, base)
	for _, test := range []struct {
		name, text string
		want       conf.Change
	}{
		{"user removed", strings.Replace(base, ", {user: b, password: y}", "", 1), conf.Change{Key: "authorization.users.b", Old: "present", Reloadable: true}},
		{"payload lowered", strings.Replace(base, "1000", "10", 1), conf.Change{Key: "max_payload", Old: "1000", New: "10", Reloadable: true}},
		{"port changed", strings.Replace(base, "4222", "4333", 1), conf.Change{Key: "port", Old: "4222", New: "4333"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := conf.Diff(old, parse(t, test.text))
			if len(got) != 1 || got[0] != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if _, err := conf.Parse("c.conf", []byte(base+"unknown: 1\n")); err == nil {
		t.Error("an unknown field appended: got no error")
	}
}
