package accounts_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/url"
	"testing"

	"runnel/server/accounts"
)

// certificate returns a parsed certificate made of template, whose RawSubject is
// the subject when set.
func certificate(t testing.TB, template x509.Certificate) []*x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return []*x509.Certificate{c}
}

var (
	commonName = asn1.ObjectIdentifier{2, 5, 4, 3}
	locality   = asn1.ObjectIdentifier{2, 5, 4, 7}
	unit       = asn1.ObjectIdentifier{2, 5, 4, 11}
	domain     = asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}
)

// relative returns a relative name of types and values.
func relative(pairs ...any) (set pkix.RelativeDistinguishedNameSET) {
	for i := 0; i < len(pairs); i += 2 {
		set = append(set, pkix.AttributeTypeAndValue{Type: pairs[i].(asn1.ObjectIdentifier), Value: pairs[i+1]})
	}
	return set
}

// named returns a certificate with that subject and no other name.
func named(t testing.TB, subject ...pkix.RelativeDistinguishedNameSET) []*x509.Certificate {
	t.Helper()
	raw, err := asn1.Marshal(pkix.RDNSequence(subject))
	if err != nil {
		t.Fatal(err)
	}
	return certificate(t, x509.Certificate{RawSubject: raw})
}

func TestAuthenticateCertificate(t *testing.T) {
	uri := &url.URL{Scheme: "spiffe", Host: "x", Path: "/y"}
	plain := named(t, relative(commonName, "plain"))
	all := certificate(t, x509.Certificate{
		EmailAddresses: []string{"other@x", "a@x"}, DNSNames: []string{"b.example"}, URIs: []*url.URL{uri},
		Subject: pkix.Name{CommonName: "plain"},
	})
	show := func(c []*x509.Certificate) credentials { return credentials{PeerCertificates: c} }
	users := func(names ...string) (users []userConfig) {
		for _, name := range names {
			users = append(users, userConfig{Username: name})
		}
		return users
	}
	protected := []userConfig{{Username: "CN=plain", Password: "secret"}}
	both := func(c credentials) credentials { c.PeerCertificates = plain; return c }
	unknown, password := accounts.ErrUnknownUser, accounts.ErrPassword
	tests := []struct {
		config config
		attempt
	}{
		{config{Users: users("CN=plain", uri.String(), "b.example", "a@x")}, attempt{name: "e-mail first", c: show(all), display: "a@x"}},
		{config{Users: users("CN=plain", uri.String(), "b.example")}, attempt{name: "then DNS", c: show(all), display: "b.example"}},
		{config{Users: users("CN=plain", uri.String())}, attempt{name: "then URI", c: show(all), display: uri.String()}},
		{config{Users: users("CN=plain")}, attempt{name: "then subject", c: show(all), display: "CN=plain"}},
		{config{Users: users("x")}, attempt{name: "nobody", c: show(all), err: unknown}},
		{config{Users: users("cn=plain")}, attempt{name: "case of the type", c: show(plain), display: "cn=plain"}},
		{config{Users: users("CN=Plain")}, attempt{name: "case of the value", c: show(plain), err: unknown}},
		{config{Users: users("CN=plain,O=x")}, attempt{name: "more than the subject", c: show(plain), err: unknown}},
		{config{Users: users("u", "CN=plain"), NoAuthUser: "u"}, attempt{name: "before no_auth_user", c: show(plain), display: "CN=plain"}},
		{config{Users: users("u"), NoAuthUser: "u"}, attempt{name: "nobody is not no_auth_user", c: show(plain), err: unknown}},
		{config{Users: users("u", "CN=plain")}, attempt{name: "a name sent is ignored", c: both(user("u", "")), display: "CN=plain"}},
		{config{Users: protected}, attempt{name: "password", c: both(user("", "secret")), display: "CN=plain"}},
		{config{Users: protected}, attempt{name: "no password", c: show(plain), err: password}},
		{config{Users: protected}, attempt{name: "wrong password", c: both(user("CN=plain", "x")), err: password}},
		{config{Users: protected}, attempt{name: "no certificate, but password", c: user("CN=plain", "secret"), display: "CN=plain"}},
		{config{Users: users("CN=plain")}, attempt{name: "neither", c: user("CN=plain", ""), err: unknown}},
		{config{Username: "u", Password: "p"}, attempt{name: "single user", c: both(user("u", "p")), display: "u"}},
		{config{Username: "CN=plain"}, attempt{name: "single user is not mapped", c: show(plain), err: accounts.ErrNoCredentials}},
		{config{Token: "t"}, attempt{name: "token", c: both(credentials{Token: "t"}), display: "[REDACTED]"}},
		{config{}, attempt{name: "nothing required", c: show(plain)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.config.MapCertificates = true
			tt.run(t, compile(t, tt.config))
		})
	}
	attempt{name: "not mapped", c: show(plain), err: accounts.ErrNoCredentials}.run(t, compile(t, config{Users: users("CN=plain")}))
}

func TestDistinguishedNames(t *testing.T) {
	bob := named(t, relative(domain, "com"), relative(domain, "example"), relative(unit, "ops"), relative(commonName, "Bob B"))
	multi := named(t, relative(unit, "x", locality, "y"), relative(commonName, `a,b+c="d"\#`))
	spaces := named(t, relative(commonName, " a "))
	tests := []struct {
		name  string
		shown []*x509.Certificate
		user  string
		match bool
	}{
		{"usual order", bob, "CN=Bob B,OU=ops,DC=example,DC=com", true},
		{"any order", bob, "OU=ops,CN=Bob B,DC=com,DC=example", true},
		{"spaces and semicolons", bob, "OU = ops ; CN= Bob B , DC=com, dc=example ", true},
		{"numbers of types", bob, "2.5.4.3=Bob B,oid.2.5.4.11=ops,DC=example,DC=com", true},
		{"quotes", bob, `CN="Bob B",OU="ops",DC=example,DC=com`, true},
		{"hexadecimal escapes", bob, `CN=\42ob\20B,OU=ops,DC=example,DC=com`, true},
		{"one missing", bob, "CN=Bob B,OU=ops,DC=com", false},
		{"one twice", bob, "CN=Bob B,OU=ops,DC=com,DC=com", false},
		{"together instead of one by one", bob, "CN=Bob B+OU=ops,DC=example,DC=com", false},
		{"other type", bob, "CN=Bob B,O=ops,DC=example,DC=com", false},
		{"multiple values", multi, `CN=a\,b\+c\=\"d\"\\\#,L=y+OU=x`, true},
		{"quoted", multi, `OU=x+L=y,CN="a,b+c=\"d\"\\#"`, true},
		{"one by one instead of together", multi, `CN=a\,b\+c\=\"d\"\\\#,L=y,OU=x`, false},
		{"escaped spaces", spaces, `CN=\ a\ `, true},
		{"spaces are not part", spaces, `CN= a `, false},
		{"open quote", spaces, `CN=" a`, false},
		{"open escape", spaces, `CN=a\`, false},
		{"no type", spaces, `a`, false},
		{"unknown type", spaces, `xx=a`, false},
		{"no value", spaces, `CN=`, false},
		{"separator at the end", spaces, `CN=\ a\ ,`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := compile(t, config{Users: []userConfig{{Username: tt.user}}, MapCertificates: true})
			id, err := p.Authenticate(credentials{PeerCertificates: tt.shown})
			if (err == nil) != tt.match {
				t.Errorf("user %s: %v, %v, want match = %v", tt.user, id, err, tt.match)
			}
		})
	}
}

// TestDistinguishedNameAsWritten: of users whose names differ in order only, the
// one that is written as in the certificate goes first.
func TestDistinguishedNameAsWritten(t *testing.T) {
	shown := named(t, relative(unit, "ops"), relative(commonName, "a"))
	p := compile(t, config{
		Users: []userConfig{{Username: "OU=ops,CN=a"}, {Username: "CN=a,OU=ops"}}, MapCertificates: true,
	})
	attempt{name: "as written", c: credentials{PeerCertificates: shown}, display: "CN=a,OU=ops"}.run(t, p)
}

func FuzzDistinguishedName(f *testing.F) {
	for _, s := range []string{"CN=a", "CN=a,OU=b+L=c", `CN="a\"b",DC=x`, `CN=\41\,`, "=", "CN=a,", `1.2="x"+`, `CN=\`} {
		f.Add(s)
	}
	shown := named(f, relative(commonName, "a"))
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" {
			return
		}
		p := compile(t, config{Users: []userConfig{{Username: name}}, MapCertificates: true})
		if id, err := p.Authenticate(credentials{PeerCertificates: shown}); err == nil && id.Username != name {
			t.Errorf("got %q, want %q", id.Username, name)
		}
	})
}
