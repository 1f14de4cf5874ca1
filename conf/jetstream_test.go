package conf_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/conf"
)

func TestJetStream(t *testing.T) {
	o := parse(t, `
jetstream {
  dir: "/data"
  max_mem: 1G
  max_file: "2T"
  sync_interval: "10s"
  domain: hub
  key: secret
  prev_key: older
  cipher: ChaChaPoly
  tpm { keys_file: k, encryption_password: e, srk_password: s, pcr: 7, cipher: aes }
  extension_hint: no_extend
  unique_tag: az
  strict: false
  limits {
    default_max_consumers: 5
    max_ack_pending: 6
    max_ha_assets: 7
    max_request_batch: 8
    duplicate_window: "9m"
    batch { max_inflight_per_stream: 1, max_inflight_total: 2, max_msgs: 3, timeout: "4s" }
  }
  max_outstanding_catchup: 32MB
  catchup_rate: 8MB
  max_buffered_size: "16M"
  max_buffered_msgs: 11
  request_queue_limit: 12
  meta_compact: 13
  meta_compact_size: 14
  meta_compact_sync: true
  max_concurrent_io: 15
}`)
	want := &conf.JetStream{
		Enabled:        true,
		StoreDir:       "/data",
		MaxMemoryBytes: 1e9,
		MaxStoreBytes:  2 << 40,
		Sync:           conf.SyncInterval,
		SyncInterval:   10 * time.Second,
		Domain:         "hub",
		Key:            "secret",
		PrevKey:        "older",
		Cipher:         conf.CipherChaCha,
		TPM:            &conf.TPM{KeysFile: "k", EncryptionPassword: "e", SRKPassword: "s", PCR: 7, Cipher: conf.CipherAES},
		ExtensionHint:  "no_extend",
		UniqueTag:      "az",
		Limits: conf.JetStreamLimits{
			DefaultMaxConsumers: 5,
			MaxAckPending:       6,
			MaxHAAssets:         7,
			MaxRequestBatch:     8,
			DuplicateWindow:     9 * time.Minute,
			Batch:               conf.BatchLimits{MaxInflightPerStream: 1, MaxInflightTotal: 2, MaxMessages: 3, Timeout: 4 * time.Second},
		},
		MaxOutstandingCatchup:   32 << 20,
		CatchupRateBytes:        8 << 20,
		MaxBufferedBytes:        16 << 20,
		MaxBufferedMessages:     11,
		RequestQueueLimit:       12,
		InfoQueueLimit:          12,
		MetaCompactEntries:      13,
		MetaCompactBytes:        14,
		MetaCompactSync:         true,
		MaxConcurrentDiskAccess: 15,
	}
	if !reflect.DeepEqual(o.JetStream, want) {
		t.Errorf("got  %+v\nwant %+v", o.JetStream, want)
	}
}

// TestJetStreamDefaults has all ways to get them: no key at all, and zeros where
// nothing at all makes no sense.
func TestJetStreamDefaults(t *testing.T) {
	want := &conf.JetStream{
		Enabled:                 true,
		StoreDir:                "runnel-data",
		MaxMemoryBytes:          -1,
		MaxStoreBytes:           -1,
		Sync:                    conf.SyncAlways,
		Cipher:                  conf.CipherChaCha,
		Strict:                  true,
		Limits:                  conf.JetStreamLimits{DefaultMaxConsumers: 1000},
		MaxOutstandingCatchup:   64 << 20,
		CatchupRateBytes:        64 << 20,
		MaxBufferedBytes:        128 << 20,
		MaxBufferedMessages:     100000,
		RequestQueueLimit:       10000,
		InfoQueueLimit:          10000,
		MaxConcurrentDiskAccess: 4096,
	}
	for _, text := range []string{
		"jetstream: true", "jetstream: Enabled", "jetstream {}", "jetstream { enabled: true }",
		"jetstream { limits { default_max_consumers: 0 }, max_buffered_size: 0, max_buffered_msgs: 0, request_queue_limit: 0, info_queue_limit: 0 }",
	} {
		if got := parse(t, text).JetStream; !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", text, got, want)
		}
	}
	if got := parse(t, "port: 1").JetStream; got != nil {
		t.Errorf("without the key: got %+v, want nil", got)
	}
	for _, text := range []string{"jetstream: false", "jetstream: disabled", "jetstream { enabled: false }"} {
		if got := parse(t, text).JetStream; got == nil || got.Enabled {
			t.Errorf("%s: got %+v, want it to be there and off", text, got)
		}
	}
}

