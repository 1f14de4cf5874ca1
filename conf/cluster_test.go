package conf_test

import (
	"reflect"
	"testing"
	"time"

	"runnel/conf"
)

// The blocks of features that come later decode in full.

func TestCluster(t *testing.T) {
	o := parse(t, `
accounts [A, B]
cluster {
  name: c1
  listen: "localhost:6222"
  cluster_advertise: "example.com:6222"
  no_advertise: true
  routes = [
    nats-route://user:pw@a:6222
    "nats://b:6222"
  ]
  connect_retries: 3
  connect_backoff: true
  authorization { user: route, password: $2a$x, timeout: 0.5 }
  tls { cert_file: a, key_file: b, ca_file: c, verify: true }
  permissions { import: ["a.>"], export { deny: b } }
  pool_size: -1
  accounts: [A, B]
  compression: s2_fast
  ping_interval: "7s"
  ping_max: 5
  write_deadline: "3s"
  write_timeout: retry
}`)
	thresholds := []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}
	want := &conf.Cluster{
		Name:           "c1",
		Host:           "localhost",
		Port:           6222,
		Advertise:      "example.com:6222",
		NoAdvertise:    true,
		Routes:         []string{"nats-route://user:pw@a:6222", "nats://b:6222"},
		ConnectRetries: 3,
		ConnectBackoff: true,
		Authorization:  conf.Authorization{Username: "route", Password: "$2a$x", Timeout: 500 * time.Millisecond},
		TLS:            o.Cluster.TLS,
		Permissions: &conf.Permissions{
			Publish:   conf.Rules{Allow: []string{"a.>"}},
			Subscribe: conf.Rules{Deny: []string{"b"}},
		},
		PoolSize:      -1,
		Accounts:      []string{"A", "B"},
		Compression:   conf.Compression{Mode: "s2_fast", RTTThresholds: thresholds},
		PingInterval:  7 * time.Second,
		PingMax:       5,
		WriteDeadline: 3 * time.Second,
		WriteTimeout:  conf.WriteTimeoutRetry,
	}
	if !reflect.DeepEqual(o.Cluster, want) || o.Cluster.TLS == nil || !o.Cluster.TLS.Verify {
		t.Errorf("got  %+v\nwant %+v", o.Cluster, want)
	}
	defaults := parse(t, "cluster {}").Cluster
	want = &conf.Cluster{
		Host:         "0.0.0.0",
		PoolSize:     3,
		Compression:  conf.Compression{Mode: "accept", RTTThresholds: thresholds},
		PingInterval: 30 * time.Second,
		WriteTimeout: conf.WriteTimeoutDefault,
	}
	if !reflect.DeepEqual(defaults, want) {
		t.Errorf("the defaults are %+v\nwant %+v", defaults, want)
	}
}

func TestGateway(t *testing.T) {
	o := parse(t, `
gateway {
  name: east
  host: localhost
  port: 7300
  authorization { user: gw, password: $2a$x }
  advertise: "example.com:7300"
  connect_retries: 4
  connect_backoff: true
  reject_unknown_cluster: true
  write_deadline: "4s"
  write_timeout: close
  gateways [
    { name: west, url: "nats://w:7222" }
    { name: north, urls: ["nats://n1:7222", "nats://n2:7222"], tls { insecure: true } }
  ]
}`)
	north := o.Gateway.Gateways[1]
	want := &conf.Gateway{
		Name:                 "east",
		Host:                 "localhost",
		Port:                 7300,
		Authorization:        conf.Authorization{Username: "gw", Password: "$2a$x"},
		Advertise:            "example.com:7300",
		ConnectRetries:       4,
		ConnectBackoff:       true,
		RejectUnknownCluster: true,
		WriteDeadline:        4 * time.Second,
		WriteTimeout:         conf.WriteTimeoutClose,
		Gateways: []conf.RemoteGateway{
			{Name: "west", URLs: []string{"nats://w:7222"}},
			{Name: "north", URLs: []string{"nats://n1:7222", "nats://n2:7222"}, TLS: north.TLS},
		},
	}
	if !reflect.DeepEqual(o.Gateway, want) || north.TLS == nil || !north.TLS.Insecure {
		t.Errorf("got  %+v\nwant %+v", o.Gateway, want)
	}
	if port := parse(t, "gateway { name: a }").Gateway.Port; port != 7222 {
		t.Errorf("the default port is %d, want 7222", port)
	}
}

