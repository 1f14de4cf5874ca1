package conf

import (
	"crypto/tls"
	"time"
)

var tlsKeys = []key[TLS]{
	row("cert_file", reloadInherit, "Certificate chain, PEM.",
		func(t *TLS) slot { return text(&t.CertFile) }),
	row("key_file", reloadInherit, "Private key of the certificate, PEM.",
		func(t *TLS) slot { return text(&t.KeyFile) }),
	row("ca_file", reloadInherit, "Roots that the other side's certificate is verified against, PEM.",
		func(t *TLS) slot { return orElse(text(&t.CAFile), "those of the system") }),
	row("certs", reloadInherit, "Further certificates, chosen by the name that the client asks for.",
		func(t *TLS) slot { return blocks(&t.Certificates, certificateKeys, zero[CertificatePair], nil) }),
	row("verify", reloadInherit, "Ask clients for a certificate and verify it.",
		func(t *TLS) slot { return flag(&t.Verify) }),
	row("verify_and_map", reloadInherit, "Verify, and take the user from the certificate.",
		func(t *TLS) slot { return flag(&t.VerifyAndMap) }),
	row("verify_cert_and_check_known_urls", reloadInherit, "Verify, and compare with the known URLs of routes and gateways.",
		func(t *TLS) slot { return flag(&t.VerifyAndCheckKnownURLs) }),
	row("insecure", reloadInherit, "Do not verify the other side; outgoing connections only.",
		func(t *TLS) slot { return flag(&t.Insecure) }),
	row("cipher_suites", reloadInherit, "Cipher suites of TLS 1.2.",
		func(t *TLS) slot { return orElse(cipherSuites(&t.CipherSuites), "Go's choice") }),
	row("allow_insecure_cipher_suites", reloadInherit, "Permit cipher suites that Go calls insecure.",
		func(t *TLS) slot { return flag(&t.AllowInsecureCipherSuites) }),
	row("curve_preferences", reloadInherit, "Curves of the key exchange.",
		func(t *TLS) slot { return orElse(curves(&t.CurvePreferences), "Go's choice") }),
	row("min_version", reloadInherit, "Oldest version: 1.2 or 1.3.",
		func(t *TLS) slot { return tlsVersion(&t.MinVersion) }),
	row("timeout", reloadInherit, "Time for the handshake.",
		func(t *TLS) slot { return seconds(&t.Timeout) }),
	row("connection_rate_limit", reloadInherit, "Handshakes a second, 0 for no limit.",
		func(t *TLS) slot { return count(&t.ConnectionRateLimit, 0, maxCount) }),
	row("pinned_certs", reloadInherit, "The only certificates accepted, each as hex SHA-256 of its public key.",
		func(t *TLS) slot { return fingerprints(&t.PinnedCerts) }),
	row("handshake_first first immediate", reloadInherit, "Start TLS before INFO: true, false, auto, or how long to wait for the client before falling back.",
		func(t *TLS) slot { return handshakeFirst(&t.HandshakeFirst) }),
	row("ocsp_peer", reloadInherit, "Check the other side's certificate by OCSP.",
		func(t *TLS) slot {
			return block(&t.OCSPPeer, ocspPeerKeys, newOCSPPeer).or("a boolean", readShortOCSPPeer)
		}),
	row("cert_store", reloadInherit, "Windows certificate store to take the certificate from.",
		func(t *TLS) slot { return text(&t.CertStore.Store) }),
	row("cert_match_by", reloadInherit, "How to search the certificate store: issuer, subject or thumbprint.",
		func(t *TLS) slot { return text(&t.CertStore.MatchBy) }),
	row("cert_match", reloadInherit, "What to search for in the certificate store.",
		func(t *TLS) slot { return text(&t.CertStore.Match) }),
	row("ca_certs_match", reloadInherit, "Roots to take from the certificate store.",
		func(t *TLS) slot { return list(&t.CertStore.CACertsMatch) }),
	row("cert_match_skip_invalid", reloadInherit, "Skip expired certificates of the certificate store.",
		func(t *TLS) slot { return flag(&t.CertStore.MatchSkipInvalid) }),
}

func newTLS() *TLS {
	return &TLS{MinVersion: tls.VersionTLS12, Timeout: 2 * time.Second}
}

var certificateKeys = []key[CertificatePair]{
	row("cert_file", reloadInherit, "Certificate chain, PEM.",
		func(c *CertificatePair) slot { return text(&c.CertFile) }),
	row("key_file", reloadInherit, "Private key of the certificate, PEM.",
		func(c *CertificatePair) slot { return text(&c.KeyFile) }),
}

