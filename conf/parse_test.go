package conf_test

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/conf"
)

// Public keys of each kind.
const (
	userKey     = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
	accountKey  = "AAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQTCQKRMFYYDENBWHA5DYPSAXJQ"
	operatorKey = "OAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQTCQKRMFYYDENBWHA5DYPSABFW"
	curveKey    = "XAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQTCQKRMFYYDENBWHA5DYPSAYZ5"
)

func parse(t *testing.T, text string) *conf.Options {
	t.Helper()
	o, err := conf.Parse("c.conf", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return o
}

func TestDefaults(t *testing.T) {
	o := conf.Defaults()
	for _, test := range []struct {
		name      string
		got, want any
	}{
		{"host", o.Host, "0.0.0.0"},
		{"port", o.Port, 4222},
		{"max_connections", o.Limits.MaxConnections, 65536},
		{"max_control_line", o.Limits.MaxControlLineBytes, 4096},
		{"max_payload", o.Limits.MaxPayloadBytes, 1048576},
		{"max_pending", o.Limits.MaxPendingBytes, int64(67108864)},
		{"max_closed_clients", o.Limits.MaxClosedClients, 10000},
		{"ping_interval", o.Liveness.PingInterval, 2 * time.Minute},
		{"ping_max", o.Liveness.PingMax, 2},
		{"write_deadline", o.Liveness.WriteDeadline, 10 * time.Second},
		{"lame_duck_duration", o.LameDuck.Duration, 2 * time.Minute},
		{"lame_duck_grace_period", o.LameDuck.GracePeriod, 10 * time.Second},
		{"logtime", o.Log.Time, true},
		{"http_base_path", o.Monitor.BasePath, "/"},
		{"auth timeout", o.AuthTimeout(), 2 * time.Second},
		{"validate", o.Validate(), nil},
	} {
		if !reflect.DeepEqual(test.got, test.want) {
			t.Errorf("%s is %v, want %v", test.name, test.got, test.want)
		}
	}
	if changes := conf.Diff(o, parse(t, "")); changes != nil {
		t.Errorf("an empty config differs from the defaults: %v", changes)
	}
}

func TestZeroMeansDefault(t *testing.T) {
	o := parse(t, "port: 0, max_payload: 0, max_control_line: 0, max_pending: 0, ping_interval: 0, ping_max: 0\n"+
		"write_deadline: \"0s\", max_connections: 0, max_closed_clients: 0, host: \"\", http_base_path: \"\"")
	if changes := conf.Diff(conf.Defaults(), o); changes != nil {
		t.Errorf("got %v, want the defaults", changes)
	}
}

func TestScalars(t *testing.T) {
	for _, test := range []struct {
		name, text string
		get        func(*conf.Options) any
		want       any
	}{
		{
			"listen",
			"listen: localhost:1",
			func(o *conf.Options) any { return [2]any{o.Host, o.Port} },
			[2]any{"localhost", 1},
		},
		{
			"listen on a port",
			"listen: 1",
			func(o *conf.Options) any { return [2]any{o.Host, o.Port} },
			[2]any{"0.0.0.0", 1},
		},
		{
			"listen on any host",
			"listen: :1",
			func(o *conf.Options) any { return [2]any{o.Host, o.Port} },
			[2]any{"0.0.0.0", 1},
		},
		{
			"listen on any port",
			"listen: 127.0.0.1:-1",
			func(o *conf.Options) any { return [2]any{o.Host, o.Port} },
			[2]any{"127.0.0.1", -1},
		},
		{
			"listen on IPv6",
			`listen: "[::1]:80"`,
			func(o *conf.Options) any { return [2]any{o.Host, o.Port} },
			[2]any{"::1", 80},
		},
		{
			"monitoring path without a slash",
			"http_base_path: nats",
			func(o *conf.Options) any { return o.Monitor.BasePath },
			"/nats",
		},
		{"keys in any case", "PORT: 1", func(o *conf.Options) any { return o.Port }, 1},
		{"alias", "net: x", func(o *conf.Options) any { return o.Host }, "x"},
		{
			"the last key wins",
			"port: 1\nPort: 2\nport: 3",
			func(o *conf.Options) any { return o.Port },
			3,
		},
		{"the last alias wins", "host: a\nnet: b", func(o *conf.Options) any { return o.Host }, "b"},
		{
			"number as string",
			"server_name: 0123",
			func(o *conf.Options) any { return o.ServerName },
			"0123",
		},
		{
			"boolean as string",
			"server_name: Yes",
			func(o *conf.Options) any { return o.ServerName },
			"Yes",
		},
		{
			"date as string",
			"server_name: 2006-01-02T15:04:05Z",
			func(o *conf.Options) any { return o.ServerName },
			"2006-01-02T15:04:05Z",
		},
		{
			"size",
			"max_payload: 64kb",
			func(o *conf.Options) any { return o.Limits.MaxPayloadBytes },
			65536,
		},
		{
			"decimal size",
			"max_pending: 8m",
			func(o *conf.Options) any { return o.Limits.MaxPendingBytes },
			int64(8000000),
		},
		{
			"count with a suffix",
			"max_connections: 5k",
			func(o *conf.Options) any { return o.Limits.MaxConnections },
			5000,
		},
		{
			"no limit",
			"max_connections: -1",
			func(o *conf.Options) any { return o.Limits.MaxConnections },
			-1,
		},
		{
			"duration",
			`ping_interval: "1h30m"`,
			func(o *conf.Options) any { return o.Liveness.PingInterval },
			90 * time.Minute,
		},
		{
			"duration as a word",
			"ping_interval: 100ms",
			func(o *conf.Options) any { return o.Liveness.PingInterval },
			100 * time.Millisecond,
		},
		{
			"minutes are no millions",
			"ping_interval: 2m",
			func(o *conf.Options) any { return o.Liveness.PingInterval },
			2 * time.Minute,
		},
		{
			"duration in seconds",
			"ping_interval: 90",
			func(o *conf.Options) any { return o.Liveness.PingInterval },
			90 * time.Second,
		},
		{
			"duration in parts of seconds",
			"ping_interval: 1.5",
			func(o *conf.Options) any { return o.Liveness.PingInterval },
			1500 * time.Millisecond,
		},
		{"boolean", "debug: on", func(o *conf.Options) any { return o.Log.Debug }, true},
		{
			"list",
			"server_tags: [a, 1, \"b c\"]",
			func(o *conf.Options) any { return o.ServerTags },
			[]string{"a", "1", "b c"},
		},
		{
			"list of one",
			"server_tags: a",
			func(o *conf.Options) any { return o.ServerTags },
			[]string{"a"},
		},
		{
			"map",
			"server_metadata { a: 1, B: c }",
			func(o *conf.Options) any { return o.ServerMetadata },
			map[string]string{"a": "1", "B": "c"},
		},
		{
			"map of booleans",
			"feature_flags { a: yes, b: off }",
			func(o *conf.Options) any { return o.FeatureFlags },
			map[string]bool{"a": true, "b": false},
		},
		{
			"monitoring port",
			"http: 8222",
			func(o *conf.Options) any { return o.Monitor },
			conf.Monitor{Port: 8222, BasePath: "/", Metrics: conf.Metrics{MaxStreams: 200, MaxConsumers: 1000}},
		},
		{
			"monitoring address",
			"http: localhost:8222",
			func(o *conf.Options) any { return o.Monitor },
			conf.Monitor{Host: "localhost", Port: 8222, BasePath: "/", Metrics: conf.Metrics{MaxStreams: 200, MaxConsumers: 1000}},
		},
		{
			"monitoring by its other name",
			"monitor_port: 8222",
			func(o *conf.Options) any { return o.Monitor.Port },
			8222,
		},
		{
			"monitoring path",
			"http_base_path: /nats",
			func(o *conf.Options) any { return o.Monitor.BasePath },
			"/nats",
		},
		{
			"log",
			"log_file: x, logfile_size_limit: 1MB, log_max_num: 3",
			func(o *conf.Options) any { return o.Log },
			conf.Log{Time: true, File: "x", MaxFileBytes: 1 << 20, MaxFiles: 3},
		},
		{
			"choice in any case",
			"write_timeout: CLOSE",
			func(o *conf.Options) any { return o.Liveness.WriteTimeout },
			conf.WriteTimeoutClose,
		},
		{
			"auth timeout in seconds",
			"authorization { timeout: 0.5 }",
			func(o *conf.Options) any { return o.AuthTimeout() },
			500 * time.Millisecond,
		},
		{
			"auth timeout as a duration",
			`authorization { timeout: "3s" }`,
			func(o *conf.Options) any { return o.AuthTimeout() },
			3 * time.Second,
		},
		{
			"auth timeout with TLS",
			"tls { cert_file: a, key_file: b, timeout: 5 }",
			func(o *conf.Options) any { return o.AuthTimeout() },
			6 * time.Second,
		},
		{"variable", "X: 5\nport: $X", func(o *conf.Options) any { return o.Port }, 5},
		{
			"password of digits",
			"authorization { user: a, password: 123 }",
			func(o *conf.Options) any { return o.Authorization.Password },
			"123",
		},
		{
			"password of many digits",
			"authorization { user: a, password: 99999999999999999999 }",
			func(o *conf.Options) any { return o.Authorization.Password },
			"99999999999999999999",
		},
		{
			"password like a float",
			"authorization { user: a, password: 12.50 }",
			func(o *conf.Options) any { return o.Authorization.Password },
			"12.50",
		},
		{
			"password like a power",
			"authorization { user: a, password: 1e5 }",
			func(o *conf.Options) any { return o.Authorization.Password },
			"1e5",
		},
		{
			"password like a size",
			"authorization { user: a, password: 64MB }",
			func(o *conf.Options) any { return o.Authorization.Password },
			"64MB",
		},
		{
			"password like a variable",
			`authorization { user: a, password: "$x" }`,
			func(o *conf.Options) any { return o.Authorization.Password },
			"$x",
		},
		{
			"password hash",
			"authorization { user: a, password: $2a$11$abc }",
			func(o *conf.Options) any { return o.Authorization.Password },
			"$2a$11$abc",
		},
		{
			"token as a block",
			"authorization { token: (\nabc\n)\n}",
			func(o *conf.Options) any { return o.Authorization.Token },
			"\nabc\n",
		},
		{
			"store_dir above",
			"store_dir: x\njetstream {}",
			func(o *conf.Options) any { return o.JetStream.StoreDir },
			"x",
		},
		{
			"store_dir within",
			"store_dir: x\njetstream { store_dir: y }",
			func(o *conf.Options) any { return o.JetStream.StoreDir },
			"y",
		},
		{
			"JetStream by a word",
			"jetstream: enabled",
			func(o *conf.Options) any { return o.JetStream.Enabled },
			true,
		},
		{
			"JetStream off",
			"jetstream: false",
			func(o *conf.Options) any { return o.JetStream.Enabled },
			false,
		},
		{
			"binary string sizes",
			`jetstream { max_mem: "1G", max_file: "10 " }`,
			func(o *conf.Options) any { return [2]int64{o.JetStream.MaxMemoryBytes, o.JetStream.MaxStoreBytes} },
			[2]int64{1 << 30, 10},
		},
		{
			"store size as a number",
			"jetstream { max_mem: 1g }",
			func(o *conf.Options) any { return o.JetStream.MaxMemoryBytes },
			int64(1000000000),
		},
		{"leaf node port", "leafnodes {}", func(o *conf.Options) any { return o.LeafNodes.Port }, 7422},
		{
			"leaf node without a port",
			"leafnodes { remotes [ { url: \"nats://a\" } ] }",
			func(o *conf.Options) any { return o.LeafNodes.Port },
			0,
		},
		{
			"compression",
			"cluster { compression: { mode: s2_auto, rtt_thresholds: [1ms, 2ms] } }",
			func(o *conf.Options) any { return o.Cluster.Compression },
			conf.Compression{Mode: "s2_auto", RTTThresholds: []time.Duration{time.Millisecond, 2 * time.Millisecond}},
		},
		{
			"compression off",
			"cluster { compression: off }",
			func(o *conf.Options) any { return o.Cluster.Compression.Mode },
			"off",
		},
		{
			"compression on",
			"cluster { compression: true }",
			func(o *conf.Options) any { return o.Cluster.Compression.Mode },
			"s2_auto",
		},
		{
			"memory resolver",
			"resolver: MEM",
			func(o *conf.Options) any { return o.Operator.Resolver.Type },
			"memory",
		},
		{
			"URL resolver",
			"resolver: URL(http://a/b)",
			func(o *conf.Options) any { return o.Operator.Resolver.URL },
			"http://a/b",
		},
		{"OCSP by mode", "ocsp: always", func(o *conf.Options) any { return o.OCSP.Mode }, "always"},
		{"OCSP off", "ocsp: false", func(o *conf.Options) any { return o.OCSP.Mode }, "never"},
		{
			"OCSP cache off",
			"ocsp_cache: false",
			func(o *conf.Options) any { return o.OCSPCache.Type },
			"none",
		},
		{
			"OCSP cache by type",
			"ocsp_cache: local",
			func(o *conf.Options) any { return o.OCSPCache.Type },
			"local",
		},
		{"migrate", "leafnodes { remotes [ { url: \"nats://a\", jetstream_cluster_migrate: { leader_migrate_delay: 5s } } ] }", func(o *conf.Options) any {
			r := o.LeafNodes.Remotes[0]
			return [2]any{r.ClusterMigrate, r.LeaderMigrateDelay}
		}, [2]any{true, 5 * time.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.get(parse(t, test.text)); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s\ngot  %+v\nwant %+v", test.text, got, test.want)
			}
		})
	}
}

