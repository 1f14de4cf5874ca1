package conf_test

import (
	"strings"
	"testing"

	"runnel/conf"
)

// samples are values for keys whose type does not tell one that differs from
// the default and is accepted.
var samples = map[string]string{
	"memory_limit":             `"512M"`,
	"write_timeout":            "retry",
	"response_type":            "stream",
	"cluster_traffic":          "owner",
	"sampling":                 "7",
	"pool_size":                "5",
	"weight":                   "7",
	"min_version":              "1.3",
	"handshake_first":          "auto",
	"cipher_suites":            "[TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]",
	"curve_preferences":        "[X25519]",
	"pinned_certs":             "[" + strings.Repeat("ab", 32) + "]",
	"cipher":                   "aes",
	"rtt_thresholds":           "[1ms, 2ms, 3ms]",
	"sync":                     "interval=3s",
	"ocsp.mode":                "must",
	"ocsp_cache.type":          "none",
	"resolver.type":            "full",
	"compression.mode":         "s2_best",
	"allowed_connection_types": "[MQTT]",
}

// samplesByType are values for all other keys.
var samplesByType = map[string]string{
	"string":                 `"sample"`,
	"subject":                "sample",
	"boolean":                "", // the contrary of the default, see sample
	"number":                 "3",
	"size in bytes":          "3",
	"size in bytes, or none": "3MB",
	"duration":               "77s",
	"list of strings":        "[one, two]",
	"list of URLs":           "[nats://one:1, nats://two:2]",
	"block of strings":       "{ one: 1 }",
	"block of booleans":      "{ one: true }",
	`"host:port" or a port`:  `"sample:33"`,
}

// sample returns a value for a key that is not its default.
func sample(t *testing.T, e *conf.Explanation) string {
	t.Helper()
	parts := strings.Split(e.Key, ".")
	name := parts[len(parts)-1]
	if s, ok := samples[name]; ok {
		return s
	}
	if len(parts) > 1 {
		if s, ok := samples[parts[len(parts)-2]+"."+name]; ok {
			return s
		}
	}
	if e.Type == "boolean" {
		if e.Default == "true" {
			return "false"
		}
		return "true"
	}
	s, ok := samplesByType[e.Type]
	if !ok {
		t.Fatalf("%s: no sample value for the type %q", e.Key, e.Type)
	}
	return s
}

// brackets returns what stands around the content of a block of that type.
func brackets(e *conf.Explanation) (left, right string) {
	switch e.Type {
	case "list of blocks":
		return "[ { ", " } ]"
	case "block of named blocks":
		return "{ NAME { ", " } }"
	case "block of subjects with their destinations":
		return "{ source: { ", " } }"
	}
	return "{ ", " }"
}

// TestEveryKey sets each key, by each of its names, and looks whether
// comparing with a config without it shows that.
func TestEveryKey(t *testing.T) {
	all := conf.Keys()
	byKey := map[string]*conf.Explanation{}
	for i := range all {
		byKey[all[i].Key] = &all[i]
	}
	for i := range all {
		e := &all[i]
		if e.Meaning == "" || e.Type == "" || e.Reload.String() == "as its block" {
			t.Errorf("%s: the explanation is incomplete: %+v", e.Key, e)
		}
		before, after := "", ""
		parts := strings.Split(e.Key, ".")
		for j := range len(parts) - 1 {
			left, right := brackets(byKey[strings.Join(parts[:j+1], ".")])
			before, after = before+parts[j]+left, right+after
		}
		value := "{}"
		if !e.Block {
			value = sample(t, e)
		} else {
			left, right := brackets(e)
			value = left + right
		}
		without, errs := conf.Decode("c.conf", before+after)
		if errs != nil {
			t.Fatalf("%s: the block without it: %v", e.Key, errs)
		}
		for _, name := range append([]string{parts[len(parts)-1]}, e.Aliases...) {
			text := before + strings.ToUpper(name) + " = " + value + after
			with, errs := conf.Decode("c.conf", text)
			if errs != nil {
				t.Errorf("%s: %s: %v", e.Key, text, errs)
				continue
			}
			if changes := conf.Diff(without, with); len(changes) == 0 && !isEmptyPart(e) {
				t.Errorf("%s: %s changes nothing", e.Key, text)
			}
		}
	}
}