var ocspPeerKeys = []key[OCSPPeer]{
	row("verify", reloadInherit, "Check the certificate.",
		func(o *OCSPPeer) slot { return flag(&o.Verify) }),
	row("ca_timeout", reloadInherit, "Time for the responder to answer.",
		func(o *OCSPPeer) slot { return seconds(&o.CATimeout) }),
	row("allowed_clockskew", reloadInherit, "Difference of clocks that is allowed.",
		func(o *OCSPPeer) slot { return seconds(&o.ClockSkew) }),
	row("cache_ttl_when_next_update_unset", reloadInherit, "How long to keep an answer that does not say.",
		func(o *OCSPPeer) slot { return seconds(&o.TTLUnsetNextUpdate) }),
	row("warn_only", reloadInherit, "Log a bad certificate and accept it.",
		func(o *OCSPPeer) slot { return flag(&o.WarnOnly) }),
	row("unknown_is_good", reloadInherit, "Accept a certificate that the responder does not know.",
		func(o *OCSPPeer) slot { return flag(&o.UnknownIsGood) }),
	row("allow_when_ca_unreachable", reloadInherit, "Accept a certificate when no responder answers.",
		func(o *OCSPPeer) slot { return flag(&o.AllowWhenCAUnreachable) }),
}

func newOCSPPeer() *OCSPPeer {
	return &OCSPPeer{CATimeout: 2 * time.Second, ClockSkew: 30 * time.Second, TTLUnsetNextUpdate: time.Hour}
}

var ocspKeys = []key[OCSP]{
	row("mode", reloadInherit, "When to staple: auto, always, must or never.",
		func(o *OCSP) slot { return choice(&o.Mode, "auto", "always", "must", "never") }),
	row("urls url", reloadInherit, "Responders, in place of those that the certificate names.",
		func(o *OCSP) slot { return list(&o.URLs) }),
}

func newOCSP() *OCSP { return &OCSP{Mode: "auto"} }

var ocspCacheKeys = []key[OCSPCache]{
	row("type", reloadInherit, "local or none.",
		func(o *OCSPCache) slot { return choice(&o.Type, "local", "none") }),
	row("local_store", reloadInherit, "Folder of a local cache.",
		func(o *OCSPCache) slot { return text(&o.LocalStore) }),
	row("preserve_revoked", reloadInherit, "Keep answers that say revoked after they expired.",
		func(o *OCSPCache) slot { return flag(&o.PreserveRevoked) }),
	row("save_interval", reloadInherit, "Pause between writes of a local cache.",
		func(o *OCSPCache) slot { return seconds(&o.SaveInterval) }),
}

func newOCSPCache() *OCSPCache {
	return &OCSPCache{Type: "local", LocalStore: "_rc_", SaveInterval: 5 * time.Minute}
}

// listenerAuthorizationKeys are those of listeners other than the client port.
var listenerAuthorizationKeys = []key[Authorization]{
	row("user username", reloadInherit, "Name of the only user.",
		func(a *Authorization) slot { return text(&a.Username) }),
	row("password pass", reloadInherit, "Password of the only user, plain or as bcrypt hash.",
		func(a *Authorization) slot { return secret(text(&a.Password)) }),
	row("token", reloadInherit, "Token that stands in place of user and password.",
		func(a *Authorization) slot { return secret(text(&a.Token)) }),
	row("timeout", reloadInherit, "Time to present credentials.",
		func(a *Authorization) slot { return orElse(seconds(&a.Timeout), "that of the client port") }),
}