func TestSync(t *testing.T) {
	for _, test := range []struct {
		text     string
		policy   conf.SyncPolicy
		interval time.Duration
	}{
		{"sync: always", conf.SyncAlways, 0},
		{"sync: Always", conf.SyncAlways, 0},
		{"sync: os", conf.SyncOS, 0},
		{"sync: interval", conf.SyncInterval, 100 * time.Millisecond},
		{"sync: interval=250ms", conf.SyncInterval, 250 * time.Millisecond},
		{`sync = "interval = 1m"`, conf.SyncInterval, time.Minute},
		{"sync: 2m", conf.SyncInterval, 2 * time.Minute},
		{"sync_interval: always", conf.SyncAlways, 0},
		{`sync_interval: "30s"`, conf.SyncInterval, 30 * time.Second},
		{"sync: os, sync_interval: 5s", conf.SyncInterval, 5 * time.Second}, // the last wins, with a warning
	} {
		j := parse(t, "jetstream { "+test.text+" }").JetStream
		if j.Sync != test.policy || j.SyncInterval != test.interval {
			t.Errorf("%s: got %s %s, want %s %s", test.text, j.Sync, j.SyncInterval, test.policy, test.interval)
		}
	}
	warnings := parse(t, "jetstream { sync_interval: 5 }").Warnings
	if len(warnings) != 1 || !warnings[0].Deprecated {
		t.Errorf("a number without a unit: got %v, want a warning that it is on its way out", warnings)
	}
}

