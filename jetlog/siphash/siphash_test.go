package siphash_test

import (
	"encoding/hex"
	"testing"

	"runnel/jetlog/siphash"
)

// TestHash compares with the test vectors of SipHash-2-4 with 128 bits.
func TestHash(t *testing.T) {
	for s, want := range map[string]string{
		"":                                 "a3817f04ba25a8e66df67214c7550293",
		"\x00":                             "da87c1d86b99af44347659119b22fc45",
		"\x00\x01\x02\x03\x04\x05\x06\x07": "",
	} {
		got := siphash.Key{0x0706050403020100, 0x0f0e0d0c0b0a0908}.Sum(s)
		if want != "" && hex.EncodeToString(got[:]) != want {
			t.Errorf("hash of %q: %x, want %s", s, got, want)
		}
	}
}