func TestLeafNodes(t *testing.T) {
	o := parse(t, `
leafnodes {
  listen: "localhost:7500"
  advertise: "example.com:7500"
  no_advertise: true
  authorization {
    timeout: 3
    proxy_required: true
    users [
      { user: a, password: $2a$x, account: A }
      { nkey: `+userKey+`, account: B, proxy_required: true }
    ]
  }
  compression: s2_best
  min_version: 2.10.0
  isolate_leafnode_interest: true
  reconnect: 5
  dial_timeout: "2s"
  write_deadline: "4s"
  write_timeout: retry
  remotes = [
    {
      urls: ["nats-leaf://a:7422", "wss://b:443"]
      account: A
      credentials: "/x.creds"
      hub: true
      deny_imports: "i.>"
      deny_exports: ["e.>", f]
      no_randomize: true
      compression { mode: s2_auto, rtt_thresholds: [1ms] }
      ws_compression: true
      ws_no_masking: true
      jetstream_cluster_migrate: true
      first_info_timeout: "3s"
      dial_timeout: "4s"
      disabled: true
      proxy { url: "http://p:3128", username: u, password: p, timeout: "5s" }
      isolate_leafnode_interest: true
      request_isolation: true
      ignore_discovered_servers: true
    }
    { url: "nats://c:7422", nkey: SUSEED }
  ]
}`)
	want := &conf.LeafNodes{
		Host:        "localhost",
		Port:        7500,
		Advertise:   "example.com:7500",
		NoAdvertise: true,
		Authorization: conf.Authorization{
			Timeout:       3 * time.Second,
			ProxyRequired: true,
			Users: []conf.User{
				{Username: "a", Password: "$2a$x", Account: "A"},
				{NKey: userKey, Account: "B", ProxyRequired: true},
			},
		},
		Compression: conf.Compression{
			Mode:          "s2_best",
			RTTThresholds: []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond},
		},
		MinVersion:      "2.10.0",
		IsolateInterest: true,
		Reconnect:       5 * time.Second,
		DialTimeout:     2 * time.Second,
		WriteDeadline:   4 * time.Second,
		WriteTimeout:    conf.WriteTimeoutRetry,
		Remotes: []conf.RemoteLeaf{
			{
				URLs:                    []string{"nats-leaf://a:7422", "wss://b:443"},
				Account:                 "A",
				Credentials:             "/x.creds",
				Hub:                     true,
				DenyImports:             []string{"i.>"},
				DenyExports:             []string{"e.>", "f"},
				NoRandomize:             true,
				Compression:             conf.Compression{Mode: "s2_auto", RTTThresholds: []time.Duration{time.Millisecond}},
				WSCompression:           true,
				WSNoMasking:             true,
				ClusterMigrate:          true,
				FirstInfoTimeout:        3 * time.Second,
				DialTimeout:             4 * time.Second,
				Disabled:                true,
				Proxy:                   &conf.HTTPProxy{URL: "http://p:3128", Username: "u", Password: "p", Timeout: 5 * time.Second},
				IsolateInterest:         true,
				RequestIsolation:        true,
				IgnoreDiscoveredServers: true,
			},
			{
				URLs:             []string{"nats://c:7422"},
				NKey:             "SUSEED",
				Compression:      o.LeafNodes.Remotes[1].Compression,
				FirstInfoTimeout: time.Second,
			},
		},
	}
	if !reflect.DeepEqual(o.LeafNodes, want) {
		t.Errorf("got  %+v\nwant %+v", o.LeafNodes, want)
	}
	if mode := o.LeafNodes.Remotes[1].Compression.Mode; mode != "s2_auto" {
		t.Errorf("the default compression is %s, want s2_auto", mode)
	}
}

