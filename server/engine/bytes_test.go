package engine

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
)

// randomBytes are n bytes that tell where they came from.
func randomBytes(random *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.NativeEndian.AppendUint64(b, random.Uint64())
	}
	return b[:n]
}

// join is what buffers hold together.
func join(buffers [][]byte) []byte { return bytes.Join(buffers, nil) }
