package command

import (
	"runnel/jetlog/causes"
	"runnel/jetlog/codec"
)

// Settle brings acknowledgements that another stream has owed to a consumer. They mean nothing if that has begun again since.
type Settle struct {
	Time        int64
	Consumer    string
	Incarnation uint64
	Sequences   []uint64 // that wait for an answer; others are passed over
}

// Kind returns KindSettle.
func (*Settle) Kind() Kind { return KindSettle }

// At returns the time.
func (c *Settle) At() int64 { return c.Time }

func (c *Settle) encode(out []byte) []byte {
	out = codec.AppendBytes(codec.AppendInt(out, c.Time), c.Consumer)
	out = codec.AppendUint(out, c.Incarnation)
	return appendSequences(out, c.Sequences)
}

func (c *Settle) decode(r *codec.Reader) {
	c.Time, c.Consumer, c.Incarnation = r.Int(), r.String(), r.Uint()
	c.Sequences = readSequences(r)
}

// Paid notes that acknowledgements which the stream has owed to a consumer of another one have arrived there, or that
// there is nobody any more to whom they could be owed.
type Paid struct {
	Time      int64
	Source    causes.Source
	Sequences []uint64
}

// Kind returns KindPaid.
func (*Paid) Kind() Kind { return KindPaid }

// At returns the time.
func (c *Paid) At() int64 { return c.Time }

func (c *Paid) encode(out []byte) []byte {
	return appendSequences(c.Source.Append(codec.AppendInt(out, c.Time)), c.Sequences)
}

func (c *Paid) decode(r *codec.Reader) {
	c.Time = r.Int()
	c.Source = causes.ReadSource(r)
	c.Sequences = readSequences(r)
}
