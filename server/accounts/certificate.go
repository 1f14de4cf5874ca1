package accounts

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
)

// mapCertificate returns the user that a certificate stands for, or nil. The names
// in it are tried in this order: e-mail addresses, DNS names, URIs, subject.
func (p *Policy) mapCertificate(c *x509.Certificate) *user {
	for _, name := range c.EmailAddresses {
		if u := p.users[name]; u != nil {
			return u
		}
	}
	for _, name := range c.DNSNames {
		if u := p.users[name]; u != nil {
			return u
		}
	}
	for _, uri := range c.URIs {
		if u := p.users[uri.String()]; u != nil {
			return u
		}
	}
	return p.mapSubject(c)
}

// mapSubject looks for a user whose name is the subject of c: as it is written
// usually, and then in any order.
func (p *Policy) mapSubject(c *x509.Certificate) *user {
	var subject pkix.RDNSequence
	if rest, err := asn1.Unmarshal(c.RawSubject, &subject); err != nil || len(rest) > 0 || len(subject) == 0 {
		return nil
	}
	if u := p.users[subject.String()]; u != nil {
		return u
	}
	return p.names[newDistinguishedName(subject).key()]
}
