package conf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"runnel/conf"
)

// TestErrors has one config per entry, all of whose errors are listed.
func TestErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"all at once", `# a broken file
prot: 1
jetstream { store_dri: x }
port: "abc"
ping_interval: soon
max_payload: 10GB
authorization { users: [ {user: a, pasword: b}, {user: [c]} ], timeout: -1 }
`, `2:1: unknown key "prot"; did you mean "port"?
3:13: unknown key "store_dri" in jetstream; did you mean "store_dir"?
4:7: port: expected a number, got string "abc"
5:16: ping_interval: expected a duration like "30s" or "2m", got string "soon"
6:14: max_payload: 10GB is out of range, it must be between 0 and 2147483647
7:36: unknown key "pasword" in authorization.users[0]; did you mean "password"?
7:49: authorization.users[1]: a user needs a name (user) or an nkey
7:56: authorization.users[1].user: expected a string, got a list
7:73: authorization.timeout: the duration -1 must not be negative`},
		{"type errors before a syntax error", "port: abc\nmax_payload: 1GB\nx {\n", `1:7: port: expected a number, got string "abc"
3:3: this "{" is never closed`},
		{"errors after a syntax error in a list", "port: abc\nserver_tags: [ {]\n", `1:7: port: expected a number, got string "abc"
2:17: "]" closes nothing`},

		{"unknown key", "foobar: 1", `1:1: unknown key "foobar"`},
		{
			"unknown key that belongs elsewhere",
			"no_tls: true",
			`1:1: unknown key "no_tls"; did you mean "websocket.no_tls"?`,
		},
		{
			"unknown key in a block that belongs elsewhere",
			"cluster { max_payload: 1 }",
			`1:11: unknown key "max_payload" in cluster; did you mean "max_payload"?`,
		},
		{
			"unknown key with swapped letters",
			"websokcet { port: 1 }",
			`1:1: unknown key "websokcet"; did you mean "websocket"?`,
		},
		{"alias with a typo", "max_con: 1", `1:1: unknown key "max_con"; did you mean "max_conn"?`},
		{"unused variable", "X: 1\nport: 2", `1:1: unknown key "X"`},
		{
			"unused variable in a block",
			"authorization { X: 1 }",
			`1:17: unknown key "X" in authorization`,
		},
		{
			"variable in quotes is unused",
			"name: 1\nserver_name: \"$name\"",
			`1:1: unknown key "name"; did you mean "cluster.name"?`,
		},
		{
			"unknown key in an account",
			"accounts { A { user: [] } }",
			`1:16: unknown key "user" in accounts.A; did you mean "users"?`,
		},
		{
			"unknown key in a permission",
			`authorization { default_permissions { publish { alow: a } } }`,
			`1:49: unknown key "alow" in authorization.default_permissions.publish; did you mean "allow"?`,
		},

		{"string for a number", `port: "4222"`, `1:7: port: expected a number, got string "4222"`},
		{"list for a number", `port: [1]`, `1:7: port: expected a number, got a list`},
		{"fraction for a number", `port: 1.5`, `1:7: port: expected a number, got number 1.5`},
		{
			"variable of the wrong type",
			"X: abc\nport: $X",
			`2:7: port: expected a number, got string "abc" (the value of $X)`,
		},
		{
			"port out of range",
			"port: 70000",
			`1:7: port: 70000 is out of range, it must be between -1 and 65535`,
		},
		{"negative port", "port: -2", `1:7: port: -2 is out of range, it must be between -1 and 65535`},
		{
			"number without end",
			"ping_max: 99999999999999999999",
			`1:11: ping_max: 99999999999999999999 is out of range, it must be between 0 and 2147483647`,
		},
		{
			"size out of range",
			"max_pending: -1",
			`1:14: max_pending: -1 is out of range, it must be 0 or more`,
		},
		{
			"string for a size",
			`max_payload: "8MB"`,
			`1:14: max_payload: expected a size like 4096 or 64MB, got string "8MB"`,
		},
		{
			"no size",
			`max_payload: 8MBB`,
			`1:14: max_payload: expected a size like 4096 or 64MB, got string "8MBB"`,
		},
		{
			"no string size",
			`jetstream { max_mem: "many" }`,
			`1:22: jetstream.max_memory_store: expected a size like 4096 or 64MB, got string "many"`,
		},
		{
			"tokens out of range",
			"max_subscription_tokens: 300",
			`1:26: max_subscription_tokens: 300 is out of range, it must be between 0 and 255`,
		},
		{
			"string for a boolean",
			`debug: "true"`,
			`1:8: debug: expected true or false, got string "true"`,
		},
		{"number for a boolean", `debug: 1`, `1:8: debug: expected true or false, got number 1`},
		{
			"boolean for a block",
			`cluster: true`,
			`1:10: cluster: expected a block { ... }, got boolean true`,
		},
		{
			"string for a block",
			`websocket: 8080`,
			`1:12: websocket: expected a block { ... }, got number 8080`,
		},
		{
			"string for a block with another form",
			`jetstream: maybe`,
			`1:12: jetstream: expected a boolean or a block { ... }, got string "maybe"`,
		},
		{
			"block for a list",
			`authorization { users { user: a } }`,
			`1:23: authorization.users: expected a list [ {...}, ... ], got a block`,
		},
		{
			"string in a list of blocks",
			`authorization { users [ a ] }`,
			`1:25: authorization.users[0]: expected a block { ... }, got string "a"`,
		},
		{
			"block in a list of strings",
			`server_tags [ a, {} ]`,
			`1:18: server_tags: expected a string, got a block`,
		},
		{
			"list for a map",
			`server_metadata [ a ]`,
			`1:17: server_metadata: expected a block { ... }, got a list`,
		},
		{
			"list in a map",
			`server_metadata { a: [] }`,
			`1:22: server_metadata.a: expected a string, got a list`,
		},
		{
			"string in a map of booleans",
			`feature_flags { a: b }`,
			`1:20: feature_flags.a: expected true or false, got string "b"`,
		},
		{
			"negative duration",
			`ping_interval: "-1s"`,
			`1:16: ping_interval: the duration -1s must not be negative`,
		},
		{
			"endless duration",
			`ping_interval: 99999999999999999`,
			`1:16: ping_interval: expected a duration like "30s" or "2m", got number 99999999999999999`,
		},
		{
			"map for a duration",
			`ping_interval {}`,
			`1:15: ping_interval: expected a duration like "30s" or "2m", got a block`,
		},
		{
			"no choice",
			`write_timeout: never`,
			`1:16: write_timeout: expected one of default, close, retry, got string "never"`,
		},
		{
			"no address",
			`listen: "localhost"`,
			`1:9: listen: expected "host:port" or a port number up to 65535, got string "localhost"`,
		},
		{
			"address without a port",
			`http: "localhost:"`,
			`1:7: http: expected "host:port" or a port number up to 65535, got string "localhost:"`,
		},
		{
			"address with a large port",
			`listen: "localhost:66000"`,
			`1:9: listen: expected "host:port" or a port number up to 65535, got string "localhost:66000"`,
		},
		{
			"address as a list",
			`listen: [a]`,
			`1:9: listen: expected "host:port" or a port number up to 65535, got a list`,
		},
		{
			"connection type",
			`authorization { users [ {user: a, password: $2a$x, clients: [standart]} ] }`,
			`1:62: authorization.users[0].allowed_connection_types: expected one of STANDARD, WEBSOCKET, LEAFNODE, LEAFNODE_WS, MQTT, MQTT_WS, IN_PROCESS, got string "standart"`,
		},
		{
			"TLS version",
			`tls { cert_file: a, key_file: b, min_version: "1.1" }`,
			`1:47: tls.min_version: expected 1.2 or 1.3, got string "1.1"`,
		},
		{
			"cipher suite",
			`tls { cert_file: a, key_file: b, cipher_suites: [X] }`,
			`1:50: tls.cipher_suites: expected a cipher suite like TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, got string "X"`,
		},
		{
			"curve",
			`tls { cert_file: a, key_file: b, curve_preferences: [X] }`,
			`1:54: tls.curve_preferences: expected one of X25519MLKEM768, X25519, CurveP256, CurveP384, CurveP521, got string "X"`,
		},
		{
			"pinned certificate",
			`tls { cert_file: a, key_file: b, pinned_certs: [ab] }`,
			`1:49: tls.pinned_certs: expected 64 hex digits, the SHA-256 of a public key, got string "ab"`,
		},
		{
			"handshake",
			`tls { cert_file: a, key_file: b, first: 5 }`,
			`1:41: tls.handshake_first: expected true, false, auto or a duration like "300ms", got number 5`,
		},
		{
			"route",
			`cluster { routes: ["nats://u:secret@a:1", "u:secret@"] }`,
			`1:43: cluster.routes: expected a URL like nats://host:port, got "[REDACTED]@"`,
		},
		{
			"weight",
			`mappings { a: { dest: b, weight: 101% } }`,
			`1:34: mappings.a.weight: expected a percentage from 0 to 100, got string "101%"`,
		},
		{
			"sampling",
			`accounts { A { exports [ {service: a, latency: {subject: b, sampling: 0}} ] } }`,
			`1:71: accounts.A.exports[0].latency.sampling: expected a percentage from 1 to 100, got number 0`,
		},
		{
			"stream and service",
			`accounts { A { exports [ {service: a, stream: b} ] } }`,
			`1:47: accounts.A.exports[0].stream: an export is either a stream or a service, not both`,
		},
		{
			"name in a list of accounts",
			`accounts [ A, {} ]`,
			`1:15: accounts: expected a name, got a block`,
		},
		{
			"resolver",
			`resolver: foo`,
			`1:11: resolver: expected MEMORY, URL(...) or a block { ... }, got string "foo"`,
		},
		{
			"formats in names",
			"accounts { \"%s%d\" { nkey: x } }",
			`1:21: accounts."%s%d".nkey: "x" is not the public key of an account, A...`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, err := conf.Parse("conf.txt", []byte(test.text))
			if err == nil {
				t.Fatalf("got %+v, want an error", o)
			}
			want := "conf.txt:" + strings.ReplaceAll(test.want, "\n", "\nconf.txt:")
			if err.Error() != want {
				t.Errorf("%s\ngot\n%v\nwant\n%s", test.text, err, want)
			}
			if o != nil {
				t.Error("got options besides the error")
			}
		})
	}
}