// isEmptyPart reports whether an empty block of that key is no change: one that
// is always there, or a list of nothing.
func isEmptyPart(e *conf.Explanation) bool {
	if !e.Block || strings.HasPrefix(e.Type, "block of subjects") {
		return e.Block
	}
	name := e.Key[strings.LastIndexByte(e.Key, '.')+1:]
	switch name {
	case "authorization", "metrics", "limits", "batch", "compression", "publish", "subscribe", "stream", "service":
		return true
	}
	return false
}

// documented are the keys of the reference with all their names. A dot leads
// into a block; what follows a name in brackets are its aliases.
const documented = `
server_name listen host(net) port client_advertise max_connections(max_conn) max_subscriptions(max_subs)
max_subscription_tokens(max_sub_tokens) max_control_line max_payload max_pending max_traced_msg_len
memory_limit max_closed_clients ping_interval ping_max write_deadline write_timeout no_fast_producer_stall
no_header_support disable_sublist_cache(no_sublist_cache) proxy_protocol lame_duck_duration
lame_duck_grace_period debug trace trace_verbose trace_headers logtime logtime_utc log_file(logfile)
syslog remote_syslog log_size_limit(logfile_size_limit) log_max_num(logfile_max_num) pid_file(pidfile)
ports_file_dir http https http_port(monitor_port) https_port http_base_path prof_port prof_block_rate
connect_error_reports reconnect_error_reports server_tags server_metadata feature_flags default_js_domain
jetstream store_dir authorization accounts no_auth_user default_sentinel mappings(maps)
system_account(system) no_system_account(no_system,no_sys_acc) operator(operators,root)
resolver(account_resolver) resolver_preload resolver_pinned_accounts resolver_tls trusted_keys(trusted)
cluster gateway leafnodes(leaf) websocket(ws) mqtt tls ocsp ocsp_cache proxies allow_non_tls
resolver.type resolver.dir resolver.allow_delete resolver.hard_delete resolver.interval resolver.limit
resolver.ttl resolver.timeout

authorization.user(username) authorization.password(pass) authorization.token authorization.timeout
authorization.users authorization.default_permissions(permissions) authorization.auth_callout(auth_hook)
authorization.proxy_required authorization.users.user authorization.users.password
authorization.users.nkey authorization.users.permissions
authorization.users.allowed_connection_types(connection_types,clients) authorization.users.proxy_required
authorization.auth_callout.issuer authorization.auth_callout.account authorization.auth_callout.auth_users
authorization.auth_callout.xkey authorization.auth_callout.allowed_accounts
authorization.users.permissions.publish(pub,import) authorization.users.permissions.subscribe(sub,export)
authorization.users.permissions.allow_responses(publish_allow_responses)
authorization.users.permissions.allow_responses.max(max_msgs,max_responses)
authorization.users.permissions.allow_responses.expires(ttl,expiration)
authorization.users.permissions.publish.allow authorization.users.permissions.publish.deny

accounts.nkey accounts.users accounts.default_permissions accounts.exports accounts.imports
accounts.mappings(maps) accounts.jetstream accounts.limits accounts.msg_trace(trace_dest)
accounts.exports.stream accounts.exports.service accounts.exports.accounts
accounts.exports.response_type(response) accounts.exports.threshold(response_threshold,response_time)
accounts.exports.latency accounts.exports.latency.sampling accounts.exports.latency.subject
accounts.exports.account_token_position accounts.exports.allow_trace
accounts.imports.stream accounts.imports.service accounts.imports.stream.account
accounts.imports.service.subject accounts.imports.prefix accounts.imports.to accounts.imports.share
accounts.imports.allow_trace accounts.mappings.destination(dest) accounts.mappings.weight
accounts.mappings.cluster accounts.jetstream.max_memory(max_mem,mem,memory)
accounts.jetstream.max_store(max_file,max_disk,store,disk) accounts.jetstream.max_streams
accounts.jetstream.max_consumers accounts.jetstream.max_bytes_required(max_stream_bytes,max_bytes)
accounts.jetstream.memory_max_stream_bytes accounts.jetstream.disk_max_stream_bytes(store_max_stream_bytes)
accounts.jetstream.max_ack_pending accounts.jetstream.cluster_traffic accounts.limits.max_connections(max_conn)
accounts.limits.max_subscriptions accounts.limits.max_payload accounts.limits.max_leafnodes
accounts.msg_trace.dest accounts.msg_trace.sampling

tls.cert_file tls.key_file tls.ca_file tls.verify tls.verify_and_map tls.verify_cert_and_check_known_urls
tls.insecure tls.cipher_suites tls.allow_insecure_cipher_suites tls.curve_preferences tls.min_version
tls.timeout tls.connection_rate_limit tls.pinned_certs tls.certs tls.certs.cert_file tls.certs.key_file
tls.handshake_first(first,immediate) tls.cert_store tls.cert_match_by tls.cert_match tls.ca_certs_match
tls.cert_match_skip_invalid tls.ocsp_peer

websocket.listen websocket.host websocket.port websocket.advertise websocket.no_tls websocket.tls
websocket.same_origin websocket.allowed_origins websocket.compression websocket.handshake_timeout
websocket.authorization websocket.authorization.user websocket.authorization.password
websocket.authorization.token websocket.authorization.timeout websocket.no_auth_user websocket.jwt_cookie
websocket.user_cookie websocket.pass_cookie websocket.token_cookie websocket.headers websocket.ping_interval
mqtt.listen mqtt.host mqtt.port mqtt.tls mqtt.authorization mqtt.no_auth_user mqtt.ack_wait
mqtt.js_api_timeout mqtt.max_ack_pending mqtt.js_domain mqtt.stream_replicas mqtt.consumer_replicas
mqtt.consumer_memory_storage mqtt.consumer_inactive_threshold mqtt.reject_qos2_publish
mqtt.downgrade_qos2_subscribe

jetstream.enabled jetstream.store_dir(store,storedir,dir) jetstream.max_memory_store(max_mem,max_mem_store)
jetstream.max_file_store(max_file) jetstream.sync(sync_interval) jetstream.domain
jetstream.key(ek,encryption_key) jetstream.prev_key(prev_ek) jetstream.cipher jetstream.tpm
jetstream.tpm.keys_file jetstream.tpm.encryption_password jetstream.tpm.srk_password jetstream.tpm.pcr
jetstream.tpm.cipher jetstream.extension_hint jetstream.unique_tag jetstream.strict jetstream.limits
jetstream.limits.default_max_consumers jetstream.limits.max_ack_pending jetstream.limits.max_ha_assets
jetstream.limits.max_request_batch jetstream.limits.duplicate_window jetstream.limits.batch
jetstream.limits.batch.max_inflight_per_stream jetstream.limits.batch.max_inflight_total
jetstream.limits.batch.max_msgs jetstream.limits.batch.timeout jetstream.max_outstanding_catchup
jetstream.max_buffered_size jetstream.max_buffered_msgs jetstream.request_queue_limit
jetstream.info_queue_limit jetstream.meta_compact jetstream.meta_compact_size jetstream.meta_compact_sync
jetstream.max_concurrent_io

cluster.name cluster.listen cluster.host(net) cluster.port cluster.advertise(cluster_advertise)
cluster.no_advertise cluster.routes cluster.connect_retries cluster.connect_backoff cluster.authorization
cluster.tls cluster.permissions cluster.permissions.import cluster.permissions.export cluster.pool_size
cluster.accounts cluster.compression cluster.compression.mode cluster.compression.rtt_thresholds
cluster.ping_interval cluster.ping_max cluster.write_deadline cluster.write_timeout
gateway.name gateway.listen gateway.host gateway.port gateway.authorization gateway.tls gateway.advertise
gateway.connect_retries gateway.connect_backoff gateway.reject_unknown_cluster gateway.gateways
gateway.gateways.name gateway.gateways.url(urls) gateway.gateways.tls gateway.write_deadline
gateway.write_timeout
leafnodes.listen leafnodes.host leafnodes.port leafnodes.advertise leafnodes.no_advertise
leafnodes.authorization leafnodes.authorization.user leafnodes.authorization.password
leafnodes.authorization.nkey leafnodes.authorization.account leafnodes.authorization.users
leafnodes.authorization.users.account leafnodes.authorization.users.proxy_required
leafnodes.authorization.timeout leafnodes.authorization.proxy_required leafnodes.tls leafnodes.compression
leafnodes.min_version leafnodes.isolate_leafnode_interest leafnodes.reconnect leafnodes.dial_timeout
leafnodes.write_deadline leafnodes.write_timeout leafnodes.remotes leafnodes.remotes.url(urls)
leafnodes.remotes.account leafnodes.remotes.credentials leafnodes.remotes.nkey leafnodes.remotes.tls
leafnodes.remotes.hub leafnodes.remotes.deny_imports leafnodes.remotes.deny_exports
leafnodes.remotes.no_randomize leafnodes.remotes.compression leafnodes.remotes.ws_compression
leafnodes.remotes.ws_no_masking leafnodes.remotes.jetstream_cluster_migrate
leafnodes.remotes.jetstream_cluster_migrate.leader_migrate_delay leafnodes.remotes.first_info_timeout
leafnodes.remotes.dial_timeout leafnodes.remotes.disabled leafnodes.remotes.proxy
leafnodes.remotes.proxy.url leafnodes.remotes.proxy.username leafnodes.remotes.proxy.password
leafnodes.remotes.proxy.timeout leafnodes.remotes.isolate_leafnode_interest
leafnodes.remotes.request_isolation leafnodes.remotes.ignore_discovered_servers
proxies.trusted proxies.trusted.key ocsp.mode ocsp.url(urls) ocsp_cache.type ocsp_cache.local_store
ocsp_cache.preserve_revoked ocsp_cache.save_interval
`

