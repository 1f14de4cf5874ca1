package conf_test

import (
	"strings"
	"testing"

	"runnel/conf"
)

func TestUnsupported(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{
			"what there is",
			"port: 1, http: 8222\nauthorization { users [ {user: a} ] }\naccounts { A { users [ {user: b} ], limits { max_conn: 3 } } }\nwebsocket { port: 1, no_tls: true }\ntls { cert_file: a, key_file: b, verify: true }",
			"",
		},
		{"cluster", "cluster { name: a, listen: 1, tls { cert_file: a, key_file: b, verify: true }, pool_size: 1, compression: s2_auto }", ""},
		{"slow servers", "cluster { listen: 1, write_timeout: close }", ""},
		{
			"slow servers that are kept",
			"cluster { listen: 1, write_timeout: retry }",
			"1:22: cluster.write_timeout: not available in this version (no repetition of writes yet)",
		},
		{
			"OCSP between servers",
			"cluster { listen: 1, tls { cert_file: a, key_file: b, ocsp_peer: true } }",
			"1:55: cluster.tls.ocsp_peer: not available in this version (no OCSP yet)",
		},
		{
			"parts of TLS between servers",
			"cluster { listen: 1, tls { cert_store: a, verify_cert_and_check_known_urls: true } }",
			"1:28: cluster.tls.cert_store: not available in this version (no Windows certificate store yet)\n" +
				"1:43: cluster.tls.verify_cert_and_check_known_urls: not available in this version (no comparison of certificates with URLs yet)",
		},
		{
			"gateway",
			"port: 1\n gateway { name: a }",
			"2:2: gateway: not available in this version (no gateways yet)",
		},
		{
			"leaf nodes",
			"leaf { port: 1 }",
			"1:1: leafnodes: not available in this version (no leaf nodes yet)",
		},
		{"MQTT", "mqtt { port: 1 }", "1:1: mqtt: not available in this version (no MQTT yet)"},
		{
			"JetStream",
			"jetstream { store_dir: x, unique_tag: az, max_outstanding_catchup: 1MB, meta_compact: 3, limits { max_ha_assets: 4 } }\naccounts { A { jetstream { cluster_traffic: system } } }",
			"",
		},
		{"JetStream by a word", "jetstream: enabled", ""},
		{
			"parts of JetStream",
			"jetstream { tpm {}, extension_hint: will_extend, max_concurrent_io: 5 }",
			"1:13: jetstream.tpm: not available in this version (no trusted platform modules yet)\n" +
				"1:21: jetstream.extension_hint: not available in this version (no leaf nodes yet)\n" +
				"1:50: jetstream.max_concurrent_io: not available in this version (no bound of disk operations yet)",
		},
		{"queues of JetStream", "jetstream { request_queue_limit: 100, info_queue_limit: 50 }", ""},
		{"parts of JetStream while it is off", "jetstream { enabled: false, tpm {}, max_concurrent_io: 5 }", ""},
		{
			"traffic of an account",
			"accounts { A {}, B { jetstream { cluster_traffic: owner } } }\njetstream: true",
			"1:34: accounts.B.jetstream.cluster_traffic: not available in this version (no clustering yet)",
		},
		{
			"JetStream domains",
			"default_js_domain { A: b }\naccounts [A]",
			"1:1: default_js_domain: not available in this version (no default JetStream domains yet)",
		},
		{"sharing", "accounts { A { exports [ {stream: a} ], imports [ {stream: {account: A, subject: a}, to: b} ], maps { a: b } } }\nmappings { a: b }", ""},
		{"tracing", "accounts { A { msg_trace: b } }", ""},
		{"OCSP", "ocsp: true", "1:1: ocsp: not available in this version (no OCSP yet)"},
		{"OCSP never", "ocsp: false\nocsp_cache: false", ""},
		{"OCSP cache", "ocsp_cache {}", "1:1: ocsp_cache: not available in this version (no OCSP yet)"},
		{
			"OCSP of clients",
			"tls { cert_file: a, key_file: b, ocsp_peer: true }",
			"1:34: tls.ocsp_peer: not available in this version (no OCSP yet)",
		},
		{
			"OCSP of browsers",
			"websocket { port: 1, tls { cert_file: a, key_file: b, ocsp_peer: { verify: true } } }",
			"1:55: websocket.tls.ocsp_peer: not available in this version (no OCSP yet)",
		},
		{"OCSP of nobody", "tls { cert_file: a, key_file: b, ocsp_peer: false }", ""},
		{
			"certificate stores",
			"tls { cert_store: a }\nwebsocket { tls { cert_store: b } }",
			"1:7: tls.cert_store: not available in this version (no Windows certificate store yet)\n2:19: websocket.tls.cert_store: not available in this version (no Windows certificate store yet)",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := parse(t, test.text)
			got := conf.Errors(conf.Unsupported(o)).Error()
			want := test.want
			if want != "" {
				want = "c.conf:" + strings.ReplaceAll(want, "\n", "\nc.conf:")
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestUnsupportedByFlag has no file to point into.
func TestUnsupportedByFlag(t *testing.T) {
	o := conf.Defaults()
	o.Gateway = &conf.Gateway{}
	errs := conf.Unsupported(o)
	if len(errs) != 1 || errs[0].Error() != "gateway: not available in this version (no gateways yet)" {
		t.Errorf("got %v", errs)
	}
}

func TestPosition(t *testing.T) {
	o := parse(t, "accounts {\n A { users [\n {user: a, password: b} ] } }\n")
	for path, want := range map[string]conf.Position{
		"accounts":                     {File: "c.conf", Line: 1, Column: 1},
		"accounts.A":                   {File: "c.conf", Line: 2, Column: 2},
		"accounts.A.users[0]":          {File: "c.conf", Line: 3, Column: 2},
		"accounts.A.users[0].password": {File: "c.conf", Line: 3, Column: 12},
	} {
		if got, ok := o.Position(path); !ok || got != want {
			t.Errorf("%s is at %v, want %v", path, got, want)
		}
	}
	if got, ok := o.Position("port"); ok {
		t.Errorf("port is at %v, want it to be nowhere", got)
	}
}