func TestUsers(t *testing.T) {
	o := parse(t, `
authorization {
  default_permissions { publish: "d.>" }
  users = [
    { user: a, password: "", permissions { publish: foo, subscribe: [b, "c q.*"] } }
    { username: b, pass: c, permissions { pub { allow: [x, "y.>"], deny: z }, sub { deny: ">" }, allow_responses: true } }
    { nkey: `+userKey+`, connection_types: [standard, WEBSOCKET], permissions { allow_responses { max: 5, expires: "1m" } } }
    { user: d, password: e, permissions { allow_responses: false, publish: [] } }
  ]
}`)
	want := []conf.User{
		{Username: "a", Permissions: &conf.Permissions{
			Publish:   conf.Rules{Allow: []string{"foo"}},
			Subscribe: conf.Rules{Allow: []string{"b", "c q.*"}},
		}},
		{Username: "b", Password: "c", Permissions: &conf.Permissions{
			Publish:   conf.Rules{Allow: []string{"x", "y.>"}, Deny: []string{"z"}},
			Subscribe: conf.Rules{Deny: []string{">"}},
			Responses: &conf.ResponsePermission{Max: 1, Expires: 2 * time.Minute},
		}},
		{NKey: userKey, ConnectionTypes: []string{"STANDARD", "WEBSOCKET"}, Permissions: &conf.Permissions{
			Responses: &conf.ResponsePermission{Max: 5, Expires: time.Minute},
		}},
		{Username: "d", Password: "e", Permissions: &conf.Permissions{Publish: conf.Rules{Allow: []string{}}}},
	}
	for i, u := range o.Authorization.Users {
		if !reflect.DeepEqual(u, want[i]) {
			t.Errorf("user %d: got %+v, want %+v", i, u, want[i])
		}
	}
	if d := o.Authorization.DefaultPermissions; d == nil || d.Publish.Allow[0] != "d.>" {
		t.Errorf("default permissions are %+v", d)
	}
	if n := o.Authorization.Users[2].Name(); n != userKey {
		t.Errorf("the user with a key is called %q", n)
	}
}

