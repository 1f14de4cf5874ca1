package conf_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"runnel/conf"
)

func TestExplain(t *testing.T) {
	for _, test := range []struct {
		name string
		want conf.Explanation
	}{
		{
			"port",
			conf.Explanation{
				Key: "port", Type: "number", Default: "4222", Reload: conf.ReloadNo,
				Meaning: "Port that clients connect to; -1 takes a free one.",
			},
		},
		{
			"max_conn",
			conf.Explanation{
				Key: "max_connections", Aliases: []string{"max_conn"}, Type: "number", Default: "65536", Reload: conf.ReloadYes,
				Meaning: "Client connections at a time, -1 for no limit; a reload that lowers it closes the excess.",
			},
		},
		{
			"Server_Name",
			conf.Explanation{
				Key: "server_name", Type: "string", Default: "the server's id", Reload: conf.ReloadNo,
				Meaning: "Name of this server, without blanks. It must be unique in a cluster.",
			},
		},
		{
			"ws.NO_TLS",
			conf.Explanation{
				Key: "websocket.no_tls", Type: "boolean", Default: "false", Reload: conf.ReloadNo,
				Meaning: "Serve ws:// without TLS, which is required otherwise.",
			},
		},
		{
			"no_tls", // no other key is called that
			conf.Explanation{
				Key: "websocket.no_tls", Type: "boolean", Default: "false", Reload: conf.ReloadNo,
				Meaning: "Serve ws:// without TLS, which is required otherwise.",
			},
		},
		{
			"listen",
			conf.Explanation{
				Key: "listen", Type: `"host:port" or a port`, Reload: conf.ReloadNo,
				Meaning: "Where clients connect, host and port in one.",
			},
		},
		{
			"authorization.users.pass",
			conf.Explanation{
				Key: "authorization.users.password", Aliases: []string{"pass"}, Type: "string", Reload: conf.ReloadYes,
				Meaning: "Password, plain or as bcrypt hash.",
			},
		},
		{
			"accounts.users.permissions.sub.deny",
			conf.Explanation{
				Key: "accounts.users.permissions.subscribe.deny", Type: "list of strings", Reload: conf.ReloadYes,
				Meaning: "What is denied although allowed.",
			},
		},
		{
			"tls.min_version",
			conf.Explanation{
				Key: "tls.min_version", Type: "1.2 or 1.3", Default: "1.2", Reload: conf.ReloadYes,
				Meaning: "Oldest version: 1.2 or 1.3.",
			},
		},
		{
			"cluster",
			conf.Explanation{
				Key: "cluster", Type: "block", Reload: conf.ReloadNo, Block: true,
				Meaning: "Servers that route to one another.",
			},
		},
		{
			"gateway",
			conf.Explanation{
				Key: "gateway", Type: "block", Reload: conf.ReloadNo, Block: true, Unsupported: true,
				Meaning: "Connections to other clusters.",
			},
		},
		{
			"cluster.pool_size",
			conf.Explanation{
				Key: "cluster.pool_size", Type: "number", Default: "3", Reload: conf.ReloadNo,
				Meaning: "Connections to each other server, -1 for one without a pool.",
			},
		},
		{
			"jetstream.max_mem",
			conf.Explanation{
				Key: "jetstream.max_memory_store", Aliases: []string{"max_mem_store", "max_mem"}, Type: "size in bytes",
				Default: "-1", Reload: conf.ReloadRaise,
				Meaning: "Bytes in memory streams, 0 for none, -1 for 75 % of the memory.",
			},
		},
		{
			"accounts.exports.latency",
			conf.Explanation{
				Key: "accounts.exports.latency", Type: "a subject or block", Reload: conf.ReloadYes, Block: true,
				Meaning: "Subject that measurements of a service go to.",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := conf.Explain(test.name)
			if !ok {
				t.Fatal("it is not known")
			}
			want := test.want
			if got.Key != want.Key || !slices.Equal(got.Aliases, want.Aliases) || got.Type != want.Type ||
				got.Default != want.Default || got.Meaning != want.Meaning || got.Reload != want.Reload ||
				got.Block != want.Block || got.Unsupported != want.Unsupported {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
	for _, name := range []string{"", "prot", "websocket.prot", "password", "websocket.tls.nothing", "port.x", "."} {
		if got, ok := conf.Explain(name); ok {
			t.Errorf("%q is explained as %s, want it to be unknown", name, got.Key)
		}
	}
}

func TestSimilar(t *testing.T) {
	for name, want := range map[string][]string{
		"prot":             {"port"},
		"websocket.no_tsl": {"websocket.no_tls"},
		"pedantic":         nil,
		"no_tsl":           {"websocket.no_tls"},
		"reject_qos2":      nil,
		"same_origins":     {"websocket.same_origin"},
	} {
		if got := conf.Similar(name); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	got := conf.Similar("password")
	if !slices.Contains(got, "authorization.password") || !slices.Contains(got, "accounts.users.password") || slices.Contains(got, "port") {
		t.Errorf("password: got %v, want all keys of that name", got)
	}
}

func TestKeysAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range conf.Keys() {
		for _, name := range append([]string{e.Key}, aliasPaths(&e)...) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
			if name != strings.ToLower(name) {
				t.Errorf("%s is not in lower case", name)
			}
		}
		if !strings.HasSuffix(e.Meaning, ".") {
			t.Errorf("%s: the meaning %q is no sentence", e.Key, e.Meaning)
		}
		found, ok := conf.Explain(e.Key)
		if !ok || found.Key != e.Key {
			t.Errorf("%s is explained as %q", e.Key, found.Key)
		}
	}
	if len(seen) < 500 {
		t.Errorf("got %d names of keys, want all", len(seen))
	}
}

// aliasPaths returns the paths with the aliases of the last part.
func aliasPaths(e *conf.Explanation) []string {
	block := e.Key[:strings.LastIndexByte(e.Key, '.')+1]
	var paths []string
	for _, a := range e.Aliases {
		paths = append(paths, block+a)
	}
	return paths
}

func TestWriteKeys(t *testing.T) {
	var b bytes.Buffer
	if err := conf.WriteKeys(&b); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(b.String()) {
		fields := strings.Fields(line)
		lines[fields[0]] = strings.Join(fields[1:], " ")
	}
	for key, want := range map[string]string{
		"KEY":                         "TYPE DEFAULT RELOAD",
		"port":                        "number 4222 no",
		"ping_interval":               "duration 2m yes",
		"tls":                         "block yes",
		"tls.timeout":                 "duration 2s yes",
		"websocket.tls":               "as tls yes",
		"websocket.tls.timeout":       "",
		"gateway.gateways.tls":        "as tls no",
		"accounts.users":              "as authorization.users yes",
		"accounts.users.password":     "",
		"authorization.users.user":    "string yes",
		"jetstream.max_file_store":    "size in bytes -1 only a larger value",
		"no_auth_user":                "string only its removal",
		"accounts.limits.max_payload": "size in bytes -1 yes",
	} {
		if lines[key] != want {
			t.Errorf("%s: got %q, want %q", key, lines[key], want)
		}
	}
	if err := conf.WriteKeys(fullDisk{}); err == nil {
		t.Error("a writer that fails: got no error")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }
