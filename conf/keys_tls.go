package conf

import (
	"crypto/tls"
	"time"
)

var tlsKeys = []key[TLS]{
	{"cert_file", reloadInherit, "Certificate chain, PEM.",
		func(t *TLS) slot { return text(&t.CertFile) }},
	{"key_file", reloadInherit, "Private key of the certificate, PEM.",
		func(t *TLS) slot { return text(&t.KeyFile) }},
	{"ca_file", reloadInherit, "Roots that the other side's certificate is verified against, PEM.",
		func(t *TLS) slot { return orElse(text(&t.CAFile), "those of the system") }},
	{"certs", reloadInherit, "Further certificates, chosen by the name that the client asks for.",
		func(t *TLS) slot { return blocks(&t.Certificates, certificateKeys, zero[CertificatePair], nil) }},
	{"verify", reloadInherit, "Ask clients for a certificate and verify it.",
		func(t *TLS) slot { return flag(&t.Verify) }},
	{"verify_and_map", reloadInherit, "Verify, and take the user from the certificate.",
		func(t *TLS) slot { return flag(&t.VerifyAndMap) }},
	{"verify_cert_and_check_known_urls", reloadInherit, "Verify, and compare with the known URLs of routes and gateways.",
		func(t *TLS) slot { return flag(&t.VerifyAndCheckKnownURLs) }},
	{"insecure", reloadInherit, "Do not verify the other side; outgoing connections only.",
		func(t *TLS) slot { return flag(&t.Insecure) }},
	{"cipher_suites", reloadInherit, "Cipher suites of TLS 1.2.",
		func(t *TLS) slot { return orElse(cipherSuites(&t.CipherSuites), "Go's choice") }},
	{"allow_insecure_cipher_suites", reloadInherit, "Permit cipher suites that Go calls insecure.",
		func(t *TLS) slot { return flag(&t.AllowInsecureCipherSuites) }},
	{"curve_preferences", reloadInherit, "Curves of the key exchange.",
		func(t *TLS) slot { return orElse(curves(&t.CurvePreferences), "Go's choice") }},
	{"min_version", reloadInherit, "Oldest version: 1.2 or 1.3.",
		func(t *TLS) slot { return tlsVersion(&t.MinVersion) }},
	{"timeout", reloadInherit, "Time for the handshake.",
		func(t *TLS) slot { return seconds(&t.Timeout) }},
	{"connection_rate_limit", reloadInherit, "Handshakes a second, 0 for no limit.",
		func(t *TLS) slot { return count(&t.ConnectionRateLimit, 0, maxCount) }},
	{"pinned_certs", reloadInherit, "The only certificates accepted, each as hex SHA-256 of its public key.",
		func(t *TLS) slot { return fingerprints(&t.PinnedCerts) }},
	{"handshake_first first immediate", reloadInherit, "Start TLS before INFO: true, false, auto, or how long to wait for the client before falling back.",
		func(t *TLS) slot { return handshakeFirst(&t.HandshakeFirst) }},
	{"ocsp_peer", reloadInherit, "Check the other side's certificate by OCSP.",
		func(t *TLS) slot {
			return block(&t.OCSPPeer, ocspPeerKeys, newOCSPPeer).or("a boolean", readShortOCSPPeer)
		}},
	{"cert_store", reloadInherit, "Windows certificate store to take the certificate from.",
		func(t *TLS) slot { return text(&t.CertStore.Store) }},
	{"cert_match_by", reloadInherit, "How to search the certificate store: issuer, subject or thumbprint.",
		func(t *TLS) slot { return text(&t.CertStore.MatchBy) }},
	{"cert_match", reloadInherit, "What to search for in the certificate store.",
		func(t *TLS) slot { return text(&t.CertStore.Match) }},
	{"ca_certs_match", reloadInherit, "Roots to take from the certificate store.",
		func(t *TLS) slot { return list(&t.CertStore.CACertsMatch) }},
	{"cert_match_skip_invalid", reloadInherit, "Skip expired certificates of the certificate store.",
		func(t *TLS) slot { return flag(&t.CertStore.MatchSkipInvalid) }},
}

func newTLS() *TLS {
	return &TLS{MinVersion: tls.VersionTLS12, Timeout: 2 * time.Second}
}

var certificateKeys = []key[CertificatePair]{
	{"cert_file", reloadInherit, "Certificate chain, PEM.",
		func(c *CertificatePair) slot { return text(&c.CertFile) }},
	{"key_file", reloadInherit, "Private key of the certificate, PEM.",
		func(c *CertificatePair) slot { return text(&c.KeyFile) }},
}

