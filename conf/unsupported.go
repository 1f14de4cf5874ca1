package conf

import (
	"strings"

	"runnel/conf/syntax"
)

// missing is a feature whose keys parse although it is not built yet.
type missing struct {
	// key is the path of the block or key, without the names of elements.
	key string
	// feature is what the error says there is none of.
	feature string
	// used returns the paths where o asks for it.
	used func(o *Options) []string
}

// unsupported lists the features that are not built yet. Whoever builds one
// deletes its row.
var unsupported = []missing{
	{"cluster.tls.ocsp_peer", "OCSP", func(o *Options) []string {
		t := o.clusterTLS()
		return when(t.OCSPPeer != nil && t.OCSPPeer.Verify, "cluster.tls.ocsp_peer")
	}},
	{"cluster.tls.cert_store", "Windows certificate store", func(o *Options) []string {
		return when(o.clusterTLS().CertStore.Store != "", "cluster.tls.cert_store")
	}},
	{"cluster.tls.verify_cert_and_check_known_urls", "comparison of certificates with URLs", func(o *Options) []string {
		return when(o.clusterTLS().VerifyAndCheckKnownURLs, "cluster.tls.verify_cert_and_check_known_urls")
	}},
	{"cluster.write_timeout", "repetition of writes", func(o *Options) []string {
		return when(o.Cluster != nil && o.Cluster.WriteTimeout == WriteTimeoutRetry, "cluster.write_timeout")
	}},
	{"gateway", "gateways", func(o *Options) []string { return when(o.Gateway != nil, "gateway") }},
	{"leafnodes", "leaf nodes", func(o *Options) []string { return when(o.LeafNodes != nil, "leafnodes") }},
	{"mqtt", "MQTT", func(o *Options) []string { return when(o.MQTT != nil, "mqtt") }},
	{"jetstream.tpm", "trusted platform modules", func(o *Options) []string {
		return when(o.jetStream().TPM != nil, "jetstream.tpm")
	}},
	{"jetstream.extension_hint", "leaf nodes", func(o *Options) []string {
		return when(o.jetStream().ExtensionHint != "", "jetstream.extension_hint")
	}},
	{"jetstream.max_concurrent_io", "bound of disk operations", func(o *Options) []string {
		return when(o.jetStream().MaxConcurrentDiskAccess != standardDiskAccess, "jetstream.max_concurrent_io")
	}},
	{"default_js_domain", "default JetStream domains", func(o *Options) []string {
		return when(len(o.Operator.DefaultJetStreamDomains) > 0, "default_js_domain")
	}},
	{"accounts.jetstream.cluster_traffic", "clustering", perAccount("jetstream.cluster_traffic", func(a *Account) bool {
		return a.JetStream != nil && a.JetStream.ClusterTraffic != standardTraffic
	})},
	{"ocsp", "OCSP", func(o *Options) []string { return when(o.OCSP != nil && o.OCSP.Mode != "never", "ocsp") }},
	{"ocsp_cache", "OCSP", func(o *Options) []string { return when(o.OCSPCache != nil && o.OCSPCache.Type != "none", "ocsp_cache") }},
	{"tls.ocsp_peer", "OCSP", func(o *Options) []string {
		return when(o.TLS != nil && o.TLS.OCSPPeer != nil && o.TLS.OCSPPeer.Verify, "tls.ocsp_peer")
	}},
	{"tls.cert_store", "Windows certificate store", func(o *Options) []string {
		return when(o.TLS != nil && o.TLS.CertStore.Store != "", "tls.cert_store")
	}},
	{"websocket.tls.ocsp_peer", "OCSP", func(o *Options) []string {
		t := o.webSocketTLS()
		return when(t.OCSPPeer != nil && t.OCSPPeer.Verify, "websocket.tls.ocsp_peer")
	}},
	{"websocket.tls.cert_store", "Windows certificate store", func(o *Options) []string {
		return when(o.webSocketTLS().CertStore.Store != "", "websocket.tls.cert_store")
	}},
}

// Unsupported returns an error for each thing that o asks for and this version
// cannot do yet, where it was set. A server refuses to start with any.
func Unsupported(o *Options) []Error {
	var r syntax.Report
	for _, m := range unsupported {
		for _, path := range m.used(o) {
			r.Fail(o.position(path), "%s: not available in this version (no %s yet)", path, m.feature)
		}
	}
	return r.Errors.Sorted()
}

// isUnsupported reports whether a key is, or is below, one of those not built.
func isUnsupported(key string) bool {
	for _, m := range unsupported {
		if key == m.key || strings.HasPrefix(key, m.key+".") {
			return true
		}
	}
	return false
}

// when returns the path if the condition holds.
func when(used bool, path string) []string {
	if !used {
		return nil
	}
	return []string{path}
}

// perAccount asks each account, and returns the paths of that key of theirs.
func perAccount(key string, used func(*Account) bool) func(*Options) []string {
	return func(o *Options) []string {
		var paths []string
		for i := range o.Accounts {
			paths = append(paths, when(used(&o.Accounts[i]), join(element("accounts", o.Accounts[i].Name), key))...)
		}
		return paths
	}
}

// webSocketTLS returns the TLS block of the WebSocket listener, empty for none.
func (o *Options) webSocketTLS() *TLS {
	if o.WebSocket == nil || o.WebSocket.TLS == nil {
		return &TLS{}
	}
	return o.WebSocket.TLS
}

// clusterTLS returns the TLS block between servers, empty for none.
func (o *Options) clusterTLS() *TLS {
	if o.Cluster == nil || o.Cluster.TLS == nil {
		return &TLS{}
	}
	return o.Cluster.TLS
}

// jetStream returns the JetStream block while it is switched on, else one with
// nothing in it.
func (o *Options) jetStream() *JetStream {
	if o.JetStream == nil || !o.JetStream.Enabled {
		return newJetStream()
	}
	return o.JetStream
}

// position returns where a key was set. Without a position of its own, as for
// keys set by flags, it is the one of the block around it, or else unknown.
func (o *Options) position(path string) Position {
	for path != "" {
		if p, ok := o.positions[path]; ok {
			return p
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return Position{}
}

// Position returns where the key with that dotted path was set; see
// [Change.Key], but elements of user lists go by their index here.
func (o *Options) Position(path string) (Position, bool) {
	p, ok := o.positions[path]
	return p, ok
}
