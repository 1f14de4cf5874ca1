package accounts

import (
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// distinguishedName is the subject of a certificate: a list of relative names, each
// a set of attributes in canonical form.
type distinguishedName [][]string

// attributeTypes leads from the short names of attribute types (RFC 4514, and what
// else is used) to their object identifiers.
var attributeTypes = map[string]string{
	"CN":           "2.5.4.3",
	"SN":           "2.5.4.4",
	"SERIALNUMBER": "2.5.4.5",
	"C":            "2.5.4.6",
	"L":            "2.5.4.7",
	"ST":           "2.5.4.8",
	"S":            "2.5.4.8",
	"STREET":       "2.5.4.9",
	"O":            "2.5.4.10",
	"OU":           "2.5.4.11",
	"TITLE":        "2.5.4.12",
	"POSTALCODE":   "2.5.4.17",
	"GN":           "2.5.4.42",
	"UID":          "0.9.2342.19200300.100.1.1",
	"DC":           "0.9.2342.19200300.100.1.25",
	"E":            "1.2.840.113549.1.9.1",
	"EMAILADDRESS": "1.2.840.113549.1.9.1",
}

// newDistinguishedName returns the name for a subject as certificates have it.
func newDistinguishedName(subject pkix.RDNSequence) (name distinguishedName) {
	for _, set := range subject {
		var relative []string
		for _, a := range set {
			relative = append(relative, a.Type.String()+"="+fmt.Sprint(a.Value))
		}
		name = append(name, relative)
	}
	return name
}

// key returns a text that is the same for names with the same relative names in
// whatever order.
func (n distinguishedName) key() string {
	var relatives []string
	for _, relative := range n {
		relative = slices.Clone(relative)
		slices.Sort(relative)
		relatives = append(relatives, strings.Join(relative, "\x01"))
	}
	slices.Sort(relatives)
	return strings.Join(relatives, "\x00")
}

var errDistinguishedName = errors.New("not a distinguished name")

// parseDistinguishedName reads a name as RFC 2253 writes it: `CN=a,OU=b+L=c`.
func parseDistinguishedName(s string) (name distinguishedName, err error) {
	var relative []string
	for more := true; more; {
		var attribute string
		var end byte
		attribute, end, s, err = cutAttribute(s)
		if err != nil {
			return nil, err
		}
		relative = append(relative, attribute)
		if end != '+' {
			name = append(name, relative)
			relative = nil
		}
		more = end != 0
	}
	return name, nil
}

// cutAttribute reads one `type=value` from the beginning of s. end is what follows
// it: one of `,;+`, or 0 at the end of s.
func cutAttribute(s string) (attribute string, end byte, rest string, err error) {
	kind, rest, found := strings.Cut(s, "=")
	identifier := objectIdentifier(strings.TrimSpace(kind))
	if !found || identifier == "" {
		return "", 0, "", errDistinguishedName
	}
	value, end, rest, err := cutValue(strings.TrimLeft(rest, " "))
	if err != nil || value == "" {
		return "", 0, "", errDistinguishedName
	}
	return identifier + "=" + value, end, rest, nil
}

// objectIdentifier returns the dotted numbers of an attribute type, or nothing when
// it is not known.
func objectIdentifier(kind string) string {
	kind = strings.ToUpper(kind)
	if identifier, ok := attributeTypes[kind]; ok {
		return identifier
	}
	kind = strings.TrimPrefix(kind, "OID.")
	if kind == "" || strings.Trim(kind, "0123456789.") != "" {
		return ""
	}
	return kind
}

// cutValue reads an attribute value with its escapes up to a separator. Spaces at
// its end count only when they are escaped.
func cutValue(s string) (value string, end byte, rest string, err error) {
	var b []byte
	kept := 0 // the length of b without spaces at its end
	quoted := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			escaped, n := unescape(s[i+1:])
			if n == 0 {
				return "", 0, "", errDistinguishedName
			}
			b = append(b, escaped)
			kept = len(b)
			i += n
		case c == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(",;+", c) >= 0:
			return string(b[:kept]), c, s[i+1:], nil
		default:
			b = append(b, c)
			if c != ' ' || quoted {
				kept = len(b)
			}
		}
	}
	if quoted {
		return "", 0, "", errDistinguishedName
	}
	return string(b[:kept]), 0, "", nil
}

// unescape returns the byte that s, which follows a backslash, begins with, and the
// length of its text: two hexadecimal digits, or the byte itself.
func unescape(s string) (c byte, n int) {
	if s == "" {
		return 0, 0
	}
	if len(s) >= 2 {
		if decoded, err := hex.DecodeString(s[:2]); err == nil {
			return decoded[0], 2
		}
	}
	return s[0], 1
}