// TestCatchupRate has no bound be spelled in all ways, and shown in one.
func TestCatchupRate(t *testing.T) {
	for text, want := range map[string]int64{"1MB": 1 << 20, `"2M"`: 2 << 20, "5000": 5000, "none": 0, "None": 0, "0": 0, "-1": 0} {
		if got := parse(t, "jetstream { catchup_rate: "+text+" }").JetStream.CatchupRateBytes; got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
	if _, err := conf.Parse("c.conf", []byte("jetstream { catchup_rate: fast }")); err == nil || !strings.Contains(err.Error(), "expected a size like 4096 or 64MB, or none") {
		t.Errorf("fast: got %v", err)
	}
	changes := conf.Diff(parse(t, "jetstream { catchup_rate: 1MB }"), parse(t, "jetstream { catchup_rate: none }"))
	if len(changes) != 1 || changes[0].New != "none" || !changes[0].Reloadable {
		t.Errorf("from a bound to none: got %v", changes)
	}
}

// TestJetStreamErrors has what is wrong with the block, or with what accounts
// ask of it.
func TestJetStreamErrors(t *testing.T) {
	const expectedSync = "jetstream.sync: expected always, interval=100ms or os, got "
	for _, test := range []struct{ name, text, want string }{
		{"no word for sync", "jetstream { sync: never }", "1:19: " + expectedSync + `string "never"`},
		{"a boolean for sync", "jetstream { sync: true }", "1:19: " + expectedSync + "boolean true"},
		{"a block for sync", "jetstream { sync { a: b } }", "1:18: " + expectedSync + "a block"},
		{"always with a pause", "jetstream { sync: always=1s }", "1:19: " + expectedSync + `string "always=1s"`},
		{"no number behind interval", "jetstream { sync: interval=x }", "1:19: " + expectedSync + `string "interval=x"`},
		{
			"no pause", "jetstream { sync_interval: 0 }",
			"1:28: jetstream.sync: the pause between syncs must be more than 0; write always or os to have none",
		},
		{
			"negative pause", `jetstream { sync: "interval=-1s" }`,
			"1:19: jetstream.sync: the pause between syncs must be more than 0; write always or os to have none",
		},
		{
			"cipher", "jetstream { key: a, cipher: des }",
			`1:29: jetstream.cipher: expected chacha or aes, got string "des"`,
		},
		{
			"domain of two tokens", "jetstream { domain: a.b }",
			`1:13: jetstream.domain: "a.b" must be one token of a subject: no dots, no blanks, no wildcards`,
		},
		{
			"domain with a wildcard", `jetstream { domain: "*" }`,
			`1:13: jetstream.domain: "*" must be one token of a subject: no dots, no blanks, no wildcards`,
		},
		{
			"domain with a blank", `jetstream { domain: "a b" }`,
			`1:13: jetstream.domain: "a b" must be one token of a subject: no dots, no blanks, no wildcards`,
		},
		{
			"domain like requests without one", "jetstream { domain: API }",
			`1:13: jetstream.domain: requests to a domain "API" could not be told from those without a domain`,
		},
		{
			"empty key", `jetstream { key: "" }`,
			"1:13: jetstream.key: it is empty, which would store in the clear; leave the key out if that is meant",
		},
		{
			"the system account", "accounts { S { jetstream: true } }\nsystem_account: S\njetstream: true",
			"1:16: accounts.S.jetstream: the system account cannot use JetStream",
		},
		{
			"the system account by its own name", "accounts { $SYS { jetstream: true } }",
			"1:19: accounts.$SYS.jetstream: the system account cannot use JetStream",
		},
		{
			"more memory than there is",
			"accounts { A { jetstream { max_mem: 60 } }, B { jetstream { max_mem: 41 } } }\njetstream { max_mem: 100 }",
			"1:61: accounts.B.jetstream.max_memory: 41 bytes are more than the server has left for this account: 40 of 100",
		},
		{
			"more memory than two leave",
			"accounts { A { jetstream { max_mem: 60 } }, B { jetstream { max_mem: 30 } }, C { jetstream { max_mem: 11 } } }\njetstream { max_mem: 100 }",
			"1:94: accounts.C.jetstream.max_memory: 11 bytes are more than the server has left for this account: 10 of 100",
		},
		{
			"more disk than there is",
			"accounts { A { jetstream { max_file: 101 } } }\njetstream { max_file: 100 }",
			"1:28: accounts.A.jetstream.max_store: 101 bytes are more than the server has left for this account: 100 of 100",
		},
		{
			"an account's sizes", "accounts { A { jetstream { max_mem: -2, max_streams: x } } }",
			"1:37: accounts.A.jetstream.max_memory: -2 is out of range, it must be -1 or more\n" +
				`1:54: accounts.A.jetstream.max_streams: expected a number, got string "x"`,
		},
		{
			"a typing error", "jetstream { limits { max_ack_pendin: 1 } }",
			`1:22: unknown key "max_ack_pendin" in jetstream.limits; did you mean "max_ack_pending"?`,
		},
		{"metrics", "metrics { max_streams: -1 }", "1:24: metrics.max_streams: -1 is out of range, it must be between 0 and 100000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := conf.Parse("c.conf", []byte(test.text))
			want := "c.conf:" + strings.ReplaceAll(test.want, "\n", "\nc.conf:")
			if err == nil || err.Error() != want {
				t.Errorf("got\n%v\nwant\n%s", err, want)
			}
		})
	}
}

// TestJetStreamFits has accounts that state no more than there is.
func TestJetStreamFits(t *testing.T) {
	for _, text := range []string{
		"accounts { A { jetstream { max_mem: 60 } }, B { jetstream { max_mem: 40, max_file: 1TB } } }\njetstream { max_mem: 100 }",
		"accounts { A { jetstream { max_mem: -1 } }, B { jetstream { max_mem: 100 } } }\njetstream { max_mem: 100 }",
		"accounts { A { jetstream { max_mem: 0 } } }\njetstream { max_mem: 0, max_file: 0 }",
	} {
		if o := parse(t, text); len(o.Warnings) > 0 {
			t.Errorf("%s: got warnings %v, want none", text, o.Warnings)
		}
	}
}