func TestAccounts(t *testing.T) {
	o := parse(t, `
accounts {
  B: { nkey: `+accountKey+`, users: [ {user: b, pass: x} ], limits { max_conn: 5, max_payload: 1kb } }
  A: {
    exports [
      { stream: "s.>", accounts: [B] }
      { service: "q.*", response: chunk, response_threshold: "5s", latency: { sampling: 50%, subject: lat }, account_token_position: 2 }
      { service: "r", latency: lat }
      { service: "h", latency: { sampling: headers, subject: lat } }
    ]
    imports = [
      { stream: {account: B, subject: "x.>"}, prefix: p, allow_trace: true }
      { service: {account: B, subject: y}, to: z, share: true }
    ]
    mappings { "foo.*": "bar.$1", one: [ {dest: two, weight: 60%}, {destination: three, weight: 40, cluster: c} ], x: {dest: y, weight: 5} }
    jetstream: { max_mem: "1M", max_file: 1gb, max_streams: 3, max_stream_bytes: true, cluster_traffic: owner }
    msg_trace: { dest: t, sampling: "10%" }
  }
  C: { jetstream: enabled, trace_dest: "x" }
  D { jetstream: false }
  $SYS: {}
}`)
	unlimited := conf.AccountLimits{MaxConnections: -1, MaxSubscriptions: -1, MaxPayloadBytes: -1, MaxLeafNodes: -1}
	limits := unlimited
	limits.MaxConnections, limits.MaxPayloadBytes = 5, 1024
	js := conf.AccountJetStream{-1, -1, -1, -1, -1, -1, -1, false, "system"}
	some := conf.AccountJetStream{1 << 20, 1 << 30, 3, -1, -1, -1, -1, true, "owner"}
	want := []conf.Account{
		{Name: "B", NKey: accountKey, Users: []conf.User{{Username: "b", Password: "x"}}, Limits: limits},
		{
			Name: "A", Limits: unlimited, JetStream: &some,
			Exports: []conf.Export{
				{Subject: "s.>", Accounts: []string{"B"}, ResponseType: "single", ResponseThreshold: 2 * time.Minute},
				{
					Service: true, Subject: "q.*", ResponseType: "chunked", ResponseThreshold: 5 * time.Second,
					Latency: &conf.Latency{Subject: "lat", Sampling: 50}, AccountTokenPosition: 2,
				},
				{Service: true, Subject: "r", ResponseType: "single", ResponseThreshold: 2 * time.Minute, Latency: &conf.Latency{Subject: "lat", Sampling: 100}},
				{Service: true, Subject: "h", ResponseType: "single", ResponseThreshold: 2 * time.Minute, Latency: &conf.Latency{Subject: "lat"}},
			},
			Imports: []conf.Import{
				{Account: "B", Subject: "x.>", Prefix: "p", AllowTrace: true},
				{Service: true, Account: "B", Subject: "y", To: "z", Share: true},
			},
			Mappings: []conf.Mapping{
				{Source: "foo.*", Destinations: []conf.MappingDestination{{Subject: "bar.$1", Weight: 100}}},
				{Source: "one", Destinations: []conf.MappingDestination{{Subject: "two", Weight: 60}, {Subject: "three", Weight: 40, Cluster: "c"}}},
				{Source: "x", Destinations: []conf.MappingDestination{{Subject: "y", Weight: 5}}},
			},
			MessageTrace: &conf.MessageTrace{Destination: "t", Sampling: 10},
		},
		{Name: "C", Limits: unlimited, JetStream: &js, MessageTrace: &conf.MessageTrace{Destination: "x", Sampling: 100}},
		{Name: "D", Limits: unlimited},
		{Name: "$SYS", Limits: unlimited},
	}
	if len(o.Accounts) != len(want) {
		t.Fatalf("got %d accounts, want %d", len(o.Accounts), len(want))
	}
	for i, a := range o.Accounts {
		if !reflect.DeepEqual(a, want[i]) {
			t.Errorf("account %s: got  %+v\nwant %+v", a.Name, a, want[i])
		}
	}
	if list := parse(t, "accounts [X, Y]").Accounts; len(list) != 2 || list[1].Name != "Y" || list[1].Limits != unlimited {
		t.Errorf("a list of names gives %+v", list)
	}
}

