package segment

import (
	"encoding/binary"
	"math"
)

// cursor reads numbers from the front of a slice. After the first that is not there, or not well formed,
// bad is set and everything reads as zero, so that a decoder may look at bad once, at its end.
type cursor struct {
	b   []byte
	bad bool
}

// fail makes everything read as zero from now on.
func (c *cursor) fail() { c.b, c.bad = nil, true }

// uvarint reads a number. Most are less than 128 and take the short way.
func (c *cursor) uvarint() uint64 {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v := uint64(c.b[0])
		c.b = c.b[1:]
		return v
	}
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

// varint reads a signed number in zigzag form.
func (c *cursor) varint() int64 {
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// size reads a number that must not exceed limit.
func (c *cursor) size(limit uint64) int {
	v := c.uvarint()
	if v > limit {
		c.fail()
		return 0
	}
	return int(v)
}

// byte reads one byte.
func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.fail()
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

// bytes reads n bytes; they belong to the slice that the cursor reads.
func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.fail()
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

// add is a+b; the cursor fails if that is too large.
func (c *cursor) add(a, b uint64) uint64 {
	if a+b < a {
		c.fail()
		return 0
	}
	return a + b
}

// number reads 32 bits as a number that is no less than 0 wherever an int has 32 bits itself. What is
// cut off so is larger than any file.
func number(b []byte) int { return int(min(binary.LittleEndian.Uint32(b), math.MaxInt32)) }
