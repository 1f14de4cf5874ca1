package websocket

import (
	"encoding/binary"
	"unicode/utf8"
)

// Opcodes of frames (RFC 6455, section 5.2). Those from opClose up are
// control frames.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa
)

// Bits of the first two bytes of a frame.
const (
	bitFin      = 0x80
	bitDeflated = 0x40 // RSV1: the message is compressed
	bitReserved = 0x30 // RSV2 and RSV3
	bitMask     = 0x80 // second byte
)

const (
	maxControlBytes = 125
	// maxHeaderBytes: two bytes, a length of eight, a mask of four.
	maxHeaderBytes = 14
	// maxDataless is how many frames in a row may bring no data. An idle
	// client answers the server's PING every two minutes with data, so even
	// ten pings a second do not come near.
	maxDataless = 4096
)

// event is what decoder.step met.
type event int

const (
	evNone     event = iota
	evControl        // a control frame is complete: decoder.op, decoder.control
	evDeflated       // a compressed message begins, its header is consumed
	evEnd            // a data message is complete
)

// decoder is the state of the byte stream from a client: it takes bytes in
// any portions and does no I/O.
type decoder struct {
	deflate bool // compression was agreed on

	header  [maxHeaderBytes]byte
	have    int    // bytes of header that arrived; 0 between frames
	inFrame bool   // header complete, left payload bytes to come
	left    uint64 // payload bytes to come
	mask    [4]byte
	maskAt  int // position in mask of the next payload byte, 0..3
	op      byte
	fin     bool

	inMessage bool // a data message has begun and its last frame has not ended
	deflated  bool // that message is compressed
	dataless  int  // frames since the last byte of data, see maxDataless
	control   []byte
}

// step decodes on from p[r:] up to the next event, the end of a frame or the
// end of p. Payload of data frames is moved to p[w:], which is never ahead of
// r. It returns the new w and r. What a compressed message inflates to is not
// known here, so it is the caller who resets dataless for it.
func (d *decoder) step(p []byte, w, r int) (int, int, event, error) {
	if !d.inFrame {
		var begun bool
		var err error
		r, begun, err = d.readHeader(p, r)
		if !begun || err != nil {
			return w, r, evNone, err
		}
		if d.deflated && (d.op == opText || d.op == opBinary) {
			return w, r, evDeflated, nil
		}
	}
	n := int(min(d.left, uint64(len(p)-r)))
	payload := p[r : r+n]
	d.unmask(payload)
	if d.op >= opClose {
		d.control = append(d.control, payload...)
	} else {
		w += copy(p[w:], payload)
		if n > 0 && !d.deflated {
			d.dataless = 0
		}
	}
	r += n
	d.left -= uint64(n)
	if d.left > 0 {
		return w, r, evNone, nil
	}
	return w, r, d.endFrame(), nil
}

func (d *decoder) endFrame() event {
	d.inFrame, d.have = false, 0
	switch {
	case d.op >= opClose:
		return evControl
	case d.fin:
		d.inMessage = false
		return evEnd
	default:
		return evNone
	}
}

// readHeader takes header bytes from p[r:] and reports whether the header is
// complete.
func (d *decoder) readHeader(p []byte, r int) (int, bool, error) {
	for d.have < 2 || d.have < d.headerBytes() {
		if r == len(p) {
			return r, false, nil
		}
		d.header[d.have] = p[r]
		d.have++
		r++
		if d.have == 2 {
			if err := d.checkStart(); err != nil {
				return r, false, err
			}
		}
	}
	return r, true, d.begin()
}

// headerBytes is the length of the header whose first two bytes are known.
func (d *decoder) headerBytes() int {
	switch d.header[1] &^ bitMask {
	case 126:
		return 2 + 2 + 4
	case 127:
		return 2 + 8 + 4
	default:
		return 2 + 4
	}
}

// checkStart refuses what the first two bytes already show to be wrong.
func (d *decoder) checkStart() error {
	first, op := d.header[0], d.header[0]&0x0f
	control := op >= opClose
	switch {
	case first&bitReserved != 0:
		return violation("reserved bits are set")
	case op > opBinary && op < opClose || op > opPong:
		return violation("unknown opcode")
	case d.header[1]&bitMask == 0:
		return violation("frame of a client is not masked")
	case control && first&bitFin == 0:
		return violation("control frame is fragmented")
	case control && d.header[1]&^bitMask > maxControlBytes:
		return violation("control frame is too long")
	case op == opContinuation && !d.inMessage:
		return violation("continuation of no message")
	case op > opContinuation && !control && d.inMessage:
		return violation("new message inside a fragmented one")
	case first&bitDeflated != 0 && (!d.deflate || control || op == opContinuation):
		return violation("compressed frame where none may be")
	}
	return nil
}

// begin takes over a complete header.
func (d *decoder) begin() error {
	d.op, d.fin = d.header[0]&0x0f, d.header[0]&bitFin != 0
	end := d.headerBytes()
	switch d.header[1] &^ bitMask {
	case 126:
		d.left = uint64(binary.BigEndian.Uint16(d.header[2:]))
	case 127:
		d.left = binary.BigEndian.Uint64(d.header[2:])
		if d.left>>63 != 0 {
			return violation("frame length is negative")
		}
	default:
		d.left = uint64(d.header[1] &^ bitMask)
	}
	copy(d.mask[:], d.header[end-4:end])
	d.maskAt, d.inFrame = 0, true
	switch {
	case d.op >= opClose:
		d.control = d.control[:0]
	case d.op != opContinuation:
		d.inMessage, d.deflated = true, d.header[0]&bitDeflated != 0
	}
	if d.dataless++; d.dataless > maxDataless {
		return &FrameError{PolicyViolation, "too many frames without data"}
	}
	return nil
}

// unmask removes the mask from the next payload bytes, eight at a time.
func (d *decoder) unmask(p []byte) {
	at := d.maskAt
	d.maskAt = (at + len(p)) & 3
	var key [8]byte
	for i := range key {
		key[i] = d.mask[(at+i)&3]
	}
	word := binary.NativeEndian.Uint64(key[:])
	for len(p) >= 8 {
		binary.NativeEndian.PutUint64(p, binary.NativeEndian.Uint64(p)^word)
		p = p[8:]
	}
	for i := range p {
		p[i] ^= key[i]
	}
}

// violation is the error for a broken rule of the protocol.
func violation(reason string) error { return &FrameError{ProtocolError, reason} }

// closeStatus reads the payload of a close frame: the status to echo, or an
// error if the peer may not send it.
func closeStatus(payload []byte) (Status, error) {
	switch {
	case len(payload) == 0:
		return NormalClosure, nil
	case len(payload) == 1:
		return 0, violation("close frame with half a status")
	case !utf8.Valid(payload[2:]):
		return 0, &FrameError{InvalidData, "reason of a close frame is not UTF-8"}
	}
	s := Status(binary.BigEndian.Uint16(payload))
	reserved := s < 1000 || s >= 1004 && s <= 1006 || s >= 1015 && s < 3000 || s >= 5000
	if reserved {
		return 0, violation("close frame with a reserved status")
	}
	return s, nil
}

// appendHeader appends the header of an unmasked frame with FIN set.
func appendHeader(b []byte, first byte, n int) []byte {
	b = append(b, first|bitFin)
	switch {
	case n <= maxControlBytes:
		return append(b, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
}
