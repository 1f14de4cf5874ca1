package conf

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"slices"
	"strings"

	"runnel/conf/syntax"
)

// The slots of TLS that have forms of their own.

// cipherSuites takes a list of cipher suites by Go's names.
func cipherSuites(place *[]uint16) slot {
	return special{
		"list of cipher suites",
		func(d *decoder, path string, v *syntax.Value) {
			suites := []uint16{}
			each(v, func(item *syntax.Value) {
				i := slices.IndexFunc(allCipherSuites(), func(c *tls.CipherSuite) bool { return c.Name == item.Text })
				if i < 0 || !item.IsScalar() {
					d.wrong(path, item, "a cipher suite like TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
					return
				}
				suites = append(suites, allCipherSuites()[i].ID)
			})
			*place = suites
		},
		func() string {
			names := make([]string, len(*place))
			for i, id := range *place {
				names[i] = tls.CipherSuiteName(id)
			}
			return showList(names)
		},
	}
}

// allCipherSuites returns all that Go knows, the safe ones first.
func allCipherSuites() []*tls.CipherSuite {
	return append(tls.CipherSuites(), tls.InsecureCipherSuites()...)
}

// isInsecure reports whether Go lists the cipher suite as insecure.
func isInsecure(suite uint16) bool {
	return slices.ContainsFunc(tls.InsecureCipherSuites(), func(c *tls.CipherSuite) bool { return c.ID == suite })
}

// curveNames are the names of curves in configs; Go's own are accepted too.
var curveNames = []struct {
	name string
	id   tls.CurveID
}{
	{"X25519MLKEM768", tls.X25519MLKEM768},
	{"X25519", tls.X25519},
	{"CurveP256", tls.CurveP256},
	{"CurveP384", tls.CurveP384},
	{"CurveP521", tls.CurveP521},
}

// curves takes a list of curves.
func curves(place *[]tls.CurveID) slot {
	return special{
		"list of curves",
		func(d *decoder, path string, v *syntax.Value) {
			ids := []tls.CurveID{}
			each(v, func(item *syntax.Value) {
				for _, c := range curveNames {
					if item.IsScalar() && strings.EqualFold(c.name, item.Text) {
						ids = append(ids, c.id)
						return
					}
				}
				d.wrong(path, item, "one of X25519MLKEM768, X25519, CurveP256, CurveP384, CurveP521")
			})
			*place = ids
		},
		func() string {
			names := make([]string, len(*place))
			for i, id := range *place {
				names[i] = id.String()
			}
			return showList(names)
		},
	}
}

// fingerprints takes a list of SHA-256 in hex, which are kept in lower case.
func fingerprints(place *[]string) slot {
	return special{
		"list of hex SHA-256",
		func(d *decoder, path string, v *syntax.Value) {
			sums := []string{}
			each(v, func(item *syntax.Value) {
				sum := strings.ToLower(item.Text)
				if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
					d.wrong(path, item, "64 hex digits, the SHA-256 of a public key")
					return
				}
				sums = append(sums, sum)
			})
			*place = sums
		},
		func() string { return showList(*place) },
	}
}

// tlsVersion takes "1.2" or "1.3", which unquoted looks like a number.
func tlsVersion(place *uint16) slot {
	versions := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}
	return special{
		"1.2 or 1.3",
		func(d *decoder, path string, v *syntax.Value) {
			version, ok := versions[v.Text]
			if !ok || !v.IsScalar() {
				d.wrong(path, v, "1.2 or 1.3")
				return
			}
			*place = version
		},
		func() string { return strings.TrimPrefix(tls.VersionName(*place), "TLS ") },
	}
}

// handshakeFirst takes a boolean, auto, or a duration.
func handshakeFirst(place *HandshakeFirst) slot {
	return special{
		"boolean, auto or duration",
		func(d *decoder, path string, v *syntax.Value) {
			fallback, unitless, ok := v.Duration()
			switch {
			case v.Kind == syntax.Boolean:
				*place = HandshakeFirst{Enabled: v.Boolean}
			case v.Kind == syntax.String && strings.EqualFold(v.Text, "auto"):
				*place = HandshakeFirst{Enabled: true, Fallback: handshakeFallback}
			case ok && !unitless && fallback > 0:
				*place = HandshakeFirst{Enabled: true, Fallback: fallback}
			default:
				d.wrong(path, v, `true, false, auto or a duration like "300ms"`)
			}
		},
		func() string {
			switch {
			case !place.Enabled:
				return "false"
			case place.Fallback == 0:
				return "true"
			}
			return syntax.ShowDuration(place.Fallback)
		},
	}
}

// readShortOCSPPeer reads `ocsp_peer: true`.
func readShortOCSPPeer(_ *decoder, _ string, v *syntax.Value, o *OCSPPeer) (*OCSPPeer, bool) {
	o.Verify = v.Boolean
	return o, v.Kind == syntax.Boolean
}

// readShortOCSP reads `ocsp: true` and `ocsp: always`.
func readShortOCSP(d *decoder, path string, v *syntax.Value, o *OCSP) (*OCSP, bool) {
	switch v.Kind {
	case syntax.Boolean:
		if !v.Boolean {
			o.Mode = "never"
		}
	case syntax.String:
		ocspKeys[0].slot(o).read(d, path, v)
	default:
		return nil, false
	}
	return o, true
}

// readShortOCSPCache reads `ocsp_cache: true` and `ocsp_cache: local`.
func readShortOCSPCache(d *decoder, path string, v *syntax.Value, o *OCSPCache) (*OCSPCache, bool) {
	switch v.Kind {
	case syntax.Boolean:
		if !v.Boolean {
			o.Type = "none"
		}
	case syntax.String:
		ocspCacheKeys[0].slot(o).read(d, path, v)
	default:
		return nil, false
	}
	return o, true
}