func TestJetStreamWarnings(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"cipher without a key", "jetstream { cipher: aes }", "c.conf:1:13: jetstream.cipher: there is no key, so nothing is encrypted"},
		{
			"an account without a server", "accounts { A { jetstream: true } }",
			"c.conf:1:16: accounts.A.jetstream: the server has no JetStream; add a jetstream block to it",
		},
		{
			"an account while the server's is off", "jetstream: false\naccounts { A { jetstream {} } }",
			"c.conf:2:16: accounts.A.jetstream: the server has no JetStream; add a jetstream block to it",
		},
		{"an account that wants none", "accounts { A { jetstream: false } }", ""},
		{"turning encryption off", "jetstream { prev_key: x }", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := parse(t, test.text).Warnings.Error(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestJetStreamOf(t *testing.T) {
	unlimited := &conf.AccountJetStream{-1, -1, -1, -1, -1, -1, -1, false, "system"}
	some := &conf.AccountJetStream{-1, -1, 3, -1, -1, -1, -1, false, "system"}
	for _, test := range []struct {
		name, text, account string
		want                *conf.AccountJetStream
	}{
		{"no JetStream", "", "$G", nil},
		{"JetStream off", "jetstream: false", "$G", nil},
		{"alone", "jetstream {}", "$G", unlimited},
		{"system account", "jetstream {}", "$SYS", nil},
		{"beside the system account", "jetstream {}\naccounts { $SYS {} }", "$G", unlimited},
		{"beside another system account", "jetstream {}\naccounts { S {} }\nsystem_account: S", "$G", unlimited},
		{"beside an account", "jetstream {}\naccounts { A {} }", "$G", nil},
		{"an account without a word", "jetstream {}\naccounts { A {} }", "A", nil},
		{"an account that says so", "jetstream {}\naccounts { A { jetstream: true } }", "A", unlimited},
		{"an account with limits", "jetstream {}\naccounts { A { jetstream { max_streams: 3 } } }", "A", some},
		{"an account with limits of a server without", "accounts { A { jetstream { max_streams: 3 } } }", "A", nil},
		{"an unknown account", "jetstream {}", "B", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := parse(t, test.text).JetStreamOf(test.account); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestJetStreamKeyFromEnvironment reads the key as a container gives it, and
// wants a text of digits to stay one.
func TestJetStreamKeyFromEnvironment(t *testing.T) {
	for _, secret := range []string{"correct horse", "0123", "true", "7MB"} {
		t.Setenv("RUNNEL_TEST_KEY", `"`+secret+`"`)
		if got := parse(t, "jetstream { key: $RUNNEL_TEST_KEY }").JetStream.Key; got != secret {
			t.Errorf("got %q, want %q", got, secret)
		}
	}
	t.Setenv("RUNNEL_TEST_KEY", "plain-word")
	if got := parse(t, "jetstream { ek: $RUNNEL_TEST_KEY }").JetStream.Key; got != "plain-word" {
		t.Errorf("got %q", got)
	}
	if _, err := conf.Parse("c.conf", []byte("jetstream { key: $RUNNEL_TEST_NO_SUCH_KEY }")); err == nil {
		t.Error("a variable that is missing: got no error")
	}
}

// TestKeepJetStream wants a reload to leave out what only a restart can change,
// and to apply the rest.
func TestKeepJetStream(t *testing.T) {
	running := parse(t, "jetstream { store_dir: a, key: one, limits { max_ack_pending: 1 } }")
	wanted := parse(t, "jetstream { store_dir: b, key: two, prev_key: one, cipher: aes, sync: interval=1s, max_file: 5, enabled: false, limits { max_ack_pending: 2 } }")
	kept, stuck := conf.Keep(running, wanted)
	const want = "jetstream.enabled jetstream.store_dir jetstream.max_file_store jetstream.sync jetstream.key jetstream.prev_key jetstream.cipher"
	if got := keysOf(kept); got != want || len(stuck) > 0 {
		t.Errorf("kept = %s\nwant   %s\nstuck = %v", got, want, stuck)
	}
	applied := *running.JetStream
	applied.Limits.MaxAckPending = 2
	if !reflect.DeepEqual(wanted.JetStream, &applied) {
		t.Errorf("got  %+v\nwant %+v", wanted.JetStream, &applied)
	}
}

func TestMetrics(t *testing.T) {
	if got, want := conf.Defaults().Monitor.Metrics, (conf.Metrics{MaxStreams: 200, MaxConsumers: 1000}); got != want {
		t.Errorf("defaults: got %+v, want %+v", got, want)
	}
	if got, want := parse(t, "metrics { max_streams: 0, max_consumers: 5 }").Monitor.Metrics, (conf.Metrics{MaxConsumers: 5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