func TestMQTT(t *testing.T) {
	o := parse(t, `
mqtt {
  listen: "localhost:1884"
  tls { cert_file: a, key_file: b }
  authorization { user: m, password: $2a$x, timeout: 2 }
  ack_wait: "1m"
  js_api_timeout: "7s"
  max_ack_pending: 99
  js_domain: d
  stream_replicas: 3
  consumer_replicas: 1
  consumer_memory_storage: true
  consumer_inactive_threshold: "5m"
  reject_qos2_publish: true
  downgrade_qos2_subscribe: true
}`)
	want := &conf.MQTT{
		Host:                      "localhost",
		Port:                      1884,
		TLS:                       o.MQTT.TLS,
		Authorization:             conf.Authorization{Username: "m", Password: "$2a$x", Timeout: 2 * time.Second},
		AckWait:                   time.Minute,
		JetStreamAPITimeout:       7 * time.Second,
		MaxAckPending:             99,
		JetStreamDomain:           "d",
		StreamReplicas:            3,
		ConsumerReplicas:          1,
		ConsumerMemoryStorage:     true,
		ConsumerInactiveThreshold: 5 * time.Minute,
		RejectQoS2Publish:         true,
		DowngradeQoS2Subscribe:    true,
	}
	if !reflect.DeepEqual(o.MQTT, want) {
		t.Errorf("got  %+v\nwant %+v", o.MQTT, want)
	}
	defaults := parse(t, "mqtt {}").MQTT
	want = &conf.MQTT{
		Host:                "0.0.0.0",
		Port:                1883,
		AckWait:             30 * time.Second,
		JetStreamAPITimeout: 5 * time.Second,
		MaxAckPending:       1024,
	}
	if !reflect.DeepEqual(defaults, want) {
		t.Errorf("the defaults are %+v\nwant %+v", defaults, want)
	}
}

func TestOperator(t *testing.T) {
	o := parse(t, `
operator: [ "/op.jwt", "/second.jwt" ]
resolver {
  type: full
  dir: "/jwt"
  allow_delete: true
  hard_delete: true
  interval: "30s"
  limit: 1000
  ttl: "1h"
  timeout: 1.5
}
resolver_pinned_accounts: [`+accountKey+`]
default_js_domain { X: y }
default_sentinel: "eyJ.x"
authorization {
  auth_callout { issuer: `+accountKey+`, account: "$G", auth_users: [a, b], xkey: `+curveKey+`, allowed_accounts: [A] }
}
proxies { trusted [ { key: `+userKey+` } ] }
`)
	want := conf.Operator{
		Operators: []string{"/op.jwt", "/second.jwt"},
		Resolver: &conf.Resolver{
			Type:        "full",
			Dir:         "/jwt",
			AllowDelete: true,
			HardDelete:  true,
			Interval:    30 * time.Second,
			Limit:       1000,
			TTL:         time.Hour,
			Timeout:     1500 * time.Millisecond,
		},
		ResolverPinnedAccounts:  []string{accountKey},
		DefaultSentinel:         "eyJ.x",
		DefaultJetStreamDomains: map[string]string{"X": "y"},
	}
	if !reflect.DeepEqual(o.Operator, want) {
		t.Errorf("got  %+v\nwant %+v", o.Operator, want)
	}
	callout := &conf.AuthCallout{
		Issuer:          accountKey,
		Account:         "$G",
		AuthUsers:       []string{"a", "b"},
		XKey:            curveKey,
		AllowedAccounts: []string{"A"},
	}
	if !reflect.DeepEqual(o.Authorization.Callout, callout) {
		t.Errorf("the callout is %+v, want %+v", o.Authorization.Callout, callout)
	}
	if !reflect.DeepEqual(o.Proxies, &conf.Proxies{Trusted: []conf.TrustedProxy{{Key: userKey}}}) {
		t.Errorf("the proxies are %+v", o.Proxies)
	}
}
