package jetlog

import (
	"runnel/jetlog/codec"
	"runnel/jetlog/config"
	"runnel/jetlog/notes"
)

// adopt takes over what the metadata of the configuration ask for. Where notes begin to be needed, what waits already
// counts as delivered first now.
func (c *Consumer) adopt(own config.Own, now int64) {
	c.retry = own.Retry
	if own.Retry == nil {
		c.acks.notes = nil
		return
	}
	if c.acks.notes == nil {
		c.acks.notes = notes.New()
	}
	for i := range c.acks.list {
		if d := &c.acks.list[i]; d.count > 0 {
			if _, known := c.acks.notes.Get(d.seq); !known {
				c.acks.notes.Begin(d.seq, now)
			}
		}
	}
}

// appendNotes appends the notes of a consumer that has some, in the order of their sequences.
func (c *Consumer) appendNotes(out []byte) []byte {
	out = codec.AppendBytes(out, c.name)
	out = codec.AppendUint(out, uint64(c.acks.live))
	for i := range c.acks.list {
		if d := &c.acks.list[i]; d.count > 0 {
			n, _ := c.acks.notes.Get(d.seq)
			out = codec.AppendBool(codec.AppendInt(out, n.First), n.Resting)
		}
	}
	return out
}

// readNotes reads what appendNotes has written, behind the name, and reports whether it fits.
func (c *Consumer) readNotes(r *codec.Reader) bool {
	n := r.Count(2)
	if c.acks.notes == nil || n != c.acks.live {
		return false
	}
	for i := range c.acks.list {
		if d := &c.acks.list[i]; d.count > 0 {
			c.acks.notes.Begin(d.seq, r.Int())
			c.acks.notes.Rest(d.seq, r.Bool())
		}
	}
	return true
}

// noting returns the consumers with notes.
func (s *Stream) noting() []*Consumer {
	var list []*Consumer
	for _, c := range s.consumers {
		if c.acks.notes != nil {
			list = append(list, c)
		}
	}
	return list
}

// appendAllNotes appends the notes of all consumers that have some, by name.
func (s *Stream) appendAllNotes(out []byte) []byte {
	list := s.noting()
	out = codec.AppendUint(out, uint64(len(list)))
	for _, c := range list {
		out = c.appendNotes(out)
	}
	return out
}

// readAllNotes reads what appendAllNotes has written, and reports whether it fits the consumers.
func (s *Stream) readAllNotes(r *codec.Reader) bool {
	list, sound := s.noting(), true
	n := r.Count(2)
	if n != len(list) {
		return false
	}
	for i := range n {
		name := r.String()
		if list[i].name != name {
			return false
		}
		sound = list[i].readNotes(r) && sound
	}
	return sound
}

// checkNotes verifies the notes of a consumer.
func (c *Consumer) checkNotes(wrong func(string, ...any)) {
	n, resting := c.acks.notes, 0
	for i := range c.acks.list {
		if d := &c.acks.list[i]; d.count > 0 && n != nil {
			v, known := n.Get(d.seq)
			if !known {
				wrong("message %d waits for an answer, but is not noted", d.seq)
			}
			if v.Resting {
				resting++
			}
		}
	}
	if n != nil && n.Len() != c.acks.live || n.Resting() != resting {
		wrong("%d are noted and %d rest, want %d and %d", n.Len(), n.Resting(), c.acks.live, resting)
	}
}
