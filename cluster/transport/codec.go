package transport

import (
	"encoding/binary"
	"errors"
	"fmt"

	"runnel/cluster/mesh"
)

// kind says what a frame is.
type kind uint8

const (
	kindAppend     kind = iota + 1 // AppendEntries
	kindHeartbeat                  // AppendEntries that says no more than who leads
	kindVote                       // RequestVote
	kindPreVote                    // RequestPreVote
	kindTimeoutNow                 // TimeoutNow
	kindInstall                    // InstallSnapshot
	kindAnswer                     // to a request: good or an error
	kindProgress                   // a request is still being worked on
	kindHints                      // commit indexes of many groups
	kindHintAnswer                 // what a follower made of a hint
	kindPing                       // who is reached
	kindPong                       // to a ping
	kindCall                       // to a service
	kindCancel                     // nobody waits any more for a call or a stream
	kindFetch                      // opens a stream; answered
	kindCredit                     // more bytes of a stream may come
	kindChunk                      // bytes of a stream
	kindEnd                        // a stream has no more bytes, or an error
	kindLast       = kindEnd
)

// Sizes in bytes.
const (
	headBytes     = 5 // of a frame: length and kind
	preambleBytes = 8
	// entryBytes is the largest entry, whatever frames it.
	entryBytes = 64 << 20
	// frameBytes bounds every frame: an entry and what belongs to it.
	frameBytes = entryBytes + 1<<20
	// controlBytes bounds the frames that carry no data of others.
	controlBytes = 1 << 20
	// textBytes bounds the text of an error, nameBytes names of services and nodes.
	textBytes = 4 << 10
	nameBytes = 255
	// appendHeadBytes is what an AppendEntries without entries takes, entryHeadBytes what each of them adds to its data.
	appendHeadBytes = 6*8 + 4
	entryHeadBytes  = 8 + 8 + 1 + 8 + 4 + 4
)

// limit is how long the body of a frame of this kind may be.
func (k kind) limit() int {
	switch k {
	case kindAppend, kindInstall, kindCall, kindAnswer:
		return frameBytes
	case kindChunk:
		return 8 + chunkBytes
	}
	return controlBytes
}

// version is that of the frames. A peer with another one cannot be understood.
const version = 1

// preamble is what each side sends first.
func preamble(k mesh.Kind) [preambleBytes]byte {
	return [preambleBytes]byte{'R', 'N', 'R', 'A', 'F', 'T', version, byte(k)}
}

// checkPreamble says what is wrong with what the peer has sent first.
func checkPreamble(got []byte, k mesh.Kind) error {
	want := preamble(k)
	if len(got) != preambleBytes || string(got[:6]) != string(want[:6]) {
		return errors.New("the peer speaks another protocol")
	}
	if got[6] != version {
		return fmt.Errorf("the peer speaks version %d of the protocol, this server version %d", got[6], version)
	}
	if got[7] != byte(k) {
		return fmt.Errorf("the peer takes the link for one of kind %d, it is %d", got[7], k)
	}
	return nil
}

// openFrame appends the head of a frame, whose length sealFrame fills in.
func openFrame(b []byte, k kind) []byte { return append(b, 0, 0, 0, 0, byte(k)) }

// sealFrame fills in the length of the frame that begins at start and has extra bytes that are not in b.
func sealFrame(b []byte, start, extra int) {
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4+extra))
}

func putUint64s(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// putName appends a short text with its length.
func putName(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) }

func putBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// cursor reads the body of a frame. What is too short yields zeros, and an error in the end.
type cursor struct {
	b     []byte
	short bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.short, c.b = true, nil
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) uint8() uint8 {
	if v := c.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if v := c.take(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

func (c *cursor) uint64() uint64 {
	if v := c.take(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

func (c *cursor) bool() bool { return c.uint8() != 0 }

func (c *cursor) name() string { return string(c.take(int(c.uint8()))) }

// rest is all that is left; it points into the body.
func (c *cursor) rest() []byte { return c.take(len(c.b)) }

var errFrame = errors.New("a frame does not have the length of what it says it holds")

// end says whether the body was exactly as long as what was read of it.
func (c *cursor) end() error {
	if c.short || len(c.b) > 0 {
		return errFrame
	}
	return nil
}