func TestTLS(t *testing.T) {
	sum := strings.Repeat("AB", 32)
	o := parse(t, `tls {
  cert_file: a, key_file: b, ca_file: c, verify: true, verify_and_map: true, timeout: 0.5, min_version: 1.3
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256], curve_preferences: [x25519, CurveP256]
  certs [ {cert_file: d, key_file: e} ], pinned_certs: [`+sum+`], first: "300ms", connection_rate_limit: 9
  ocsp_peer: true
}`)
	want := &conf.TLS{
		CertFile: "a", KeyFile: "b", CAFile: "c", Verify: true, VerifyAndMap: true, Timeout: 500 * time.Millisecond,
		MinVersion: tls.VersionTLS13, CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256},
		CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256}, Certificates: []conf.CertificatePair{{"d", "e"}},
		PinnedCerts: []string{strings.ToLower(sum)}, ConnectionRateLimit: 9,
		HandshakeFirst: conf.HandshakeFirst{Enabled: true, Fallback: 300 * time.Millisecond},
		OCSPPeer:       &conf.OCSPPeer{Verify: true, CATimeout: 2 * time.Second, ClockSkew: 30 * time.Second, TTLUnsetNextUpdate: time.Hour},
	}
	if !reflect.DeepEqual(o.TLS, want) {
		t.Errorf("got  %+v\nwant %+v", o.TLS, want)
	}
	for value, want := range map[string]conf.HandshakeFirst{
		"true": {Enabled: true}, "false": {}, "AUTO": {true, 50 * time.Millisecond}, "2s": {true, 2 * time.Second},
	} {
		got := parse(t, "tls { cert_file: a, key_file: b, handshake_first: "+value+" }").TLS
		if got.HandshakeFirst != want || got.MinVersion != tls.VersionTLS12 || got.Timeout != 2*time.Second {
			t.Errorf("handshake_first %s: got %+v, want %+v", value, got.HandshakeFirst, want)
		}
	}
}

