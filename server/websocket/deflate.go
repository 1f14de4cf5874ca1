package websocket

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

const (
	// joinBytes is how much payload is copied behind its header, where that
	// saves a write; it is about a TLS record.
	joinBytes = 16 << 10
	// keepBytes is the largest buffer that goes back into the pool.
	keepBytes = 64 << 10
	// maxBarrenBytes is how much a compressed message may take in without
	// giving anything out. An honest one gives after its window of 32 KiB.
	maxBarrenBytes = 1 << 20
	// deflateTail ends a message for the inflater: the four bytes that the
	// sender took off (RFC 7692, section 7.2.2) and an empty final block.
	deflateTail = "\x00\x00\xff\xff\x01\x00\x00\xff\xff"
	// cutBytes is what a sender takes off the end of each message.
	cutBytes = 4
)

// codec holds what the connections of one handler share. Safe for concurrent
// use.
type codec struct {
	readLimitBytes int64 // 0 for none
	inflaters      sync.Pool
	buffers        sync.Pool
}

func (k *codec) buffer() *bytes.Buffer {
	if b, ok := k.buffers.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

func (k *codec) putBuffer(b *bytes.Buffer) {
	if b.Cap() <= keepBytes {
		b.Reset()
		k.buffers.Put(b)
	}
}

// deflate compresses a message, which stands for itself: the compressor keeps
// nothing from one to the next, as was agreed on.
func (k *codec) deflate(p []byte) *bytes.Buffer {
	b := k.buffer()
	// A bytes.Buffer takes everything, so that there is no error to meet.
	_ = flate.StatelessDeflate(b, p, false, nil)
	b.Truncate(b.Len() - cutBytes)
	return b
}

func (k *codec) inflater(c *Conn) *inflater {
	f, ok := k.inflaters.Get().(*inflater)
	if !ok {
		f = new(inflater)
		f.flate = flate.NewReader(f)
	}
	f.conn = c
	return f
}

func (k *codec) putInflater(f *inflater) {
	*f = inflater{flate: f.flate}
	// A reset of an inflater cannot fail; it begins with a fresh window.
	_ = f.flate.(flate.Resetter).Reset(f, nil)
	k.inflaters.Put(f)
}

// inflater reads one compressed message. It is the source of its own flate
// reader: that asks for bytes, and gets the payload of the frames that arrive
// on conn, then the tail.
type inflater struct {
	flate io.ReadCloser
	conn  *Conn

	payload     []byte // decoded, not taken by flate yet; in buf or tail
	rest        []byte // received, not decoded yet; in buf, behind payload
	fromPending bool   // where rest came from, for Conn.unread
	began       bool   // the message has payload
	ended       bool   // the last frame of the message is decoded
	inTail      bool   // payload is, or was, the tail
	done        bool   // flate has come to its end
	sourceErr   error  // why more failed; flate would hide it

	inBytes  int   // taken in since something came out
	outBytes int64 // given out

	tail [len(deflateTail)]byte
	buf  [4096]byte
}

// read inflates on into p. done says that the message is complete.
func (f *inflater) read(p []byte) (n int, done bool, err error) {
	if f.done {
		err = f.finish()
		return 0, err == nil, err
	}
	n, err = f.flate.Read(p)
	if n > 0 {
		f.inBytes = 0
		f.outBytes += int64(n)
	}
	limit := f.conn.codec.readLimitBytes
	switch {
	case limit > 0 && f.outBytes > limit:
		return n - int(f.outBytes-limit), false, tooBig(limit)
	case err == nil:
		return n, false, nil
	case f.sourceErr != nil:
		return n, false, f.sourceErr
	case err == io.EOF:
		f.done = true
		return n, false, nil
	default:
		return n, false, &FrameError{InvalidData, "compressed message is damaged"}
	}
}

// finish takes in what the message still has behind the end of its compressed
// stream. A sender that ended the stream itself leaves a zero byte there; any
// more would be data lost in silence.
func (f *inflater) finish() error {
	for {
		if !f.inTail && len(bytes.Trim(f.payload, "\x00")) > 0 {
			return &FrameError{InvalidData, "compressed message goes on behind its end"}
		}
		f.payload = nil
		if f.ended {
			return nil
		}
		if err := f.more(); err != nil {
			return err
		}
	}
}

// Read is for flate only.
func (f *inflater) Read(p []byte) (int, error) {
	if err := f.fill(); err != nil {
		return 0, err
	}
	n := copy(p, f.payload)
	f.payload = f.payload[n:]
	return n, nil
}

// ReadByte is for flate only.
func (f *inflater) ReadByte() (byte, error) {
	if err := f.fill(); err != nil {
		return 0, err
	}
	b := f.payload[0]
	f.payload = f.payload[1:]
	return b, nil
}

// fill makes payload not empty.
func (f *inflater) fill() error {
	for len(f.payload) == 0 {
		switch {
		case f.inTail:
			return io.EOF
		case f.ended:
			f.inTail = true
			f.payload = f.tail[:copy(f.tail[:], deflateTail)]
			if !f.began { // nothing at all: there is no block to complete
				f.payload = f.payload[cutBytes:]
			}
		default:
			if err := f.more(); err != nil {
				return err
			}
		}
	}
	return nil
}

// more decodes one piece of what arrives. It may find no payload in it.
func (f *inflater) more() (err error) {
	defer func() { f.sourceErr = err }()
	in := &f.conn.in
	if len(f.rest) == 0 && !(in.inFrame && in.left == 0) {
		var n int
		n, f.fromPending, err = f.conn.readRaw(f.buf[:])
		if err != nil {
			return err
		}
		f.rest = f.buf[:n]
	}
	w, r, ev, err := in.step(f.rest, 0, 0)
	if err != nil {
		return err
	}
	f.payload, f.rest = f.rest[:w], f.rest[r:]
	f.began = f.began || w > 0
	if f.inBytes += w; f.inBytes > maxBarrenBytes {
		return &FrameError{PolicyViolation, "compressed message without content"}
	}
	switch ev {
	case evControl:
		return f.conn.control()
	case evEnd:
		f.ended = true
	}
	return nil
}

func tooBig(limit int64) error {
	return &FrameError{MessageTooBig, fmt.Sprintf("message has more than %d bytes", limit)}
}
