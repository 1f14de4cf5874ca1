package conf

import "encoding/base32"

// Prefix bytes of public keys; their first letter follows from it.
const (
	accountKey  = 0 << 3  // A...
	clusterKey  = 2 << 3  // C...
	serverKey   = 13 << 3 // N...
	operatorKey = 14 << 3 // O...
	userKey     = 20 << 3 // U...
	curveKey    = 23 << 3 // X...
)

// isPublicKey reports whether s is the text of a public key of that kind:
// base32 of the prefix byte, 32 bytes of key and a checksum.
func isPublicKey(s string, prefix byte) bool {
	const keyBytes = 32
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(s)
	if err != nil || len(raw) != 1+keyBytes+2 || raw[0] != prefix {
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
