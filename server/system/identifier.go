package system

import "crypto/rand"

// newIdentifier returns 22 letters and digits that no other event has.
func newIdentifier() string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var b [22]byte
	_, _ = rand.Read(b[:]) // never fails
	for i, v := range b {
		// 256 is no multiple of 62: the first 8 digits are a little more likely, which 130 bits can spare.
		b[i] = digits[int(v)%len(digits)]
	}
	return string(b[:])
}
