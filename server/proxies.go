package server

import (
	"encoding/base64"
	"errors"
	"maps"
	"slices"

	"github.com/nats-io/nkeys"

	"runnel/conf"
	"runnel/server/engine"
	"runnel/server/monitor"
	"runnel/server/wire"
)

// errProxy: a proxy speaks for a client that is none of the trusted ones, or somebody who pretends to be one.
var errProxy = errors.New("proxy_sig is not the signature of a trusted proxy")

// proxies are those whose signature is trusted, by public key. A proxy ends the clients' TLS, say, and passes their
// bytes on; by its signature over the nonce it says that a client came through it.
type proxies map[string]nkeys.KeyPair

// newProxies are those that o trusts.
func newProxies(o *conf.Options) proxies {
	if o.Proxies == nil {
		return nil
	}
	trusted := make(proxies)
	for _, t := range o.Proxies.Trusted {
		if key, err := nkeys.FromPublicKey(t.Key); err == nil { // else the options would not be valid
			trusted[t.Key] = key
		}
	}
	return trusted
}

// of returns the key of the proxy that a client comes through, empty for none. A signature that is nobody's is an
// error: who is not trusted must not pass for a client that came alone.
func (p proxies) of(c *engine.Conn, o *wire.Connect) (key string, err error) {
	if o.ProxySignature == "" || len(p) == 0 {
		return "", nil
	}
	signature, err := base64.RawURLEncoding.DecodeString(o.ProxySignature)
	nonce := c.Meta().Nonce
	if err != nil || nonce == "" {
		return "", errProxy
	}
	for key, pair := range p {
		if pair.Verify([]byte(nonce), signature) == nil {
			return key, nil
		}
	}
	return "", errProxy
}

// shown are the proxies as monitoring has them, nil for none.
func (p proxies) shown() *monitor.Proxies {
	if len(p) == 0 {
		return nil
	}
	out := &monitor.Proxies{}
	for _, key := range slices.Sorted(maps.Keys(p)) {
		out.Trusted = append(out.Trusted, monitor.ProxyInfo{Key: key})
	}
	return out
}

// trusts tells whether what a proxy has said still counts; no proxy says nothing.
func (p proxies) trusts(key string) bool { return key == "" || p[key] != nil }