var webSocketKeys = []key[WebSocket]{
	row("listen", reloadInherit, "Where to listen, host and port in one.",
		func(w *WebSocket) slot { return shadow(address(&w.Host, &w.Port)) }),
	row("host net", reloadInherit, "Address to listen on.",
		func(w *WebSocket) slot { return text(&w.Host) }),
	row("port", reloadInherit, "Port to listen on, 0 for none; -1 takes a free one.",
		func(w *WebSocket) slot { return count(&w.Port, -1, maxPort) }),
	row("advertise", reloadInherit, "The host:port that clients are told.",
		func(w *WebSocket) slot { return text(&w.Advertise) }),
	row("no_tls", reloadInherit, "Serve ws:// without TLS, which is required otherwise.",
		func(w *WebSocket) slot { return flag(&w.NoTLS) }),
	row("tls", ReloadYes, "TLS of this listener.",
		func(w *WebSocket) slot { return block(&w.TLS, tlsKeys, newTLS) }),
	row("same_origin", reloadInherit, "Admit pages from this server only.",
		func(w *WebSocket) slot { return flag(&w.SameOrigin) }),
	row("allowed_origins allowed_origin allow_origins allow_origin origins origin", reloadInherit, "Admit pages from these origins only.",
		func(w *WebSocket) slot { return orElse(list(&w.AllowedOrigins), "any") }),
	row("compression", reloadInherit, "Offer to compress frames.",
		func(w *WebSocket) slot { return flag(&w.Compression) }),
	row("handshake_timeout", reloadInherit, "Time for the upgrade from HTTP, 0 for no limit.",
		func(w *WebSocket) slot { return duration(&w.HandshakeTimeout) }),
	row("authorization authentication", reloadInherit, "Credentials of this listener, in place of the general ones.",
		func(w *WebSocket) slot { return part(&w.Authorization, listenerAuthorizationKeys, newAuthorization) }),
	row("no_auth_user", reloadInherit, "User that a client without credentials becomes here.",
		func(w *WebSocket) slot { return text(&w.NoAuthUser) }),
	row("jwt_cookie", reloadInherit, "Cookie that holds the JWT of a client.",
		func(w *WebSocket) slot { return text(&w.JWTCookie) }),
	row("user_cookie", reloadInherit, "Cookie that holds the user name of a client.",
		func(w *WebSocket) slot { return text(&w.UserCookie) }),
	row("pass_cookie", reloadInherit, "Cookie that holds the password of a client.",
		func(w *WebSocket) slot { return text(&w.PassCookie) }),
	row("token_cookie", reloadInherit, "Cookie that holds the token of a client.",
		func(w *WebSocket) slot { return text(&w.TokenCookie) }),
	row("headers", reloadInherit, "Headers that are added to the response of the upgrade.",
		func(w *WebSocket) slot { return texts(&w.Headers) }),
	row("ping_interval", reloadInherit, "Pause between pings here.",
		func(w *WebSocket) slot { return orElse(duration(&w.PingInterval), "that of the client port") }),
}

func newWebSocket() *WebSocket { return &WebSocket{Host: "0.0.0.0"} }

var mqttKeys = []key[MQTT]{
	row("listen", reloadInherit, "Where to listen, host and port in one.",
		func(m *MQTT) slot { return shadow(address(&m.Host, &m.Port)) }),
	row("host net", reloadInherit, "Address to listen on.",
		func(m *MQTT) slot { return text(&m.Host) }),
	row("port", reloadInherit, "Port to listen on; -1 takes a free one.",
		func(m *MQTT) slot { return count(&m.Port, -1, maxPort) }),
	row("tls", reloadInherit, "TLS of this listener.",
		func(m *MQTT) slot { return block(&m.TLS, tlsKeys, newTLS) }),
	row("authorization authentication", reloadInherit, "Credentials of this listener, in place of the general ones.",
		func(m *MQTT) slot { return part(&m.Authorization, listenerAuthorizationKeys, newAuthorization) }),
	row("no_auth_user", reloadInherit, "User that a client without credentials becomes here.",
		func(m *MQTT) slot { return text(&m.NoAuthUser) }),
	row("ack_wait", reloadInherit, "Time after which an unacknowledged message is sent again.",
		func(m *MQTT) slot { return duration(&m.AckWait) }),
	row("js_api_timeout", reloadInherit, "Time for requests to JetStream.",
		func(m *MQTT) slot { return duration(&m.JetStreamAPITimeout) }),
	row("max_ack_pending", reloadInherit, "Unacknowledged messages of a subscription.",
		func(m *MQTT) slot { return count(&m.MaxAckPending, 0, 65535) }),
	row("js_domain", reloadInherit, "JetStream domain of the sessions.",
		func(m *MQTT) slot { return text(&m.JetStreamDomain) }),
	row("stream_replicas", reloadInherit, "Replicas of the session streams, 0 for what suits the cluster.",
		func(m *MQTT) slot { return count(&m.StreamReplicas, 0, 5) }),
	row("consumer_replicas", reloadInherit, "Replicas of the session consumers, 0 for those of the stream.",
		func(m *MQTT) slot { return count(&m.ConsumerReplicas, 0, 5) }),
	row("consumer_memory_storage", reloadInherit, "Keep the state of the session consumers in memory.",
		func(m *MQTT) slot { return flag(&m.ConsumerMemoryStorage) }),
	row("consumer_inactive_threshold", reloadInherit, "Time after which an unused session consumer is removed, 0 for never.",
		func(m *MQTT) slot { return duration(&m.ConsumerInactiveThreshold) }),
	row("reject_qos2_publish", reloadInherit, "Close clients that publish with QoS 2.",
		func(m *MQTT) slot { return flag(&m.RejectQoS2Publish) }),
	row("downgrade_qos2_subscribe", reloadInherit, "Grant QoS 1 where QoS 2 is asked for.",
		func(m *MQTT) slot { return flag(&m.DowngradeQoS2Subscribe) }),
}

func newMQTT() *MQTT {
	return &MQTT{
		Host: "0.0.0.0", Port: 1883, AckWait: 30 * time.Second,
		JetStreamAPITimeout: 5 * time.Second, MaxAckPending: 1024,
	}
}
