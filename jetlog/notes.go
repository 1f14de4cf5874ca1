package jetlog

import (
	"runnel/jetlog/codec"
	"runnel/jetlog/config"
)

// adopt takes over what the metadata of the configuration ask for. The box is a number that no box of letters had before.
func (c *Consumer) adopt(own config.Own, now int64, box uint64) {
	c.retry, c.keyed, c.blocks = own.Retry, own.Key != nil, own.Blocks
	c.ahead = c.keyed || own.Filter != nil
	c.acks.Note(own.Retry != nil || own.DeadLetter != "", now)
	if own.Retry == nil {
		c.acks.Wake()
	}
	c.keepLetters(own.DeadLetter != "", now, box)
}

// noting returns the consumers with notes.
func (s *Stream) noting() []*Consumer {
	var list []*Consumer
	for _, c := range s.consumers {
		if c.acks.Noting() {
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
		out = c.acks.AppendNotes(codec.AppendBytes(out, c.name))
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
		sound = list[i].acks.RestoreNotes(r) && sound
	}
	return sound
}
