package command

import (
	"runnel/jetlog/codec"
	"runnel/jetlog/config"
)

// ConsumerRestore asks for a consumer as it was in a backup: with this configuration, normalised already, and
// as far as it had come. The messages of the stream are there before.
type ConsumerRestore struct {
	Time int64
	// Max is how many consumers the stream may have if its own configuration does not say. Zero is
	// no limit.
	Max    uint64
	Config config.Consumer

	// Delivered is the last delivery, and Floor is up to where all are settled: each with the number of the
	// delivery and the sequence of the message.
	DeliveredConsumer, DeliveredStream uint64
	FloorConsumer, FloorStream         uint64
	// Pending are the deliveries that wait for an answer, in the order of their sequences. Messages that are
	// not there any more are passed over; their answers are due as if they had been delivered now.
	Pending []Restored
	// Exhausted are the sequences, ascending, that were delivered as often as allowed.
	Exhausted []uint64
	// Initial are the sequences, ascending, that a consumer of the last message of each subject gets before
	// it goes on like any other behind Resume.
	Initial []uint64
	Resume  uint64
}

// Restored is a delivery that waits for an answer.
type Restored struct {
	Sequence uint64 // of the message
	Consumer uint64 // number of its first delivery; rises with the sequence
	Count    uint64 // how often it was delivered, at least 1
}

// restoredBytes is the least that a restored delivery takes.
const restoredBytes = 3

// Kind returns KindConsumerRestore.
func (*ConsumerRestore) Kind() Kind { return KindConsumerRestore }

// At returns the time.
func (c *ConsumerRestore) At() int64 { return c.Time }

func (c *ConsumerRestore) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	out = codec.AppendUint(out, c.Max)
	out = AppendConfig(out, &c.Config)
	for _, n := range [...]uint64{c.DeliveredConsumer, c.DeliveredStream, c.FloorConsumer, c.FloorStream} {
		out = codec.AppendUint(out, n)
	}
	out = codec.AppendUint(out, uint64(len(c.Pending)))
	for _, d := range c.Pending {
		out = codec.AppendUint(out, d.Sequence)
		out = codec.AppendUint(out, d.Consumer)
		out = codec.AppendUint(out, d.Count)
	}
	out = appendSequences(out, c.Exhausted)
	out = appendSequences(out, c.Initial)
	return codec.AppendUint(out, c.Resume)
}

func (c *ConsumerRestore) decode(r *codec.Reader) {
	c.Time, c.Max = r.Int(), r.Uint()
	ReadConfig(r, &c.Config)
	c.DeliveredConsumer, c.DeliveredStream = r.Uint(), r.Uint()
	c.FloorConsumer, c.FloorStream = r.Uint(), r.Uint()
	c.Pending = make([]Restored, r.Count(restoredBytes))
	for i := range c.Pending {
		c.Pending[i] = Restored{Sequence: r.Uint(), Consumer: r.Uint(), Count: r.Uint()}
	}
	c.Exhausted, c.Initial = readSequences(r), readSequences(r)
	c.Resume = r.Uint()
}

func appendSequences(out []byte, list []uint64) []byte {
	out = codec.AppendUint(out, uint64(len(list)))
	for _, seq := range list {
		out = codec.AppendUint(out, seq)
	}
	return out
}

func readSequences(r *codec.Reader) []uint64 {
	list := make([]uint64, r.Count(1))
	for i := range list {
		list[i] = r.Uint()
	}
	return list
}

// SequenceMax is the largest sequence that somebody may ask for. It leaves more than will ever be published.
const SequenceMax = 1 << 62

// Unsound returns what in the state contradicts itself, empty for nothing.
func (c *ConsumerRestore) Unsound() string {
	stream, consumer := c.FloorStream, c.FloorConsumer
	if stream > c.DeliveredStream || consumer > c.DeliveredConsumer || c.DeliveredStream > SequenceMax {
		return "the ack floor is above what was delivered, or that is out of range"
	}
	for _, d := range c.Pending {
		if d.Sequence <= stream || d.Consumer == 0 || d.Count == 0 {
			return "pending messages are not in order"
		}
		stream, consumer = d.Sequence, max(d.Consumer, consumer)
	}
	if stream > c.DeliveredStream || consumer > c.DeliveredConsumer {
		return "pending messages were not delivered"
	}
	if !ascends(c.Exhausted, c.DeliveredStream) {
		return "exhausted messages are not in order"
	}
	if !ascends(c.Initial, c.Resume) {
		return "initial messages are not in order"
	}
	return ""
}

// ascends reports whether sequences ascend from 1 on and are not above a limit.
func ascends(list []uint64, limit uint64) bool {
	last := uint64(0)
	for _, seq := range list {
		if seq <= last || seq > limit {
			return false
		}
		last = seq
	}
	return true
}
