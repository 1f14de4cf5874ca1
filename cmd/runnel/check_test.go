package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCheckConfig(t *testing.T) {
	good := writeFile(t, "good.conf", "port: 14333\n")
	bad := writeFile(t, "bad.conf", "port: 14333\nfoo: 1\nmax_payload: {}\n")
	warn := writeFile(t, "warn.conf", "ping_interval: 5\n")
	later := writeFile(t, "later.conf", "port: 4222\nmqtt { port: 1883 }\n")
	file := writeFile(t, "file.conf", "jetstream { store_dir: \""+good+"\" }\n")
	sync := writeFile(t, "sync.conf", "jetstream {\n  sync: never\n  domain: a.b\n}\naccounts { $SYS { jetstream: true } }\n")
	const digest = "sha256:1f479d37b6215897f4394c6ebc8d2fa01c5c3469381b2842b5c1f3d84b929754"
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // stderr: a prefix of each line
	}{
		{"valid", []string{"-t", "-c", good}, 0, "runnel: configuration file " + good + " is valid (" + digest + ")\n", ""},
		{"under flags", []string{"-c", good, "-p", "4222", "-t"}, 0, "runnel: configuration file " + good + " is valid (" + digest + ")\n", ""},
		{"errors", []string{"-t", "-c", bad}, 1, "", bad + ":2:1: \n" + bad + ":3:14: "},
		{"warning", []string{"-t", "-c", warn}, 1, "", warn + ":1:16: "},
		{"not supported yet", []string{"-t", "-c", later}, 1, "", later + ":2:1: "},
		{"streams in a file", []string{"-t", "-c", file}, 1, "", "runnel: " + file + ": jetstream.store_dir: " + good + " is not a folder"},
		{"streams below a file", []string{"-t", "-c", good, "-js", "-sd", good + "/x"}, 1, "", "runnel: " + good + ": jetstream.store_dir: "},
		{"streams", []string{"-t", "-c", sync}, 1, "", sync + ":2:9: \n" + sync + ":3:3: \n" + sync + ":5:19: "},
		{"no file", []string{"-t"}, 1, "", "runnel: -t checks a config file"},
		{"missing file", []string{"-t", "-c", good + ".not"}, 1, "", good + ".not: cannot read the config: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := command(t, tt.args...)
			if code != tt.code || stdout != tt.stdout {
				t.Errorf("got %d, %q, want %d, %q", code, stdout, tt.code, tt.stdout)
			}
			got, want := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n"), strings.Split(tt.stderr, "\n")
			if len(got) != len(want) {
				t.Fatalf("got %d lines of errors, want %d:\n%s", len(got), len(want), stderr)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], want[i]) {
					t.Errorf("line %d: got %q, want prefix %q", i, got[i], want[i])
				}
			}
		})
	}
}

// What is right about streams is no more than a line, without the key.
func TestCheckStreams(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	good := writeFile(t, "good.conf", "jetstream { store_dir: \""+filepath.ToSlash(dir)+"\", sync: os, key: \"top secret\" }\n")
	code, stdout, stderr := command(t, "-t", "-c", good)
	if code != 0 || !strings.Contains(stdout, " is valid (") || stderr != "" || strings.Contains(stdout, "top secret") {
		t.Errorf("got %d, %q, %q", code, stdout, stderr)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the streams: got %v, want it not to be made", err)
	}
}

// A start reports a wrong file as -t does.
func TestStartWithWrongConfig(t *testing.T) {
	bad := writeFile(t, "bad.conf", "port: 14333\nfoo: 1\n")
	code, _, stderr := command(t, "-c", bad)
	if code != 1 || !strings.HasPrefix(stderr, bad+":2:1: ") {
		t.Errorf("got %d, %q", code, stderr)
	}
}