func TestWebSocket(t *testing.T) {
	o := parse(t, `websocket {
  listen: "localhost:-1", no_tls: true, compression: true, allowed_origins: "http://a.b", same_origin: true
  handshake_timeout: "3s", jwt_cookie: j, headers { X-A: b }, ping_interval: "5s"
  authorization { username: u, password: $2a$x, timeout: 3 }
}`)
	want := &conf.WebSocket{
		Host: "localhost", Port: -1, NoTLS: true, Compression: true, AllowedOrigins: []string{"http://a.b"}, SameOrigin: true,
		HandshakeTimeout: 3 * time.Second, JWTCookie: "j", Headers: map[string]string{"X-A": "b"}, PingInterval: 5 * time.Second,
		Authorization: conf.Authorization{Username: "u", Password: "$2a$x", Timeout: 3 * time.Second},
	}
	if !reflect.DeepEqual(o.WebSocket, want) {
		t.Errorf("got  %+v\nwant %+v", o.WebSocket, want)
	}
}

func TestWarnings(t *testing.T) {
	o := parse(t, "ping_interval: 120\nport: 1\nauthorization { users [\n {user: a, password: x}, {user: b, password: y}\n] }\nPort: 2\nmax_payload: 9MB\n")
	want := `c.conf:1:16: ping_interval: 120 has no unit and counts seconds; write "120s"
c.conf:4:12: authorization.users[0].password: passwords in plain text: 2; bcrypt hashes or nkeys are safer
c.conf:6:1: "Port" is set twice; this one replaces the one of line 2
c.conf:7:1: max_payload: messages over 8388608 bytes slow everything down`
	if got := o.Warnings.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, w := range o.Warnings {
		if w.Deprecated != (w.Line == 1) {
			t.Errorf("%v: deprecated is %v", w, w.Deprecated)
		}
	}
}

func TestParseFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.conf")
	text := "authorization { token: s3cret }\ninclude more.conf\n"
	for name, text := range map[string]string{"c.conf": text, "more.conf": "port: 5"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := conf.ParseFile(path)
	if err != nil || o.Port != 5 || o.File != path || !strings.HasPrefix(o.Digest, "sha256:") {
		t.Fatalf("got %+v, %v", o, err)
	}
	if len(o.Warnings) != 1 {
		t.Errorf("a private file: got %v, want only the plain text token", o.Warnings)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	o, err = conf.ParseFile(path)
	if err != nil || len(o.Warnings) != 2 || !strings.Contains(o.Warnings[0].Text, "everybody may read it") {
		t.Errorf("a file that all may read: got %v, %v", o.Warnings, err)
	}
	_, err = conf.ParseFile(filepath.Join(dir, "none.conf"))
	var errs conf.Errors
	if !errors.As(err, &errs) || len(errs) != 1 || !strings.Contains(err.Error(), "none.conf: cannot read the config") {
		t.Errorf("a missing file: got %v", err)
	}
	if _, err = conf.ParseFile(dir); err == nil {
		t.Error("a folder: got no error")
	}
}
