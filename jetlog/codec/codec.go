// Package codec has the few forms of values that commands and snapshots are written in: variable
// length integers, and byte strings with their length in front.
//
// Writing is appending to a slice. Reading is a Reader, which never fails loudly: after the first
// damage it gives zero values, and Err says what was wrong and where.
package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrDamaged is what every error of a Reader wraps.
var ErrDamaged = errors.New("damaged encoding")

// ErrNewer is wrapped by the error for what has a later version or an unknown kind: it was written by
// a newer program, nothing is wrong with it.
var ErrNewer = errors.New("written by a newer program")

// AppendBytes appends b with its length in front.
func AppendBytes[T ~string | ~[]byte](out []byte, b T) []byte {
	out = binary.AppendUvarint(out, uint64(len(b)))
	return append(out, b...)
}

// AppendUint appends n.
func AppendUint[T ~uint8 | ~uint16 | ~uint32 | ~uint64](out []byte, n T) []byte {
	return binary.AppendUvarint(out, uint64(n))
}

// AppendInt appends n, which is short when n is near zero on either side.
func AppendInt[T ~int | ~int64](out []byte, n T) []byte {
	return binary.AppendVarint(out, int64(n))
}

// AppendUints appends a list.
func AppendUints(out []byte, list []uint64) []byte {
	out = AppendUint(out, uint64(len(list)))
	for _, n := range list {
		out = AppendUint(out, n)
	}
	return out
}

// AppendBool appends one byte.
func AppendBool(out []byte, b bool) []byte {
	if b {
		return append(out, 1)
	}
	return append(out, 0)
}

// Reader reads values in the order in which they were appended.
//
// Invariant: read <= len(data); after an error read == len(data).
type Reader struct {
	data []byte
	read int
	err  error
}

// NewReader returns a reader of data, which must not change while what was read from it is in use.
func NewReader(data []byte) Reader { return Reader{data: data} }

// Err returns the first damage that was met, nil for none.
func (r *Reader) Err() error { return r.err }

// Rest returns how many bytes are left.
func (r *Reader) Rest() int { return len(r.data) - r.read }

// Fail notes that what was read cannot be right. Only the first damage is kept.
func (r *Reader) Fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s at byte %d", ErrDamaged, what, r.read)
	}
	r.read = len(r.data)
}

// End notes bytes that are left over, and returns Err.
func (r *Reader) End() error {
	if r.err == nil && r.Rest() > 0 {
		r.Fail(fmt.Sprintf("%d bytes too many", r.Rest()))
	}
	return r.err
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if r.Rest() == 0 {
		r.Fail("a byte is missing")
		return 0
	}
	r.read++
	return r.data[r.read-1]
}

// Bool reads a bool.
func (r *Reader) Bool() bool {
	b := r.Byte()
	if b > 1 {
		r.Fail("a flag is neither 0 nor 1")
	}
	return b == 1
}

// Uint reads an unsigned number.
func (r *Reader) Uint() uint64 {
	n, size := binary.Uvarint(r.data[r.read:])
	if size <= 0 {
		r.Fail("a number is cut off or too large")
		return 0
	}
	r.read += size
	return n
}

// Int reads a signed number.
func (r *Reader) Int() int64 {
	n, size := binary.Varint(r.data[r.read:])
	if size <= 0 {
		r.Fail("a number is cut off or too large")
		return 0
	}
	r.read += size
	return n
}

// Bytes reads a byte string. It is part of the data, nil when it is empty.
func (r *Reader) Bytes() []byte {
	n := r.Uint()
	if n > uint64(r.Rest()) {
		r.Fail("a string is longer than what is left")
		return nil
	}
	if n == 0 {
		return nil
	}
	start := r.read
	r.read += int(n)
	return r.data[start:r.read:r.read]
}

// String reads a byte string as a copy.
func (r *Reader) String() string { return string(r.Bytes()) }

// Uints reads a list, nil if it is empty.
func (r *Reader) Uints() []uint64 {
	var list []uint64
	for range r.Count(1) {
		list = append(list, r.Uint())
	}
	return list
}

// Count reads the length of a list whose items take at least itemBytes each. What cannot be there
// in the bytes that are left is damage, so nobody makes room for it.
func (r *Reader) Count(itemBytes int) int {
	n := r.Uint()
	if n > uint64(r.Rest()/max(itemBytes, 1)) {
		r.Fail("a list is longer than what is left")
		return 0
	}
	return int(n)
}
