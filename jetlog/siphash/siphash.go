// Package siphash is SipHash-2-4 with 128 bits: nobody who does not know the key can find two strings
// with the same hash, so a hash stands for what it was made of.
package siphash

import (
	"encoding/binary"
	"math/bits"
)

// Key is a secret.
type Key [2]uint64

// Sum is SipHash-2-4 with 128 bits.
func (k Key) Sum(s string) (h [16]byte) {
	state := sip{
		k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d ^ 0xee,
		k[0] ^ 0x6c7967656e657261, k[1] ^ 0x7465646279746573,
	}
	length := uint64(len(s)) << 56
	for ; len(s) >= 8; s = s[8:] {
		state.block(word(s))
	}
	for i := range len(s) {
		length |= uint64(s[i]) << (8 * i)
	}
	state.block(length)
	state[2] ^= 0xee
	binary.LittleEndian.PutUint64(h[:8], state.finish())
	state[1] ^= 0xdd
	binary.LittleEndian.PutUint64(h[8:], state.finish())
	return h
}

func word(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// sip is the inner state of a SipHash.
type sip [4]uint64

// block takes in eight bytes.
func (v *sip) block(m uint64) {
	v[3] ^= m
	v.round()
	v.round()
	v[0] ^= m
}

// finish mixes what was taken in, and returns half of the hash.
func (v *sip) finish() uint64 {
	for range 4 {
		v.round()
	}
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

func (v *sip) round() {
	v[0] += v[1]
	v[2] += v[3]
	v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
	v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
	v[0] = bits.RotateLeft64(v[0], 32)
	v[2] += v[1]
	v[0] += v[3]
	v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
	v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
	v[2] = bits.RotateLeft64(v[2], 32)
}
