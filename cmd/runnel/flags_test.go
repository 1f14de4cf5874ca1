package main

import (
	"io"
	"os"
	"reflect"
	"testing"

	"runnel/conf"
)

func TestFlagsSetOptions(t *testing.T) {
	tests := []struct {
		args []string
		got  func(o *conf.Options) any
		want any
	}{
		{[]string{}, func(o *conf.Options) any { return o.Host }, "0.0.0.0"},
		{[]string{}, func(o *conf.Options) any { return o.Port }, 4222},
		{[]string{"-a", "127.0.0.1"}, func(o *conf.Options) any { return o.Host }, "127.0.0.1"},
		{[]string{"--addr", "::1"}, func(o *conf.Options) any { return o.Host }, "::1"},
		{[]string{"-net=h"}, func(o *conf.Options) any { return o.Host }, "h"},
		{[]string{"-p", "-1"}, func(o *conf.Options) any { return o.Port }, -1},
		{[]string{"--port=4333"}, func(o *conf.Options) any { return o.Port }, 4333},
		{[]string{"-p", "1", "--port", "2"}, func(o *conf.Options) any { return o.Port }, 2}, // the last wins
		{[]string{"-n", "a"}, func(o *conf.Options) any { return o.ServerName }, "a"},
		{[]string{"--name", "a"}, func(o *conf.Options) any { return o.ServerName }, "a"},
		{[]string{"--server_name", "a"}, func(o *conf.Options) any { return o.ServerName }, "a"},
		{[]string{"--client_advertise", "h:1"}, func(o *conf.Options) any { return o.ClientAdvertise }, "h:1"},
		{[]string{"-P", "x.pid"}, func(o *conf.Options) any { return o.PIDFile }, "x.pid"},
		{[]string{"--pid", "x.pid"}, func(o *conf.Options) any { return o.PIDFile }, "x.pid"},
		{[]string{"--ports_file_dir", "."}, func(o *conf.Options) any { return o.PortsFileDir }, "."},
		{[]string{"-m", "8222"}, func(o *conf.Options) any { return o.Monitor.Port }, 8222},
		{[]string{"--http_port", "8222"}, func(o *conf.Options) any { return o.Monitor.Port }, 8222},
		{[]string{"-profile", "65432"}, func(o *conf.Options) any { return o.Profile.Port }, 65432},
		{[]string{"-l", "x.log"}, func(o *conf.Options) any { return o.Log.File }, "x.log"},
		{[]string{"--log", "x.log"}, func(o *conf.Options) any { return o.Log.File }, "x.log"},
		{[]string{}, func(o *conf.Options) any { return o.Log.Time }, true},
		{[]string{"-T=false"}, func(o *conf.Options) any { return o.Log.Time }, false},
		{[]string{"--logtime=false"}, func(o *conf.Options) any { return o.Log.Time }, false},
		{[]string{"--logtime_utc"}, func(o *conf.Options) any { return o.Log.TimeUTC }, true},
		{[]string{"-s"}, func(o *conf.Options) any { return o.Log.Syslog }, true},
		{[]string{"--syslog"}, func(o *conf.Options) any { return o.Log.Syslog }, true},
		{[]string{"-r", "udp://h:1"}, func(o *conf.Options) any { return o.Log.RemoteSyslog }, "udp://h:1"},
		{[]string{"--remote_syslog", "udp://h:1"}, func(o *conf.Options) any { return o.Log.RemoteSyslog }, "udp://h:1"},
		{[]string{"-D"}, verbosity, [3]bool{true, false, false}},
		{[]string{"--debug"}, verbosity, [3]bool{true, false, false}},
		{[]string{"-V"}, verbosity, [3]bool{false, true, false}},
		{[]string{"--trace"}, verbosity, [3]bool{false, true, false}},
		{[]string{"-VV"}, verbosity, [3]bool{false, true, true}},
		{[]string{"-DV"}, verbosity, [3]bool{true, true, false}},
		{[]string{"-DVV"}, verbosity, [3]bool{true, true, true}},
		{[]string{"-D", "-V"}, verbosity, [3]bool{true, true, false}},
		{[]string{"--log_size_limit", "1000"}, func(o *conf.Options) any { return o.Log.MaxFileBytes }, int64(1000)},
		{[]string{"--max_traced_msg_len", "10"}, func(o *conf.Options) any { return o.Log.MaxTracedBytes }, 10},
		{[]string{"--user", "u", "--pass", "p"}, func(o *conf.Options) any { return o.Authorization.Username + o.Authorization.Password }, "up"},
		{[]string{"--auth", "t"}, func(o *conf.Options) any { return o.Authorization.Token }, "t"},
		{[]string{}, streams, "in runnel-data"}, // the newcomer's start
		{[]string{"-p", "4222"}, streams, "none"},
		{[]string{"-D=false"}, streams, "none"},
		{[]string{"-sd", "D"}, streams, "none"},
		{[]string{"-js"}, streams, "in runnel-data"},
		{[]string{"--jetstream"}, func(o *conf.Options) any { return o.JetStream.Strict }, true}, // has its defaults
		{[]string{"-js=false"}, streams, "none"},
		{[]string{"-js", "-js=false"}, streams, "none"},
		{[]string{"-js=false", "-js"}, streams, "in runnel-data"},
		{[]string{"-sd=D"}, func(o *conf.Options) any { return o.StoreDir }, "D"},
		{[]string{"-js", "-sd", "D"}, streams, "in D"},
		{[]string{"-sd=D", "--jetstream"}, streams, "in D"},
		{[]string{"--store_dir", "D", "-js"}, streams, "in D"},
		{[]string{"--tls=false"}, func(o *conf.Options) any { return o.TLS }, (*conf.TLS)(nil)},
	}
	for _, tt := range tests {
		c, err := parseCommandLine(tt.args, io.Discard)
		if err != nil {
			t.Errorf("%v: %v", tt.args, err)
			continue
		}
		o, err := c.options()
		if err != nil {
			t.Errorf("%v: %v", tt.args, err)
			continue
		}
		if got := tt.got(o); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.args, got, tt.want)
		}
	}
}

