package command

import "runnel/jetlog/codec"

// GiveUp notes what receivers have said of messages that are not to be delivered any more: an Ack that terminates them, with
// a text for each.
type GiveUp struct {
	Time     int64
	Consumer string
	Messages []GivenUp
}

// GivenUp is a message that is not to be delivered any more, and why.
type GivenUp struct {
	Sequence uint64
	Text     string
}

// Kind returns KindGiveUp.
func (*GiveUp) Kind() Kind { return KindGiveUp }

// At returns the time.
func (c *GiveUp) At() int64 { return c.Time }

func (c *GiveUp) encode(out []byte) []byte {
	out = codec.AppendBytes(codec.AppendInt(out, c.Time), c.Consumer)
	out = codec.AppendUint(out, uint64(len(c.Messages)))
	for _, m := range c.Messages {
		out = codec.AppendBytes(codec.AppendUint(out, m.Sequence), m.Text)
	}
	return out
}

func (c *GiveUp) decode(r *codec.Reader) {
	c.Time, c.Consumer = r.Int(), r.String()
	c.Messages = make([]GivenUp, r.Count(2))
	for i := range c.Messages {
		c.Messages[i] = GivenUp{Sequence: r.Uint(), Text: r.String()}
	}
}

// Handed notes that the letters of a consumer are in its dead-letter stream, up to a number.
type Handed struct {
	Time     int64
	Consumer string
	// Box is that of the letters. If the consumer has another one when the command is applied, nothing is noted.
	Box  uint64
	UpTo uint64
}

// Kind returns KindHanded.
func (*Handed) Kind() Kind { return KindHanded }

// At returns the time.
func (c *Handed) At() int64 { return c.Time }

func (c *Handed) encode(out []byte) []byte {
	out = codec.AppendBytes(codec.AppendInt(out, c.Time), c.Consumer)
	return codec.AppendUint(codec.AppendUint(out, c.Box), c.UpTo)
}

func (c *Handed) decode(r *codec.Reader) {
	c.Time, c.Consumer, c.Box, c.UpTo = r.Int(), r.String(), r.Uint(), r.Uint()
}
