package jetlog

import (
	"runnel/jetlog/codec"
	"runnel/jetlog/config"
)

// note is what is known of a delivery that waits for an answer, beside what every consumer knows, where a policy asks
// for it.
type note struct {
	// first is when the message was first delivered.
	first int64
	// resting is set while nobody has the message: it comes again at its deadline, and until then takes no place of
	// those that may wait for an answer.
	resting bool
}

// notes are those of a consumer, by sequence. The nil notes of a consumer without a policy stay empty.
//
// Invariants: there is one for exactly each delivery that waits for an answer; resting counts those that rest.
type notes struct {
	of      map[uint64]note
	resting int
}

// newNotes returns what a consumer of this configuration needs: nil if its policies need none.
func newNotes(own config.Own) *notes {
	if own.Retry == nil {
		return nil
	}
	return &notes{of: map[uint64]note{}}
}

// begin notes the first delivery of a message.
func (n *notes) begin(seq uint64, now int64) {
	if n != nil {
		n.of[seq] = note{first: now}
	}
}

// rest sets whether a message rests.
func (n *notes) rest(seq uint64, resting bool) {
	if n == nil {
		return
	}
	v := n.of[seq]
	if v.resting == resting {
		return
	}
	v.resting = resting
	n.of[seq] = v
	if resting {
		n.resting++
	} else {
		n.resting--
	}
}

// end forgets a message.
func (n *notes) end(seq uint64) {
	if n != nil {
		n.rest(seq, false)
		delete(n.of, seq)
	}
}

// get returns what is noted of a message.
func (n *notes) get(seq uint64) note {
	if n == nil {
		return note{}
	}
	return n.of[seq]
}

// atRest returns how many messages rest.
func (n *notes) atRest() int {
	if n == nil {
		return 0
	}
	return n.resting
}

// adopt takes over what the metadata of the configuration ask for. Where notes begin to be needed, what waits already
// counts as delivered first now.
func (c *Consumer) adopt(own config.Own, now int64) {
	c.retry = own.Retry
	kept := newNotes(own)
	if old := c.acks.notes; old != nil && kept != nil {
		kept = old
	}
	c.acks.notes = kept
	if kept == nil {
		return
	}
	for i := range c.acks.list {
		if d := &c.acks.list[i]; d.count > 0 {
			if _, known := kept.of[d.seq]; !known {
				kept.begin(d.seq, now)
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
			v := c.acks.notes.get(d.seq)
			out = codec.AppendBool(codec.AppendInt(out, v.first), v.resting)
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
			c.acks.notes.begin(d.seq, r.Int())
			c.acks.notes.rest(d.seq, r.Bool())
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
	n := c.acks.notes
	if n == nil {
		return
	}
	resting := 0
	for seq, v := range n.of {
		if c.acks.find(seq) == nil {
			wrong("message %d is noted, but waits for no answer", seq)
		}
		if v.resting {
			resting++
		}
	}
	if len(n.of) != c.acks.live || resting != n.resting {
		wrong("%d are noted and %d rest, want %d and %d", len(n.of), n.resting, c.acks.live, resting)
	}
}
