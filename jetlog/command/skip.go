package command

import "runnel/jetlog/codec"

// Skip notes that the leader has looked at all messages above one sequence, up to another one, that the filter of a consumer
// matches.
type Skip struct {
	Time     int64
	Consumer string
	// Incarnation is that of the consumer when the leader looked. If it is another one when the command is applied, nothing
	// is noted.
	Incarnation uint64
	// Above is where the leader began, which must not be above what the consumer has had, and UpTo how far it got.
	Above, UpTo uint64
	// Passed are those that are still to be delivered for the first time, Failed those that could not be decided about; both
	// ascend. The consumer does not want the others.
	Passed, Failed []uint64
}

// Kind returns KindSkip.
func (*Skip) Kind() Kind { return KindSkip }

// At returns the time.
func (c *Skip) At() int64 { return c.Time }

func (c *Skip) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	out = codec.AppendBytes(out, c.Consumer)
	out = codec.AppendUint(out, c.Incarnation)
	out = codec.AppendUint(codec.AppendUint(out, c.Above), c.UpTo)
	for _, list := range [2][]uint64{c.Passed, c.Failed} {
		out = codec.AppendUint(out, uint64(len(list)))
		last := c.Above
		for _, seq := range list {
			out = codec.AppendUint(out, seq-last)
			last = seq
		}
	}
	return out
}

func (c *Skip) decode(r *codec.Reader) {
	c.Time, c.Consumer, c.Incarnation = r.Int(), r.String(), r.Uint()
	c.Above, c.UpTo = r.Uint(), r.Uint()
	for _, list := range [2]*[]uint64{&c.Passed, &c.Failed} {
		n := r.Count(1)
		if n == 0 {
			continue
		}
		*list = make([]uint64, n)
		last := c.Above
		for i := range *list {
			last += r.Uint()
			(*list)[i] = last
		}
	}
}
