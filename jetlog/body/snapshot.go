package body

import (
	"fmt"

	"runnel/jetlog/codec"
)

// memoryVersion is the first byte of a body.
const memoryVersion = 1

// AppendSnapshot appends all messages and remembered ids. Equal bodies give equal bytes.
func (m *Memory) AppendSnapshot(out []byte) []byte {
	out = append(out, memoryVersion)
	out = codec.AppendUint(out, m.countAll(0))
	last := uint64(0)
	for seq := m.next(0); seq != 0; seq = m.next(seq + 1) {
		r := m.at(seq)
		out = codec.AppendUint(out, seq-last)
		out = codec.AppendInt(out, r.time)
		out = codec.AppendBytes(out, r.subject.subject)
		out = codec.AppendBytes(out, r.header)
		out = codec.AppendBytes(out, r.payload)
		out = codec.AppendUint(out, r.bytes)
		out = codec.AppendInt(out, r.expires)
		last = seq
	}
	n := uint64(0)
	for _, o := range m.order {
		if m.ids[o.id] == o.noted {
			n++
		}
	}
	out = codec.AppendUint(out, n)
	for _, o := range m.order {
		if m.ids[o.id] == o.noted {
			out = codec.AppendInt(codec.AppendUint(codec.AppendBytes(out, o.id), o.seq), o.time)
		}
	}
	return out
}

// RestoreMemory returns the body of a snapshot. It keeps the data, which must not change.
func RestoreMemory(data []byte) (*Memory, error) {
	m := NewMemory()
	r := codec.NewReader(data)
	if version := r.Byte(); version > memoryVersion {
		return nil, fmt.Errorf("body of version %d, this program knows up to %d: %w", version, memoryVersion, codec.ErrNewer)
	} else if version < 1 && r.Err() == nil {
		r.Fail("a version is 0")
	}
	last := uint64(0)
	for range r.Count(7) {
		message := Message{Sequence: last + r.Uint(), Time: r.Int(), Subject: r.String(), Header: r.Bytes(), Payload: r.Bytes()}
		meta := Meta{Bytes: r.Uint(), Expires: r.Int()}
		if r.Err() != nil {
			break
		}
		if message.Sequence <= last {
			r.Fail("a sequence is out of order")
			break
		}
		last = message.Sequence
		m.Append(&message, &meta)
	}
	for range r.Count(3) {
		id, seq, time := r.Bytes(), r.Uint(), r.Int()
		m.Remember(id, seq, time)
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	return m, nil
}
