package process_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/chaos/process"
	"runnel/conf"
)

// member is a configuration that has everything.
var member = process.Config{
	Name: "n2", Client: "127.0.0.1:4222", ClientAdvertise: "127.0.0.1:4333", Monitor: "127.0.0.1:8222",
	Cluster: "c", Peer: "127.0.0.1:6222", Hidden: true, Routes: []string{"127.0.0.1:1", "127.0.0.1:2"}, PingInterval: 2 * time.Second,
	StoreDir: "/data/n2", SyncAlways: true, Tags: []string{"server:n2", "odd"}, Extra: "max_payload: 1KB\n",
}

// TestConfig: the config file says what it is meant to say.
func TestConfig(t *testing.T) {
	text := member.Text(process.Runnel)
	o, err := conf.Parse("server.conf", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if o.ServerName != "n2" || o.Port != 4222 || o.Monitor.Port != 8222 || o.Limits.MaxPayloadBytes != 1024 {
		t.Errorf("got name %q, ports %d and %d, payloads of %d, want those of the settings", o.ServerName, o.Port, o.Monitor.Port, o.Limits.MaxPayloadBytes)
	}
	if o.JetStream == nil || o.JetStream.StoreDir != "/data/n2" || o.NoAuthUser != "app" || o.SystemAccount != "SYS" {
		t.Errorf("got streams %+v, user %q, system account %q", o.JetStream, o.NoAuthUser, o.SystemAccount)
	}
	if !slices.Equal(o.ServerTags, member.Tags) || o.ClientAdvertise != "127.0.0.1:4333" {
		t.Errorf("got tags %q, advertised %q", o.ServerTags, o.ClientAdvertise)
	}
	c := o.Cluster
	if c == nil || c.Name != "c" || c.Port != 6222 || c.PingInterval != 2*time.Second || len(c.Routes) != 2 || c.Advertise != "127.0.0.1:1" {
		t.Errorf("got cluster %+v, want that of the settings", c)
	}
}

// TestConfigLone: what is not asked for is not in the file.
func TestConfigLone(t *testing.T) {
	text := process.Config{Name: "n1", Client: "127.0.0.1:4222", Monitor: "127.0.0.1:8222"}.Text(process.Runnel)
	lone, err := conf.Parse("server.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if lone.JetStream != nil || lone.Cluster != nil || strings.Contains(text, "jetstream") {
		t.Errorf("got streams %+v, cluster %+v, want none", lone.JetStream, lone.Cluster)
	}
}

// TestConfigIncumbent: nats-server counts itself among its routes.
func TestConfigIncumbent(t *testing.T) {
	text := member.Text(process.Incumbent)
	for _, want := range []string{
		`routes: ["nats-route://127.0.0.1:1", "nats-route://127.0.0.1:2", "nats-route://127.0.0.1:6222"]`, "sync_interval: always",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	seed := member
	seed.Routes, seed.SyncAlways = nil, false
	if text := seed.Text(process.Incumbent); !strings.Contains(text, "routes: []") || strings.Contains(text, "sync_interval") {
		t.Errorf("got routes or a sync that nobody has asked for:\n%s", text)
	}
}