func TestDocumentedKeys(t *testing.T) {
	for entry := range strings.FieldsSeq(documented) {
		path, aliases, _ := strings.Cut(strings.TrimSuffix(entry, ")"), "(")
		e, ok := conf.Explain(path)
		if !ok {
			t.Errorf("%s is not known", path)
			continue
		}
		block := path[:strings.LastIndexByte(path, '.')+1]
		for alias := range strings.SplitSeq(aliases, ",") {
			if alias == "" {
				continue
			}
			if same, ok := conf.Explain(block + alias); !ok || same.Key != e.Key {
				t.Errorf("%s means %q, want %s", block+alias, same.Key, e.Key)
			}
		}
	}
}

// TestReload compares with the reference's column of what a reload applies.
func TestReload(t *testing.T) {
	const yes = `client_advertise max_connections max_control_line max_payload max_traced_msg_len ping_interval ping_max
		write_deadline no_fast_producer_stall debug trace trace_verbose trace_headers logtime logtime_utc log_file syslog
		remote_syslog pid_file ports_file_dir prof_block_rate connect_error_reports reconnect_error_reports server_tags
		server_metadata authorization accounts default_sentinel mappings resolver resolver_preload resolver_tls
		authorization.users accounts.users accounts.limits.max_connections tls tls.timeout websocket.tls
		websocket.tls.cert_file jetstream.limits jetstream.limits.max_ack_pending metrics metrics.max_streams
		accounts.jetstream.max_streams jetstream.meta_compact jetstream.meta_compact_size
		jetstream.meta_compact_sync jetstream.catchup_rate cluster.advertise cluster.no_advertise cluster.routes cluster.tls cluster.tls.timeout cluster.authorization
		cluster.authorization.password leafnodes.remotes
		leafnodes.tls leafnodes.compression`
	const no = `server_name listen host port max_subscriptions max_subscription_tokens max_pending memory_limit max_closed_clients
		write_timeout no_header_support disable_sublist_cache proxy_protocol lame_duck_duration lame_duck_grace_period
		log_size_limit log_max_num http https http_port https_port http_base_path prof_port feature_flags store_dir
		system_account no_system_account operator trusted_keys allow_non_tls websocket.port websocket.compression
		gateway gateway.tls.timeout cluster cluster.name cluster.port cluster.pool_size jetstream.store_dir jetstream.domain jetstream.strict
		jetstream.enabled jetstream.limits.batch.max_msgs jetstream.sync jetstream.key jetstream.max_buffered_msgs default_js_domain resolver_pinned_accounts`
	for list, want := range map[string]conf.Reload{
		yes: conf.ReloadYes, no: conf.ReloadNo, "no_auth_user": conf.ReloadRemove,
		"jetstream.max_memory_store jetstream.max_file_store": conf.ReloadRaise,
	} {
		for key := range strings.FieldsSeq(list) {
			if e, ok := conf.Explain(key); !ok || e.Reload != want {
				t.Errorf("%s: a reload applies it: %v, want %v", key, e.Reload, want)
			}
		}
	}
}
