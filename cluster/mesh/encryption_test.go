package mesh_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"runnel/cluster/mesh"
)

// authority makes certificates for hosts, with itself as the only one that they trust.
func authority(t *testing.T) func(hosts ...string) (server, client *tls.Config) {
	t.Helper()
	serial := int64(1)
	pool := x509.NewCertPool()
	make1 := func(hosts []string, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		serial++
		c := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, DNSNames: hosts,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
			IsCA: parent == nil, BasicConstraintsValid: true,
			KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		if parent == nil {
			parent, signer = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	root, rootKey := make1(nil, nil, nil)
	pool.AddCert(root)
	return func(hosts ...string) (server, client *tls.Config) {
		cert, key := make1(hosts, root, rootKey)
		chain := []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}
		server = &tls.Config{Certificates: chain, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
		return server, &tls.Config{Certificates: chain, RootCAs: pool}
	}
}

func TestTLS(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		certificate := authority(t)
		var servers []*server
		for _, name := range []string{"a", "b", "c"} {
			cfg := config(n, name, "b:1")
			cfg.TLS, cfg.DialTLS = certificate(name)
			cfg.Compression = mesh.CompressionFast
			servers = append(servers, start(t, cfg))
		}
		after(5 * time.Second)
		wantMesh(t, usual(), servers...)
		wantPaired(t, servers[0], servers[2])
		for _, s := range servers {
			s.close()
		}
	})
}

// TestTLSRefusals has b dial a, with something wrong about TLS. Both say what.
func TestTLSRefusals(t *testing.T) {
	const advice = "cluster.tls must be configured on all servers of the cluster or on none"
	tests := []struct {
		name   string
		change func(a, b *mesh.Config)
		a, b   string
	}{
		{"only the one that accepts", func(_, b *mesh.Config) { b.DialTLS = nil }, advice, advice},
		{"only the one that dials", func(a, _ *mesh.Config) { a.TLS = nil }, advice, advice},
		{"another name", func(_, b *mesh.Config) { b.DialTLS.ServerName = "x" }, "bad certificate", "not x"},
		{"no certificate", func(_, b *mesh.Config) { b.DialTLS.Certificates = nil }, "didn't provide a certificate", "certificate required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) {
				certificate := authority(t)
				ca, cb := config(n, "a"), config(n, "b", "a:1")
				ca.TLS, ca.DialTLS = certificate("a")
				cb.TLS, cb.DialTLS = certificate("b")
				tt.change(&ca, &cb)
				a, b := start(t, ca), start(t, cb)
				after(10 * time.Second)
				wantMesh(t, nil, a)
				a.wantLog("from=b", tt.a)
				b.wantLog("addr=a:1", tt.b)
				a.close()
				b.close()
			})
		})
	}
}

// TestClientAtPortWithTLS has a client wait for the server to speak first.
func TestClientAtPortWithTLS(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		cfg := config(n, "a")
		cfg.TLS, cfg.DialTLS = authority(t)("a")
		a := start(t, cfg)
		conn, err := n.dialer("x")(t.Context(), "a:1")
		if err != nil {
			t.Fatal(err)
		}
		if got := drain(conn); got != "-ERR 'this port is for servers of the cluster; clients have another'\r\n" {
			t.Errorf("got %q", got)
		}
		conn.Close()
		after(time.Second)
		a.wantLog("perhaps a client, which must use the client port")
		a.close()
	})
}