// TestRules has one config per entry that breaks a rule between keys.
func TestRules(t *testing.T) {
	users := "authorization { users [ {user: a, password: $2a$x} ] }\n"
	for _, test := range []struct{ name, text, want string }{
		{
			"name with a blank",
			`server_name: "a b"`,
			`1:1: server_name: the name "a b" must not contain blanks`,
		},
		{
			"payload over pending",
			"max_pending: 100\nmax_payload: 200",
			`2:1: max_payload: 200 is more than max_pending, which is 100`,
		},
		{
			"payload over the default pending",
			"max_payload: 1gb",
			`1:1: max_payload: 1073741824 is more than max_pending, which is 67108864`,
		},
		{
			"short lame duck",
			`lame_duck_duration: "10s"`,
			`1:1: lame_duck_duration: 10s is too short, it must be at least 30s`,
		},
		{
			"long grace",
			"lame_duck_duration: \"30s\"\nlame_duck_grace_period: \"30s\"",
			`2:1: lame_duck_grace_period: 30s must be less than lame_duck_duration, which is 30s`,
		},
		{
			"advertised port",
			`client_advertise: "foo:bar"`,
			`1:1: client_advertise: expected host or host:port, got "foo:bar"`,
		},
		{
			"advertised port zero",
			`client_advertise: "foo:0"`,
			`1:1: client_advertise: expected host or host:port, got "foo:0"`,
		},
		{
			"advertised nothing",
			`client_advertise: ":80"`,
			`1:1: client_advertise: expected host or host:port, got ":80"`,
		},
		{
			"two ways to monitor",
			"tls { cert_file: a, key_file: b }\nhttp: 1\nhttps: 2",
			`3:1: https: monitoring is served either by http or by https, not both`,
		},
		{"https without TLS", "https: 2", `1:1: https: it needs a tls block with a certificate`},
		{
			"TLS without a certificate",
			"tls { verify: true }",
			`1:1: tls: a listener needs cert_file and key_file`,
		},
		{
			"TLS without a key",
			"tls { cert_file: a }",
			`1:1: tls: cert_file and key_file go together, one is missing`,
		},
		{
			"second certificate without a key",
			"tls { certs [ { cert_file: a } ] }",
			`1:15: tls.certs[0]: cert_file and key_file go together, one is missing`,
		},
		{
			"insecure cipher suite",
			"tls { cert_file: a, key_file: b, cipher_suites: [TLS_RSA_WITH_RC4_128_SHA] }",
			`1:34: tls.cipher_suites: an insecure cipher suite needs allow_insecure_cipher_suites: true`,
		},
		{
			"WebSocket without TLS",
			"websocket { port: 80 }",
			`1:1: websocket: it needs a tls block, or no_tls: true`,
		},
		{
			"origin",
			"websocket { port: 80, no_tls: true, origins: [foo] }",
			`1:37: websocket.allowed_origins: expected an origin like https://example.com, got "foo"`,
		},
		{
			"header",
			"websocket { port: 80, no_tls: true, headers { \"a b\": c } }",
			`1:47: websocket.headers."a b": not a header that HTTP can carry`,
		},
		{
			"header with a line end",
			"websocket { port: 80, no_tls: true, headers { a: \"b\\nc\" } }",
			`1:47: websocket.headers.a: not a header that HTTP can carry`,
		},
		{
			"token and user",
			"authorization { user: a, token: $2a$x }",
			`1:26: authorization.token: a token cannot be combined with user and password`,
		},
		{
			"password alone",
			"authorization { password: $2a$x }",
			`1:17: authorization.password: a password needs a user`,
		},
		{
			"single user and list",
			"authorization { user: x, users [ {user: a} ] }",
			`1:17: authorization.user: a single user cannot be combined with lists of users`,
		},
		{
			"single user and account",
			"authorization { user: x }\naccounts { A { users [ {user: a} ] } }",
			`1:17: authorization.user: a single user cannot be combined with lists of users`,
		},
		{
			"token and list",
			"authorization { token: $2a$x, users [ {user: a} ] }",
			`1:17: authorization.token: a token cannot be combined with lists of users`,
		},
		{
			"double user",
			"authorization { users [ {user: a}\n{user: a} ] }",
			`2:1: authorization.users[1]: the user "a" exists already, as authorization.users[0]`,
		},
		{
			"user of two accounts",
			"accounts { A { users [ {user: a} ] }\nB { users [ {user: a} ] } }",
			`2:13: accounts.B.users[0]: the user "a" exists already, as accounts.A.users[0]`,
		},
		{
			"user without a name",
			"authorization { users [ {password: $2a$x} ] }",
			`1:25: authorization.users[0]: a user needs a name (user) or an nkey`,
		},
		{
			"no key",
			"authorization { users [ {nkey: UX} ] }",
			`1:26: authorization.users[0].nkey: "UX" is not the public key of a user, U...`,
		},
		{
			"key of another kind",
			"authorization { users [ {nkey: " + accountKey + "} ] }",
			`1:26: authorization.users[0].nkey: "` + accountKey + `" is not the public key of a user, U...`,
		},
		{
			"key with a typo",
			"authorization { users [ {nkey: " + strings.Replace(userKey, "4R", "R4", 1) + "} ] }",
			`1:26: authorization.users[0].nkey: "` + strings.Replace(userKey, "4R", "R4", 1) + `" is not the public key of a user, U...`,
		},
		{
			"key and name",
			"authorization { users [ {nkey: " + userKey + ", user: a} ] }",
			`1:26: authorization.users[0].nkey: a user has either an nkey or a name with a password`,
		},
		{
			"no_auth_user without users",
			"no_auth_user: a",
			`1:1: no_auth_user: there is no user "a" in authorization.users or in an account`,
		},
		{
			"no_auth_user that is missing",
			users + "no_auth_user: b",
			`2:1: no_auth_user: there is no user "b" in authorization.users or in an account`,
		},
		{
			"no_auth_user of the WebSocket",
			users + "websocket { no_auth_user: b }",
			`2:13: websocket.no_auth_user: there is no user "b" in authorization.users or in an account`,
		},
		{
			"subject",
			`authorization { default_permissions { publish: "foo..bar" } }`,
			`1:39: authorization.default_permissions.publish: "foo..bar" is not a valid subject`,
		},
		{
			"empty subject",
			`authorization { default_permissions { publish: "" } }`,
			`1:39: authorization.default_permissions.publish: "" is not a valid subject`,
		},
		{
			"queue to publish",
			`authorization { default_permissions { publish: "foo q" } }`,
			`1:39: authorization.default_permissions.publish: "foo q" is not a valid subject`,
		},
		{
			"denied subject",
			`authorization { users [ {user: a, permissions { subscribe { deny: ["a q r"] } } } ] }`,
			`1:61: authorization.users[0].permissions.subscribe.deny: "a q r" is not a valid subject`,
		},
		{
			"reserved account",
			"accounts { $G {} }",
			`1:12: accounts.$G: the account $G is reserved; put its users into authorization`,
		},
		{
			"account with a blank",
			`accounts { "A B" {} }`,
			`1:12: accounts."A B": the name of an account becomes part of subjects: no blanks and no wildcards`,
		},
		{"account twice", `accounts [ A, A ]`, `1:15: accounts.A: the account exists already`},
		{
			"account key",
			`accounts { A { nkey: ` + userKey + ` } }`,
			`1:16: accounts.A.nkey: "` + userKey + `" is not the public key of an account, A...`,
		},
		{"system account", `system_account: A`, `1:1: system_account: there is no account "A"`},
		{
			"system account that is off",
			"system_account: A\nno_system_account: true\naccounts [A]",
			`1:1: system_account: no_system_account is set too`,
		},
		{
			"import from nowhere",
			`accounts { A { imports [ {stream: {account: B, subject: c}} ] } }`,
			`1:26: accounts.A.imports[0]: there is no account "B"`,
		},
		{
			"import of nothing",
			`accounts { A { imports [ {to: c} ] } }`,
			`1:26: accounts.A.imports[0]: it needs a stream or a service with a valid subject, got ""`,
		},
		{
			"import twice renamed",
			`accounts { A { imports [ {stream: {account: A, subject: c}, to: d, prefix: e} ] } }`,
			`1:26: accounts.A.imports[0]: prefix and to cannot be combined`,
		},
		{
			"export of nothing",
			`accounts { A { exports [ {accounts: [A]} ] } }`,
			`1:26: accounts.A.exports[0]: it needs a stream or a service with a valid subject, got ""`,
		},
		{
			"latency",
			`accounts { A { exports [ {service: a, latency: "b.*"} ] } }`,
			`1:39: accounts.A.exports[0].latency: it needs a valid subject without wildcards, got "b.*"`,
		},
		{
			"mapping source",
			`mappings { "a..b": c }`,
			`1:12: mappings."a..b": "a..b" is not a valid subject`,
		},
		{
			"mapping weights",
			`mappings { a: [ {dest: b, weight: 60}, {dest: c, weight: 50} ] }`,
			`1:12: mappings.a: the weights of the destinations add up to more than 100`,
		},
		{
			"mapping weights of a cluster",
			`mappings { a: [ {dest: b, cluster: x}, {dest: c, weight: 50, cluster: x}, {dest: d} ] }`,
			`1:12: mappings.a: the weights of the destinations in the cluster x add up to more than 100`,
		},
		{
			"cluster name",
			`cluster { name: "a b" }`,
			`1:11: cluster.name: the name "a b" must not contain blanks`,
		},
		{
			"token between servers",
			`cluster { listen: 1, authorization { token: a } }`,
			`1:38: cluster.authorization.token: servers show one another a user and a password, not a token`,
		},
		{
			"accounts between servers",
			"accounts [B]\ncluster { listen: 1, accounts: [ \"$G\", \"$SYS\", B, C ] }",
			`2:22: cluster.accounts: there is no account "C"`,
		},
		{
			"times of compression",
			`cluster { listen: 1, compression { mode: s2_auto, rtt_thresholds: [3ms, 2ms] } }`,
			`1:51: cluster.compression.rtt_thresholds: expected one to three round trip times in ascending order, got [3ms 2ms]`,
		},
		{"gateway without a name", `gateway {}`, `1:1: gateway: it needs a name, that of the cluster`},
		{
			"gateway of another name",
			"cluster { name: a }\ngateway { name: b }",
			`2:11: gateway.name: "b" differs from the name of the cluster, "a"`,
		},
		{
			"hub without a URL",
			`leafnodes { remotes [ {} ] }`,
			`1:23: leafnodes.remotes[0]: it needs a url`,
		},
		{
			"trusted key",
			`trusted_keys: [x]`,
			`1:1: trusted_keys: "x" is not the public key of an operator, O...`,
		},
		{
			"proxy key",
			`proxies { trusted [ { key: x } ] }`,
			`1:23: proxies.trusted[0].key: "x" is not a public key that signs, such as U...`,
		},
		{
			"callout without users",
			`authorization { auth_callout { issuer: ` + accountKey + ` } }`,
			`1:17: authorization.auth_callout: it needs auth_users, at least that of the service itself`,
		},
		{
			"callout account",
			`authorization { auth_callout { issuer: ` + accountKey + `, auth_users: a, account: B } }`,
			`1:` + "NN" + `: authorization.auth_callout.account: there is no account "B"`,
		},
		{
			"callout allowed accounts",
			"authorization { auth_callout { issuer: " + accountKey + ", auth_users: a\n allowed_accounts: [B] } }",
			`2:2: authorization.auth_callout.allowed_accounts: there is no account "B"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := conf.Parse("c.conf", []byte(test.text))
			want := "c.conf:" + test.want
			if i := strings.Index(test.text, "account: B }"); strings.Contains(want, "NN") {
				want = strings.Replace(want, "NN", fmt.Sprint(i+1), 1)
			}
			if err == nil || err.Error() != want {
				t.Errorf("%s\ngot  %v\nwant %s", test.text, err, want)
			}
		})
	}
}

func TestRulesThatHold(t *testing.T) {
	for _, text := range []string{
		"authorization { user: a, password: b }",
		"authorization { token: b }",
		"authorization { users [ {user: a}, {nkey: " + userKey + "} ] }\nno_auth_user: " + userKey,
		"accounts { A { users [ {user: a} ] } }\nno_auth_user: a\nsystem_account: A",
		`system_account: "$SYS"`,
		`accounts { A.B: {} }`,
		"authorization { default_permissions { subscribe: [\"a.* q.*\", \">\", \"b  q\"] } }",
		"client_advertise: foo\ncluster { advertise: \"[::1]:80\" }",
		"client_advertise: \"fe80::1\"",
		"websocket { no_tls: true }",
		"http: -1",
		"mappings { foo.*: [ {dest: \"bar.{{partition(3,1)}}\", weight: 50}, {dest: foo.$1, weight: 50} ] }",
		"trusted_keys: " + operatorKey + "\nno_auth_user: x\nsystem_account: X",
		"proxies { trusted [ { key: " + userKey + " } ] }",
		"authorization { auth_callout { issuer: " + accountKey + ", xkey: " + curveKey + ", auth_users: [a] } }",
		"tls { cert_store: WindowsLocalMachine, cert_match_by: Subject, cert_match: x }",
		"leafnodes { remotes [ { url: \"nats://a\", tls { ca_file: x } } ], tls { ca_file: y } }",
	} {
		if _, err := conf.Parse("c.conf", []byte(text)); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

// TestValidate changes options as flags do, which have no position.
func TestValidate(t *testing.T) {
	o := conf.Defaults()
	o.Port, o.ServerName = 70000, "a b"
	o.Limits.MaxPayloadBytes = 0
	o.Liveness.PingInterval = -1
	o.Monitor.HTTPSPort = -5
	want := "server_name: the name \"a b\" must not contain blanks\n" +
		"port: the port 70000 is out of range, it must be between -1 and 65535\n" +
		"max_payload: it must be more than 0\n" +
		"ping_interval: it must be more than 0\n" +
		"https: the port -5 is out of range, it must be between -1 and 65535\n" +
		"https: it needs a tls block with a certificate"
	err := o.Validate()
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	var errs conf.Errors
	if !errors.As(err, &errs) || len(errs) != 6 {
		t.Errorf("got %T, want conf.Errors", err)
	}
}

func TestManyErrors(t *testing.T) {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "kye%d: 1\n", i)
	}
	_, err := conf.Parse("c.conf", []byte(text.String()))
	var errs conf.Errors
	if !errors.As(err, &errs) || len(errs) != 200 || !strings.Contains(errs[199].Text, "too many errors") {
		t.Errorf("got %d errors, want 200 with the last saying that there are more", len(errs))
	}
}
