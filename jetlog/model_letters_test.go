package jetlog_test

import (
	"fmt"
	"maps"
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/letters"
)

// modelKept says why a message would have gone, if it were not for a letter.
type modelKept struct {
	reason jetlog.Reason
	// ended is set when its own time to live is over.
	ended bool
}

func (c *modelConsumer) lettering() bool { return c.cfg.Metadata[config.MetadataDeadLetter] != "" }

// bury makes a letter of a message, if there is none.
func (c *modelConsumer) bury(seq uint64, reason letters.Reason, text string) {
	l := letters.Letter{Sequence: seq, Consumer: c.delivered.Consumer + 1, Reason: reason, Text: text, Time: c.m.clock}
	if w := c.waiting[seq]; w != nil {
		l.Consumer, l.Deliveries, l.First, l.Last = w.consumer, uint64(w.count), w.first, w.last
		delete(c.waiting, seq)
		c.dequeue(seq)
	}
	if _, there := c.letters[seq]; !there {
		c.lastLetter++
		l.Number = c.lastLetter
		c.letters[seq] = l
	}
}

// adoptLetters follows a change of the configuration.
func (c *modelConsumer) adoptLetters() {
	switch {
	case c.lettering() && c.letters == nil:
		c.letters, c.lastLetter = map[uint64]letters.Letter{}, 0
		for _, w := range c.waiting {
			w.last = w.first // a snapshot did not know better
		}
		for _, seq := range slices.Sorted(maps.Keys(c.exhausted)) {
			c.bury(seq, letters.MaxDeliver, "")
		}
		clear(c.exhausted)
	case !c.lettering() && c.letters != nil:
		for seq := range c.letters {
			if seq <= c.delivered.Stream && c.waiting[seq] == nil {
				c.exhausted[seq] = true
			}
		}
		c.letters = nil
		c.settleFloor()
	}
}

// keeps reports whether a message stays although an age or a limit removes it, for those that have a letter of it, or get
// one now.
func (m *model) keeps(seq uint64, reason jetlog.Reason) bool {
	switch reason {
	case jetlog.TTL, jetlog.LimitAge, jetlog.LimitMessages, jetlog.LimitBytes, jetlog.LimitSubject:
	default:
		return false
	}
	kept := false
	for _, c := range m.consumers {
		_, letter := c.letters[seq]
		if c.lettering() && c.waiting[seq] != nil && !letter && c.answered != seq {
			c.bury(seq, letters.Expired, "")
			c.settleFloor()
			letter = true
		}
		kept = kept || letter
	}
	if !kept {
		return false
	}
	message := m.live[seq]
	if message.kept == nil {
		message.kept = &modelKept{reason: reason}
	}
	message.kept.ended = message.kept.ended || reason == jetlog.TTL
	return true
}

// lettersUpTo returns the last number of every consumer's letters.
func (m *model) lettersUpTo() map[string]uint64 {
	last := map[string]uint64{}
	for name, c := range m.consumers {
		last[name] = c.lastLetter
	}
	return last
}

// lateLetters sets the time of letters behind given ones to that at which all messages of a copy have come.
func (m *model) lateLetters(behind map[string]uint64) {
	for name, c := range m.consumers {
		for seq, l := range c.letters {
			if l.Number > behind[name] {
				l.Time = m.clock
				c.letters[seq] = l
			}
		}
	}
}

// inOrder gives the letters behind given ones the numbers in the order of their messages: a plan is in order.
func (m *model) inOrder(behind map[string]uint64) {
	for name, c := range m.consumers {
		number := behind[name]
		for _, seq := range slices.Sorted(maps.Keys(c.letters)) {
			if l := c.letters[seq]; l.Number > behind[name] {
				number++
				l.Number = number
				c.letters[seq] = l
			}
		}
	}
}

// lettered reports whether somebody has a letter of a message.
func (m *model) lettered(seq uint64) bool {
	for _, c := range m.consumers {
		if _, letter := c.letters[seq]; letter {
			return true
		}
	}
	return false
}

// release removes what was kept for letters that have gone, those of a consumer, and returns how much.
func (m *model) release(but *modelConsumer, gone map[uint64]letters.Letter) int {
	n := 0
	for _, seq := range slices.Sorted(maps.Keys(gone)) {
		message, letter := m.live[seq], m.lettered(seq)
		if message == nil || message.kept == nil {
			continue
		}
		for _, c := range m.consumers {
			if _, has := c.letters[seq]; !has && c != but && c.lettering() && c.waiting[seq] != nil {
				c.bury(seq, letters.Expired, "")
				c.settleFloor()
				letter = true
			}
		}
		if !letter {
			m.erase(seq, message.kept.reason)
			n++
		}
	}
	return n
}

// counted is how many messages limits count, and their bytes.
func (m *model) counted() (messages, bytes int) {
	for _, message := range m.live {
		if message.kept == nil {
			messages++
			bytes += m.bytes(message)
		}
	}
	return messages, bytes
}

func (c *modelConsumer) handed(h *command.Handed) string {
	if !c.lettering() || h.Box != c.box {
		return "no 10003 the letters are of another time"
	}
	var done []uint64
	gone := map[uint64]letters.Letter{}
	for seq, l := range c.letters {
		if l.Number <= h.UpTo {
			gone[seq] = l
			delete(c.letters, seq)
			delete(c.lasts, seq)
			if c.m.live[seq].kept == nil {
				done = append(done, seq)
			}
		}
	}
	c.settleFloor()
	n := c.m.release(c, gone)
	return fmt.Sprintf("ok 0 -%d", n+c.m.settled(done))
}

// shownLetters are the letters in order.
func shownLetters(list []letters.Letter) string {
	slices.SortFunc(list, func(a, b letters.Letter) int { return int(a.Number) - int(b.Number) })
	return fmt.Sprint(list)
}

func lettersOf(b *letters.Box) (list []letters.Letter) {
	for l := range b.All {
		list = append(list, *l)
	}
	return list
}

// lettersCommand returns a command about letters, nil if there can be none.
func (g *generator) lettersCommand(c *jetlog.Consumer) command.Command {
	switch box := c.Letters(); {
	case box == nil:
		return nil
	case g.chance(50):
		h := &command.Handed{Time: g.clock, Consumer: c.Name(), Box: box.ID(), UpTo: box.Last() - min(box.Last(), uint64(g.rng.IntN(4)))}
		if g.chance(3) {
			h.Box++
		}
		return h
	}
	give := &command.GiveUp{Time: g.clock, Consumer: c.Name()}
	for seq := uint64(1); seq <= g.model.last; seq++ {
		if c.Deliveries(seq) > 0 && g.chance(30) || g.chance(2) {
			give.Messages = append(give.Messages, command.GivenUp{Sequence: seq, Text: g.one("", "no such order", "why")})
		}
	}
	return give
}
