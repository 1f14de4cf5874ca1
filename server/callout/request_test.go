package callout_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"

	"runnel/server/callout"
	"runnel/server/wire"
)

// certificate makes one that signs itself.
func certificate(t testing.TB) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRequestTLS: a service sees certificates as PEM, those that were verified with their chains.
func TestRequestTLS(t *testing.T) {
	own, authority := certificate(t), certificate(t)
	tests := []struct {
		name          string
		state         *tls.ConnectionState
		certs, chains int
	}{
		{"in clear", nil, 0, 0},
		{"no certificate", &tls.ConnectionState{}, 0, 0},
		{"not verified", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{own}}, 1, 0},
		{"verified", &tls.ConnectionState{
			PeerCertificates: []*x509.Certificate{own}, VerifiedChains: [][]*x509.Certificate{{own, authority}},
		}, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, false, 0)
			var c *jwt.AuthorizationRequestClaims
			w.bus.arrive(func(m message) {
				c = w.request(m.payload)
				w.bus.answer(m.reply, sign(t, w.claims(c.UserNkey, nil), w.issuer))
			})
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if tt.state != nil {
				tt.state.Version, tt.state.CipherSuite = tls.VersionTLS13, tls.TLS_AES_128_GCM_SHA256
			}
			if _, err := w.Ask(ctx, &callout.Question{Connect: &wire.Connect{}, TLS: tt.state}); err != nil {
				t.Fatal(err)
			}
			if (c.TLS == nil) != (tt.state == nil) {
				t.Fatalf("got %+v for %+v", c.TLS, tt.state)
			}
			if c.TLS == nil {
				return
			}
			if c.TLS.Version != "1.3" || c.TLS.Cipher != "TLS_AES_128_GCM_SHA256" {
				t.Errorf("got version %q, cipher %q", c.TLS.Version, c.TLS.Cipher)
			}
			if len(c.TLS.Certs) != tt.certs || len(c.TLS.VerifiedChains) != tt.chains {
				t.Fatalf("got %d certificates and %d chains, want %d and %d", len(c.TLS.Certs), len(c.TLS.VerifiedChains), tt.certs, tt.chains)
			}
			if tt.chains > 0 {
				if block, _ := pem.Decode([]byte(c.TLS.VerifiedChains[0][0])); block == nil || string(block.Bytes) != string(own.Raw) {
					t.Error("the chain does not begin with the client's certificate")
				}
			}
		})
	}
}

// TestRequestOnce: no two requests have the same key, and a request ends with the login.
func TestRequestOnce(t *testing.T) {
	w := newWorld(t, false, 0)
	seen := map[string]bool{}
	w.bus.arrive(func(m message) {
		c := w.request(m.payload)
		if seen[c.UserNkey] {
			t.Errorf("the key %s again", c.UserNkey)
		}
		seen[c.UserNkey] = true
		if left := c.Expires - time.Now().Unix(); left < 1 || left > 12 {
			t.Errorf("the request is good for %d s, want about 10", left)
		}
		w.bus.answer(m.reply, sign(t, w.claims(c.UserNkey, nil), w.issuer))
	})
	for range 5 {
		if _, err := w.ask(10 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
}
