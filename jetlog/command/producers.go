package command

import (
	"runnel/jetlog/codec"
	"runnel/jetlog/producers"
)

// Producers forgets how far producers are, and sets how far others are: as they were in a backup.
type Producers struct {
	Time int64
	// Forget are producers that are forgotten if they are still at the numbers given; those that have gone on meanwhile are not
	// idle, and stay.
	Forget []Producer
	// Set are producers that the stream does not know. What it has not room for, or does not fit its messages, is refused.
	Set []Producer
}

// Producer is one and how far it is. Those in whose name the server puts messages have a line end before their name.
type Producer struct {
	Name string
	producers.Mark
}

// producerBytes is the least that one takes.
const producerBytes = 3

// Kind returns KindProducers.
func (*Producers) Kind() Kind { return KindProducers }

// At returns the time.
func (c *Producers) At() int64 { return c.Time }

func (c *Producers) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	for _, list := range [2][]Producer{c.Forget, c.Set} {
		out = codec.AppendUint(out, uint64(len(list)))
		for i := range list {
			p := &list[i]
			out = codec.AppendUint(codec.AppendUint(codec.AppendBytes(out, p.Name), p.Number), p.Sequence)
		}
	}
	return out
}

func (c *Producers) decode(r *codec.Reader) {
	c.Time = r.Int()
	for _, list := range [2]*[]Producer{&c.Forget, &c.Set} {
		*list = make([]Producer, r.Count(producerBytes))
		for i := range *list {
			(*list)[i] = Producer{Name: r.String(), Mark: producers.Mark{Number: r.Uint(), Sequence: r.Uint()}}
		}
	}
}
