package mesh

import (
	"bufio"
	"encoding/binary"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"
)

// Compression is how a server wants its links compressed.
type Compression string

// The modes. Each direction of a link is compressed as its writer wishes; who accepts does as the other does. A link
// is not compressed if one of the two wants it off or if both do no more than accept.
const (
	CompressionOff    Compression = "off"
	CompressionAccept Compression = "accept"
	CompressionFast   Compression = "s2_fast"
	CompressionBetter Compression = "s2_better"
	CompressionBest   Compression = "s2_best"
	// CompressionAuto goes by the round trip time, and follows it.
	CompressionAuto Compression = "s2_auto"

	// compressionNone is what auto comes to at a short round trip: s2's framing with nothing compressed in it.
	compressionNone Compression = "s2_uncompressed"
)

// s2BlockBytes is how much is compressed at a time. It bounds the memory of a link.
const s2BlockBytes = 64 << 10

// known reports whether c is one of the modes that can be configured.
func (c Compression) known() bool {
	return slices.Contains([]Compression{
		CompressionOff, CompressionAccept, CompressionFast, CompressionBetter, CompressionBest, CompressionAuto,
	}, c)
}

// compressionOf is how the side that wants own writes to one that wants peer. The other direction is compressed
// if and only if this one is.
func compressionOf(own, peer Compression) Compression {
	if own == CompressionOff || peer == CompressionOff {
		return CompressionOff
	}
	if own != CompressionAccept {
		return own
	}
	if peer == CompressionAccept {
		return CompressionOff
	}
	return peer
}

// autoLevel is the level for a round trip time: below the first threshold none, below the second fast, below the
// third better, else best. With fewer thresholds the last levels are left out.
func autoLevel(thresholds []time.Duration, rtt time.Duration) Compression {
	levels := []Compression{compressionNone, CompressionFast, CompressionBetter, CompressionBest}
	for i, t := range thresholds {
		if rtt < t {
			return levels[i]
		}
	}
	return levels[len(thresholds)]
}

// compressor is a connection whose bytes are compressed on the way. What is given to one Write is flushed by it.
// A write that fails or times out breaks the writing side, since it may have cut a block.
type compressor struct {
	net.Conn
	in *s2.Reader

	level func() Compression // how to write the next block

	mu      sync.Mutex // held while writing; guards what follows
	out     *bufio.Writer
	blocks  *s2.Writer // writes to out, and has encode compress each block
	scratch []byte     // where better levels than fast compress a block
	err     error      // what broke the writing side
}

func newCompressor(conn net.Conn, level func() Compression) *compressor {
	c := &compressor{
		Conn:  conn,
		in:    s2.NewReader(bufio.NewReaderSize(conn, s2BlockBytes), s2.ReaderMaxBlockSize(s2BlockBytes), s2.ReaderAllocBlock(s2BlockBytes)),
		level: level,
		out:   bufio.NewWriterSize(conn, s2BlockBytes+s2BlockBytes/2),
	}
	c.blocks = s2.NewWriter(c.out, s2.WriterConcurrency(1), s2.WriterBlockSize(s2BlockBytes), s2.WriterCustomEncoder(c.encode))
	return c
}

// Read reads what the peer has written. One goroutine at a time may call it.
func (c *compressor) Read(p []byte) (int, error) { return c.in.Read(p) }

// Write compresses and writes p whole.
func (c *compressor) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(p)
	if c.flush(); c.err != nil {
		return 0, c.err
	}
	return len(p), nil
}

// writeAll is Write for many, with one flush.
func (c *compressor) writeAll(bufs net.Buffers) (n int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range bufs {
		c.put(p)
		n += int64(len(p))
	}
	if c.flush(); c.err != nil {
		return 0, c.err
	}
	return n, nil
}

// put compresses p, unless the writing side is broken. The mutex must be held.
func (c *compressor) put(p []byte) {
	if c.err == nil {
		_, c.err = c.blocks.Write(p)
	}
}

// flush writes what was put. The mutex must be held.
func (c *compressor) flush() {
	if c.err == nil {
		c.err = c.blocks.Flush()
	}
	if c.err == nil {
		c.err = c.out.Flush()
	}
}

const (
	asItIs   = 0  // what encode returns for a block that is not to be compressed
	asUsual  = -1 // and for one that its caller compresses
	bestFrom = s2BlockBytes / 2
)

// encode compresses a block at the level that is due, so that a level can change at any time. The best one clears
// megabytes of tables for each block, which blocks below bestFrom are not worth.
func (c *compressor) encode(dst, src []byte) int {
	level := c.level()
	switch {
	case level == compressionNone:
		return asItIs
	case level == CompressionBest && len(src) >= bestFrom:
		c.scratch = s2.EncodeBest(c.scratch[:cap(c.scratch)], src)
	case level == CompressionBest || level == CompressionBetter:
		c.scratch = s2.EncodeBetter(c.scratch[:cap(c.scratch)], src)
	default:
		return asUsual
	}
	_, n := binary.Uvarint(c.scratch) // the length, which the writer of the stream adds itself
	if block := c.scratch[n:]; len(block) < len(src) && len(block) <= len(dst) {
		return copy(dst, block)
	}
	return asItIs
}