var ocspPeerKeys = []key[OCSPPeer]{
	{"verify", reloadInherit, "Check the certificate.",
		func(o *OCSPPeer) slot { return flag(&o.Verify) }},
	{"ca_timeout", reloadInherit, "Time for the responder to answer.",
		func(o *OCSPPeer) slot { return seconds(&o.CATimeout) }},
	{"allowed_clockskew", reloadInherit, "Difference of clocks that is allowed.",
		func(o *OCSPPeer) slot { return seconds(&o.ClockSkew) }},
	{"cache_ttl_when_next_update_unset", reloadInherit, "How long to keep an answer that does not say.",
		func(o *OCSPPeer) slot { return seconds(&o.TTLUnsetNextUpdate) }},
	{"warn_only", reloadInherit, "Log a bad certificate and accept it.",
		func(o *OCSPPeer) slot { return flag(&o.WarnOnly) }},
	{"unknown_is_good", reloadInherit, "Accept a certificate that the responder does not know.",
		func(o *OCSPPeer) slot { return flag(&o.UnknownIsGood) }},
	{"allow_when_ca_unreachable", reloadInherit, "Accept a certificate when no responder answers.",
		func(o *OCSPPeer) slot { return flag(&o.AllowWhenCAUnreachable) }},
}

func newOCSPPeer() *OCSPPeer {
	return &OCSPPeer{CATimeout: 2 * time.Second, ClockSkew: 30 * time.Second, TTLUnsetNextUpdate: time.Hour}
}

var ocspKeys = []key[OCSP]{
	{"mode", reloadInherit, "When to staple: auto, always, must or never.",
		func(o *OCSP) slot { return choice(&o.Mode, "auto", "always", "must", "never") }},
	{"urls url", reloadInherit, "Responders, in place of those that the certificate names.",
		func(o *OCSP) slot { return list(&o.URLs) }},
}

func newOCSP() *OCSP { return &OCSP{Mode: "auto"} }

var ocspCacheKeys = []key[OCSPCache]{
	{"type", reloadInherit, "local or none.",
		func(o *OCSPCache) slot { return choice(&o.Type, "local", "none") }},
	{"local_store", reloadInherit, "Folder of a local cache.",
		func(o *OCSPCache) slot { return text(&o.LocalStore) }},
	{"preserve_revoked", reloadInherit, "Keep answers that say revoked after they expired.",
		func(o *OCSPCache) slot { return flag(&o.PreserveRevoked) }},
	{"save_interval", reloadInherit, "Pause between writes of a local cache.",
		func(o *OCSPCache) slot { return seconds(&o.SaveInterval) }},
}

func newOCSPCache() *OCSPCache {
	return &OCSPCache{Type: "local", LocalStore: "_rc_", SaveInterval: 5 * time.Minute}
}

// listenerAuthorizationKeys are those of listeners other than the client port.
var listenerAuthorizationKeys = []key[Authorization]{
	{"user username", reloadInherit, "Name of the only user.",
		func(a *Authorization) slot { return text(&a.Username) }},
	{"password pass", reloadInherit, "Password of the only user, plain or as bcrypt hash.",
		func(a *Authorization) slot { return secret(text(&a.Password)) }},
	{"token", reloadInherit, "Token that stands in place of user and password.",
		func(a *Authorization) slot { return secret(text(&a.Token)) }},
	{"timeout", reloadInherit, "Time to present credentials.",
		func(a *Authorization) slot { return orElse(seconds(&a.Timeout), "that of the client port") }},
}

