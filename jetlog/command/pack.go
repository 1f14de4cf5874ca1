package command

import (
	"fmt"

	"runnel/jetlog/codec"
)

// packedBytes is the least that a publish takes in a pack.
const packedBytes = 1 + memberBytes

// AppendPack appends several publishes as one piece. They remain commands of their own, which only travel together.
func AppendPack(out []byte, publishes []Publish) []byte {
	out = codec.AppendUint(append(out, Version), uint64(len(publishes)))
	before := int64(0)
	for i := range publishes {
		c := &publishes[i]
		out = codec.AppendInt(out, c.Time-before)
		out = c.encodeMessage(out)
		before = c.Time
	}
	return out
}

// DecodePack returns the publishes in data, to which their slices refer.
func DecodePack(data []byte) ([]Publish, error) {
	r := codec.NewReader(data)
	version := r.Byte()
	switch {
	case r.Err() != nil:
		return nil, fmt.Errorf("pack: %w", r.Err())
	case version > Version:
		return nil, fmt.Errorf("pack of version %d, this program knows up to %d: %w", version, Version, ErrNewer)
	case version < 1:
		return nil, fmt.Errorf("pack of version %d: %w", version, codec.ErrDamaged)
	}
	publishes := make([]Publish, r.Count(packedBytes))
	before := int64(0)
	for i := range publishes {
		c := &publishes[i]
		c.Time = before + r.Int()
		c.decodeMessage(&r)
		before = c.Time
	}
	if len(publishes) == 0 {
		r.Fail("a pack has nothing in it")
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return publishes, nil
}