// streams says whether the options have JetStream, and where.
func streams(o *conf.Options) any {
	if o.JetStream == nil || !o.JetStream.Enabled {
		return "none"
	}
	return "in " + o.JetStream.StoreDir
}

func verbosity(o *conf.Options) any { return [3]bool{o.Log.Debug, o.Log.Trace, o.Log.TraceVerbose} }

// These options need others to be valid, so only the flags are looked at.
func TestFlagsOfBlocks(t *testing.T) {
	args := []string{
		"--tlsverify", "--tlscert", "c.pem", "--tlskey", "k.pem", "--tlscacert", "ca.pem",
		"-ms", "8443",
		"--cluster", "nats://joe:secret@127.0.0.1:6222", "--cluster_name", "east", "--routes", "nats://a:1, nats://b:2",
		"--cluster_advertise", "h:1", "--no_advertise", "--connect_retries", "7",
	}
	c, err := parseCommandLine(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o := conf.Defaults()
	for _, override := range c.overrides {
		if err := override(o); err != nil {
			t.Fatal(err)
		}
	}
	if g := o.TLS; !g.Verify || g.CertFile != "c.pem" || g.KeyFile != "k.pem" || g.CAFile != "ca.pem" || g.Timeout == 0 {
		t.Errorf("TLS: got %+v", g)
	}
	if o.Monitor.HTTPSPort != 8443 {
		t.Errorf("HTTPS port: got %d", o.Monitor.HTTPSPort)
	}
	g := o.Cluster
	if g.Host != "127.0.0.1" || g.Port != 6222 || g.Name != "east" || g.Advertise != "h:1" || !g.NoAdvertise || g.ConnectRetries != 7 {
		t.Errorf("cluster: got %+v", g)
	}
	if g.Authorization.Username != "joe" || g.Authorization.Password != "secret" {
		t.Errorf("cluster's user: got %+v", g.Authorization)
	}
	if want := []string{"nats://a:1", "nats://b:2"}; !reflect.DeepEqual(g.Routes, want) {
		t.Errorf("routes: got %v, want %v", g.Routes, want)
	}
	if g.PingInterval == 0 {
		t.Error("cluster has no defaults")
	}
}

func TestClusterAtFreePort(t *testing.T) {
	c, err := parseCommandLine([]string{"--cluster", "nats://u:p@127.0.0.1:-1"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	if g := o.Cluster; g.Host != "127.0.0.1" || g.Port != -1 || g.Authorization.Username != "u" {
		t.Errorf("got %+v", g)
	}
}

func TestClusterURLNeedsPort(t *testing.T) {
	for _, text := range []string{"nats://host", "nats://host:"} {
		c, err := parseCommandLine([]string{"--cluster_listen", text}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.options(); err == nil {
			t.Errorf("%s: got no error", text)
		}
	}
}

// Flags win over the file, at the start and after the file has changed.
func TestFlagsOverrideFile(t *testing.T) {
	file := writeFile(t, "x.conf", "port: 1000\nserver_name: first\ndebug: true\n")
	c, err := parseCommandLine([]string{"-p", "2000", "-D=false", "-c", file}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string) {
		t.Helper()
		o, err := c.options()
		if err != nil {
			t.Fatal(err)
		}
		if o.Port != 2000 || o.Log.Debug || o.ServerName != name {
			t.Errorf("got port %d, debug %v, name %s, want 2000, false, %s", o.Port, o.Log.Debug, o.ServerName, name)
		}
	}
	check("first")
	if err := os.WriteFile(file, []byte("port: 3000\nserver_name: second\ndebug: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("second")
}

// Flags win over the block of a file, and a file is what it says.
func TestFlagsOverrideJetStream(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		args       []string
		want       string
	}{
		{"a file without a word", "port: 1", nil, "none"},
		{"a file", "jetstream { store_dir: F }", nil, "in F"},
		{"a file that turns it off", "jetstream: false", nil, "none"},
		{"off by a flag", "jetstream { store_dir: F }", []string{"-js=false"}, "none"},
		{"on by a flag", "jetstream { enabled: false, store_dir: F }", []string{"-js"}, "in F"},
		{"on by a flag, above", "store_dir: F", []string{"-js"}, "in F"},
		{"elsewhere by a flag", "jetstream { store_dir: F }", []string{"-sd", "D"}, "in D"},
		{"both", "jetstream: false", []string{"-js", "-sd=D"}, "in D"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseCommandLine(append(tt.args, "-c", writeFile(t, "x.conf", tt.file)), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			o, err := c.options()
			if err != nil {
				t.Fatal(err)
			}
			if got := streams(o); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