var webSocketKeys = []key[WebSocket]{
	{"listen", reloadInherit, "Where to listen, host and port in one.",
		func(w *WebSocket) slot { return shadow(address(&w.Host, &w.Port)) }},
	{"host net", reloadInherit, "Address to listen on.",
		func(w *WebSocket) slot { return text(&w.Host) }},
	{"port", reloadInherit, "Port to listen on, 0 for none; -1 takes a free one.",
		func(w *WebSocket) slot { return count(&w.Port, -1, maxPort) }},
	{"advertise", reloadInherit, "The host:port that clients are told.",
		func(w *WebSocket) slot { return text(&w.Advertise) }},
	{"no_tls", reloadInherit, "Serve ws:// without TLS, which is required otherwise.",
		func(w *WebSocket) slot { return flag(&w.NoTLS) }},
	{"tls", ReloadYes, "TLS of this listener.",
		func(w *WebSocket) slot { return block(&w.TLS, tlsKeys, newTLS) }},
	{"same_origin", reloadInherit, "Admit pages from this server only.",
		func(w *WebSocket) slot { return flag(&w.SameOrigin) }},
	{"allowed_origins allowed_origin allow_origins allow_origin origins origin", reloadInherit, "Admit pages from these origins only.",
		func(w *WebSocket) slot { return orElse(list(&w.AllowedOrigins), "any") }},
	{"compression", reloadInherit, "Offer to compress frames.",
		func(w *WebSocket) slot { return flag(&w.Compression) }},
	{"handshake_timeout", reloadInherit, "Time for the upgrade from HTTP, 0 for no limit.",
		func(w *WebSocket) slot { return duration(&w.HandshakeTimeout) }},
	{"authorization authentication", reloadInherit, "Credentials of this listener, in place of the general ones.",
		func(w *WebSocket) slot { return part(&w.Authorization, listenerAuthorizationKeys, newAuthorization) }},
	{"no_auth_user", reloadInherit, "User that a client without credentials becomes here.",
		func(w *WebSocket) slot { return text(&w.NoAuthUser) }},
	{"jwt_cookie", reloadInherit, "Cookie that holds the JWT of a client.",
		func(w *WebSocket) slot { return text(&w.JWTCookie) }},
	{"user_cookie", reloadInherit, "Cookie that holds the user name of a client.",
		func(w *WebSocket) slot { return text(&w.UserCookie) }},
	{"pass_cookie", reloadInherit, "Cookie that holds the password of a client.",
		func(w *WebSocket) slot { return text(&w.PassCookie) }},
	{"token_cookie", reloadInherit, "Cookie that holds the token of a client.",
		func(w *WebSocket) slot { return text(&w.TokenCookie) }},
	{"headers", reloadInherit, "Headers that are added to the response of the upgrade.",
		func(w *WebSocket) slot { return texts(&w.Headers) }},
	{"ping_interval", reloadInherit, "Pause between pings here.",
		func(w *WebSocket) slot { return orElse(duration(&w.PingInterval), "that of the client port") }},
}

func newWebSocket() *WebSocket { return &WebSocket{Host: "0.0.0.0"} }

var mqttKeys = []key[MQTT]{
	{"listen", reloadInherit, "Where to listen, host and port in one.",
		func(m *MQTT) slot { return shadow(address(&m.Host, &m.Port)) }},
	{"host net", reloadInherit, "Address to listen on.",
		func(m *MQTT) slot { return text(&m.Host) }},
	{"port", reloadInherit, "Port to listen on; -1 takes a free one.",
		func(m *MQTT) slot { return count(&m.Port, -1, maxPort) }},
	{"tls", reloadInherit, "TLS of this listener.",
		func(m *MQTT) slot { return block(&m.TLS, tlsKeys, newTLS) }},
	{"authorization authentication", reloadInherit, "Credentials of this listener, in place of the general ones.",
		func(m *MQTT) slot { return part(&m.Authorization, listenerAuthorizationKeys, newAuthorization) }},
	{"no_auth_user", reloadInherit, "User that a client without credentials becomes here.",
		func(m *MQTT) slot { return text(&m.NoAuthUser) }},
	{"ack_wait", reloadInherit, "Time after which an unacknowledged message is sent again.",
		func(m *MQTT) slot { return duration(&m.AckWait) }},
	{"js_api_timeout", reloadInherit, "Time for requests to JetStream.",
		func(m *MQTT) slot { return duration(&m.JetStreamAPITimeout) }},
	{"max_ack_pending", reloadInherit, "Unacknowledged messages of a subscription.",
		func(m *MQTT) slot { return count(&m.MaxAckPending, 0, 65535) }},
	{"js_domain", reloadInherit, "JetStream domain of the sessions.",
		func(m *MQTT) slot { return text(&m.JetStreamDomain) }},
	{"stream_replicas", reloadInherit, "Replicas of the session streams, 0 for what suits the cluster.",
		func(m *MQTT) slot { return count(&m.StreamReplicas, 0, 5) }},
	{"consumer_replicas", reloadInherit, "Replicas of the session consumers, 0 for those of the stream.",
		func(m *MQTT) slot { return count(&m.ConsumerReplicas, 0, 5) }},
	{"consumer_memory_storage", reloadInherit, "Keep the state of the session consumers in memory.",
		func(m *MQTT) slot { return flag(&m.ConsumerMemoryStorage) }},
	{"consumer_inactive_threshold", reloadInherit, "Time after which an unused session consumer is removed, 0 for never.",
		func(m *MQTT) slot { return duration(&m.ConsumerInactiveThreshold) }},
	{"reject_qos2_publish", reloadInherit, "Close clients that publish with QoS 2.",
		func(m *MQTT) slot { return flag(&m.RejectQoS2Publish) }},
	{"downgrade_qos2_subscribe", reloadInherit, "Grant QoS 1 where QoS 2 is asked for.",
		func(m *MQTT) slot { return flag(&m.DowngradeQoS2Subscribe) }},
}

func newMQTT() *MQTT {
	return &MQTT{
		Host: "0.0.0.0", Port: 1883, AckWait: 30 * time.Second,
		JetStreamAPITimeout: 5 * time.Second, MaxAckPending: 1024,
	}
}
