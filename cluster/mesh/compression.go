package mesh

import (
	"bufio"
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
// if and only if this one is. A mode that this version does not know is taken for off, as the other side does that
// knows only its own.
func compressionOf(own, peer Compression) Compression {
	if !own.known() || !peer.known() || own == CompressionOff || peer == CompressionOff {
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
// third better, else best.
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

	level func() Compression // what to write with from now on

	mu      sync.Mutex // held while writing; guards what follows
	out     *bufio.Writer
	writer  *s2.Writer
	current Compression // that of writer; empty without one
	err     error       // what broke the writing side
}

func newCompressor(conn net.Conn, level func() Compression) *compressor {
	return &compressor{
		Conn:  conn,
		in:    s2.NewReader(bufio.NewReaderSize(conn, s2BlockBytes), s2.ReaderMaxBlockSize(s2BlockBytes), s2.ReaderAllocBlock(s2BlockBytes)),
		level: level,
		out:   bufio.NewWriterSize(conn, s2BlockBytes+s2BlockBytes/2),
	}
}

// Read reads what the peer has written. One goroutine at a time may call it.
func (c *compressor) Read(p []byte) (int, error) { return c.in.Read(p) }

// Write compresses and writes p whole.
func (c *compressor) Write(p []byte) (int, error) {
	n, err := c.writeAll(net.Buffers{p})
	return int(n), err
}

// writeAll writes all buffers and flushes once.
func (c *compressor) writeAll(bufs net.Buffers) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	var n int64
	w := c.choose()
	for _, b := range bufs {
		if _, c.err = w.Write(b); c.err != nil {
			return 0, c.err
		}
		n += int64(len(b))
	}
	if c.err = w.Flush(); c.err == nil {
		c.err = c.out.Flush()
	}
	if c.err != nil {
		return 0, c.err
	}
	return n, nil
}

// choose makes the writer of the level that is due. Another level than before begins another stream; readers take
// one after the other for one.
func (c *compressor) choose() *s2.Writer {
	level := c.level()
	if level == c.current {
		return c.writer
	}
	options := []s2.WriterOption{s2.WriterConcurrency(1), s2.WriterBlockSize(s2BlockBytes)}
	switch level {
	case CompressionBetter:
		options = append(options, s2.WriterBetterCompression())
	case CompressionBest:
		options = append(options, s2.WriterBestCompression())
	case compressionNone:
		options = append(options, s2.WriterUncompressed())
	}
	c.writer, c.current = s2.NewWriter(c.out, options...), level
	return c.writer
}