// What is explained fits a terminal, whatever the key.
func TestExplainWraps(t *testing.T) {
	for _, key := range []string{"jetstream.sync", "jetstream.key", "max_connections", "resolver"} {
		_, stdout, _ := command(t, "config", "explain", key)
		meaning, _, _ := strings.Cut(stdout, "\n\n")
		for line := range strings.Lines(meaning) {
			if n := len(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", key, n, line)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"a key", []string{"max_payload"}, 0, []string{"max_payload\n", "type:", "default: 1048576\n", "reload:  yes\n"}},
		{"in capitals", []string{"MAX_PAYLOAD"}, 0, []string{"max_payload\n"}},
		{"an alias", []string{"pidfile"}, 0, []string{"pid_file\n", "also:    pidfile\n"}},
		{"a block", []string{"websocket"}, 0, []string{"type:    block\n", "\n  no_tls ", "\n  compression "}},
		{"streams", []string{"jetstream"}, 0, []string{"type:    a boolean or block\n", "\n  sync ", "\n  key ", "\n  limits "}},
		{"what acks wait for", []string{"sync_interval"}, 0, []string{"jetstream.sync\n", "also:    sync_interval\n", "default: always\n", "power cut"}},
		{"a long meaning", []string{"jetstream.sync"}, 0, []string{"  What an acknowledgement waits for. always: it is on the disk. ", "\n\n  also:"}},
		{"a list has no room for it", []string{"jetstream"}, 0, []string{"  What an acknowledgement waits for.\n"}},
		{"where streams are", []string{"jetstream.dir"}, 0, []string{"jetstream.store_dir\n", "default: that of store_dir, else runnel-data\n"}},
		{"an account's streams", []string{"accounts.jetstream.max_file"}, 0, []string{"accounts.jetstream.max_store\n", "reload:  yes\n"}},
		{"metrics", []string{"metrics"}, 0, []string{"\n  max_streams ", "\n  max_consumers "}},
		{"not yet", []string{"mqtt"}, 0, []string{"does not support it yet"}},
		{"all", nil, 0, []string{"max_payload", "websocket", "authorization"}},
		{"a mistake", []string{"max_paylod"}, 1, []string{`no single key is called "max_paylod"; perhaps you mean`, "\n  max_payload\n"}},
		{"ambiguous", []string{"password"}, 1, []string{"\n  authorization.users.password\n"}},
		{"nonsense", []string{"qqqqqqqqqqqqqqqq"}, 1, []string{"runnel: no single key is called \"qqqqqqqqqqqqqqqq\"\n"}},
		{"too much", []string{"a", "b"}, 1, []string{"Usage:\n  runnel config explain"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := command(t, append([]string{"config", "explain"}, tt.args...)...)
			if code != tt.code {
				t.Errorf("got code %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(stdout+stderr, want) {
					t.Errorf("got\n%s%s\nwant it to contain %q", stdout, stderr, want)
				}
			}
		})
	}
}

func TestConfigUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
	}{
		{[]string{"config"}, 1}, {[]string{"config", "x"}, 1}, {[]string{"config", "-h"}, 0}, {[]string{"config", "--nope"}, 1},
	} {
		code, _, stderr := command(t, tt.args...)
		if code != tt.code || !strings.Contains(stderr, configHelp) {
			t.Errorf("%v: got %d, %q", tt.args, code, stderr)
		}
	}
}

func TestHealthcheck(t *testing.T) {
	var status int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
		w.Write([]byte(`{"status":"unavailable"}` + "\n"))
	}))
	defer s.Close()
	for _, tt := range []struct {
		status int
		url    string
		code   int
		stderr string
	}{
		{200, s.URL + "/healthz", 0, ""},
		{503, s.URL + "/healthz", 1, "runnel: health: 503 Service Unavailable: {\"status\":\"unavailable\"}\n"},
		{200, s.URL + "/", 1, "runnel: health: 404 Not Found: {\"status\":\"unavailable\"}\n"},
		{200, "http://[", 1, "runnel: health: parse"},
		{200, "http://127.0.0.1:1/healthz", 1, "runnel: health: Get"},
	} {
		status = tt.status
		code, stdout, stderr := command(t, "healthcheck", "--url", tt.url)
		if code != tt.code || !strings.HasPrefix(stderr, tt.stderr) || stdout != "" || (tt.stderr == "") != (stderr == "") {
			t.Errorf("%s %d: got %d, %q, want %d, %q", tt.url, tt.status, code, stderr, tt.code, tt.stderr)
		}
	}
	if code, _, stderr := command(t, "healthcheck", "-h"); code != 0 || !strings.HasPrefix(stderr, healthHelp) {
		t.Errorf("help: got %d, %q", code, stderr)
	}
	if code, _, _ := command(t, "healthcheck", "--nope"); code != 1 {
		t.Errorf("unknown flag: got %d, want 1", code)
	}
}

func TestHealthcheckTimeout(t *testing.T) {
	asked := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs strings.Builder
	if code := healthCommand(ctx, []string{"--url", s.URL, "--timeout", "100ms"}, &errs); code != 1 || !strings.Contains(errs.String(), "deadline") {
		t.Errorf("got %d, %q", code, errs.String())
	}
	<-asked
}
