// Package nkey tells which texts are public keys, and of what. It knows the form of a key only, no cryptography.
package nkey

import "encoding/base32"

// Kind is what a public key belongs to: the first byte of the key, from which the first letter of its text follows.
type Kind byte

// The kinds of public keys.
const (
	Account  Kind = 0 << 3  // A...
	Cluster  Kind = 2 << 3  // C...
	Server   Kind = 13 << 3 // N...
	Operator Kind = 14 << 3 // O...
	User     Kind = 20 << 3 // U...
	Curve    Kind = 23 << 3 // X...
)

// IsPublic reports whether s is the text of a public key of that kind: base32 of the kind, 32 bytes of key and a checksum.
func IsPublic(s string, k Kind) bool {
	const keyBytes = 32
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(s)
	if err != nil || len(raw) != 1+keyBytes+2 || raw[0] != byte(k) {
		return false
	}
	sum := crc16(raw[:1+keyBytes])
	return raw[1+keyBytes] == byte(sum) && raw[2+keyBytes] == byte(sum>>8)
}

// crc16 is the CCITT checksum with polynomial 0x1021 and initial value 0.
func crc16(data []byte) uint16 {
	var crc uint16
	for _, b := range data {
		crc ^= uint16(b) << 8
		for range 8 {
			high := crc&0x8000 != 0
			crc <<= 1
			if high {
				crc ^= 0x1021
			}
		}
	}
	return crc
}
