package conf_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"runnel/conf"
)

// FuzzParse asks that any text decodes or fails without a panic, always in the
// same way, with sorted errors that lie in the file, and that a config does not
// differ from itself.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"port: 4222\nlisten: a:1\nmax_payload: 8MB\nping_interval: \"2m\"\n",
		"authorization { users [ {user: a, password: 0123, permissions { publish { allow: a, deny: [\"b.>\"] }, sub: \"c q\", allow_responses: true } } ] }\nno_auth_user: a",
		"accounts { A { exports [ {service: \"a.*\", latency: {sampling: 50%, subject: b}} ], mappings { \"x.*\": [ {dest: \"y.$1\", weight: 5} ] } }, B { imports [ {service: {account: A, subject: \"a.*\"}} ], jetstream: true } }",
		"tls { cert_file: a, key_file: b, timeout: 0.5, first: auto, min_version: 1.3, cipher_suites: [x], pinned_certs: [y] }",
		"websocket { port: -1, no_tls: true, headers { a: b } }\nmqtt {}\ncluster { routes: [\"nats://u:p@h:1\"] }\ngateway { name: x }",
		"leafnodes { remotes [ { url: \"nats://a\", jetstream_cluster_migrate: true, proxy {} } ] }\njetstream { max_mem: \"1G\", sync: always, tpm {} }",
		"jetstream { sync: interval=1h, cipher: aes, key: $HOME, domain: d, limits { batch { timeout: 1s } } }\naccounts { A { jetstream { max_mem: 1, max_file: 1GB } } }\nmetrics { max_streams: 0 }",
		"resolver: URL(x)\noperator: [a]\nocsp: always\nocsp_cache: false\nproxies { trusted [ {} ] }",
		"prot: 1\nprot: 2\nX: 1\nport: $X\n", `{"port": 1, "debug": true}`, "accounts [A, A, {}]", "server_metadata { \"\": [] }",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := conf.Parse("/nowhere/c.conf", []byte(text))
		again, errAgain := conf.Parse("/nowhere/c.conf", []byte(text))
		if err != nil {
			var errs conf.Errors
			if !errors.As(err, &errs) || len(errs) == 0 || o != nil || errAgain == nil || err.Error() != errAgain.Error() {
				t.Fatalf("%q: got %v, then %v", text, err, errAgain)
			}
			lines := strings.Count(text, "\n") + 1
			if i := slices.IndexFunc(errs, func(e conf.Error) bool { return e.Line > lines || e.Column > len(text)+1 }); i >= 0 {
				t.Fatalf("%q: an error outside of the text: %+v", text, errs[i])
			}
			return
		}
		if !reflect.DeepEqual(o, again) {
			t.Fatalf("%q: parsed twice gives\n%+v\n%+v", text, o, again)
		}
		if changes := conf.Diff(o, again); changes != nil {
			t.Fatalf("%q: differs from itself in %v", text, changes)
		}
		if err := o.Validate(); err != nil {
			t.Fatalf("%q: valid and then not: %v", text, err)
		}
		conf.Diff(conf.Defaults(), o)
		conf.Unsupported(o)
	})
}

func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	text.WriteString("port: 4222\nauthorization { users [\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "{ user: u%d, password: $2a$10$abcdefghijklmnopqrstuv, permissions { publish: [\"a.>\", b] } }\n", i)
	}
	text.WriteString("] }\n")
	b.ReportAllocs()
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := conf.Parse("c.conf", []byte(text.String())); err != nil {
			b.Fatal(err)
		}
	}
}
