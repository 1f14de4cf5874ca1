package jetlog_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/letters"
	"runnel/jetlog/retry"
)

// applyConsumer is apply for what concerns a consumer.
func (m *model) applyConsumer(c command.Command) string {
	switch c := c.(type) {
	case *command.ConsumerCreate:
		return m.createConsumer(c)
	case *command.AckDeadline:
		return m.ackDeadline()
	case *command.ConsumerDelete:
		consumer := m.consumers[c.Consumer]
		if consumer == nil {
			return "no 10014 "
		}
		delete(m.consumers, c.Consumer)
		gone := consumer.letters
		consumer.letters = nil
		n := m.dropUnneeded()
		return fmt.Sprintf("ok 0 -%d", n+m.release(consumer, gone))
	case *command.Deliver:
		if consumer := m.consumers[c.Consumer]; consumer != nil {
			return consumer.deliver(c)
		}
	case *command.Skip:
		if consumer := m.consumers[c.Consumer]; consumer != nil {
			return consumer.skip(c)
		}
	case *command.Ack:
		if consumer := m.consumers[c.Consumer]; consumer != nil {
			return consumer.ack(c)
		}
	case *command.GiveUp:
		if consumer := m.consumers[c.Consumer]; consumer != nil {
			a := &command.Ack{}
			for _, message := range c.Messages {
				a.Replies = append(a.Replies, command.Reply{Answer: command.Terminate, Sequence: message.Sequence})
			}
			return consumer.ack(a, c.Messages...)
		}
	case *command.Handed:
		if consumer := m.consumers[c.Consumer]; consumer != nil {
			return consumer.handed(c)
		}
	case *command.Reset:
		if consumer := m.consumers[c.Consumer]; consumer != nil {
			return consumer.reset(c)
		}
	}
	return "no 10014 "
}

// dropUnneeded removes what no consumer of an interest stream needs, and returns how much.
func (m *model) dropUnneeded() int {
	n := 0
	if m.cfg.Retention != config.InterestRetention {
		return 0
	}
	for _, seq := range m.ordered() {
		if !m.needed(seq) {
			m.remove(seq, jetlog.Acked)
			n++
		}
	}
	return n
}

func (m *model) needed(seq uint64) bool {
	for _, c := range m.consumers {
		if c.needs(m.live[seq]) {
			return true
		}
	}
	return false
}

// settled removes what a consumer has settled, if that is the rule, and returns how much.
func (m *model) settled(seqs []uint64) int {
	n := 0
	for _, seq := range seqs {
		if m.live[seq] == nil {
			continue
		}
		if m.cfg.Retention == config.WorkQueueRetention && !m.lettered(seq) || m.cfg.Retention == config.InterestRetention && !m.needed(seq) {
			m.remove(seq, jetlog.Acked)
			n++
		}
	}
	return n
}

func (m *model) createConsumer(c *command.ConsumerCreate) string {
	if old := m.consumers[c.Config.Name]; old != nil {
		begins := old.retry() == nil && !old.lettering()
		old.cfg = c.Config
		for _, w := range old.waiting {
			if old.retry() == nil {
				w.resting = false
			}
			if begins {
				w.first, w.last = m.clock, m.clock
			}
		}
		gone := old.letters
		if old.adoptLetters(); old.lettering() {
			gone = nil
		}
		for seq := range old.passed {
			if !old.matches(m.live[seq].subject) {
				delete(old.passed, seq)
				old.settleFloor()
			}
		}
		for seq := range old.lasts {
			if message := m.live[seq]; message == nil || !old.matches(message.subject) {
				delete(old.lasts, seq)
			}
		}
		released := m.release(old, gone)
		return fmt.Sprintf("ok 0 -%d", released+m.dropUnneeded())
	}
	n := &modelConsumer{
		m: m, name: c.Config.Name, cfg: c.Config, waiting: map[uint64]*modelDelivery{},
		exhausted: map[uint64]bool{}, lasts: map[uint64]bool{}, passed: map[uint64]bool{},
	}
	n.adoptLetters()
	var all, matching []uint64
	for _, seq := range m.ordered() {
		all = append(all, seq)
		if n.matches(m.live[seq].subject) {
			matching = append(matching, seq)
		}
	}
	start := m.last + 1
	switch c.Config.Deliver {
	case config.DeliverAll:
		if len(all) > 0 {
			start = all[0]
		}
	case config.DeliverLast:
		if len(matching) > 0 {
			start = matching[len(matching)-1]
		}
	case config.DeliverByStartSequence:
		start = c.Config.StartSequence
		if len(all) > 0 {
			start = max(start, all[0])
		} else {
			start = max(start, m.last+1)
		}
	case config.DeliverByStartTime:
		for _, seq := range slices.Backward(all) {
			if m.live[seq].time >= c.Config.StartTime.UnixNano() {
				start = seq
			}
		}
	case config.DeliverLastPerSubject:
		bySubject := map[string]uint64{}
		for _, seq := range matching {
			bySubject[m.live[seq].subject] = seq
		}
		for _, seq := range bySubject {
			n.lasts[seq] = true
			start = min(start, seq)
		}
		if len(n.lasts) > 0 {
			n.resume = m.last
		}
	}
	n.delivered.Stream, n.floor.Stream = start-1, start-1
	m.consumers[n.name] = n
	return "ok 0 -0"
}

func (c *modelConsumer) deliver(d *command.Deliver) string {
	if d.Incarnation != c.incarnation || d.From != c.delivered.Consumer+1 {
		return "no 10003 the consumer has begun again since"
	}
	for _, message := range d.Messages {
		if !message.Again && message.Sequence > c.delivered.Stream && c.cfg.Metadata[config.MetadataKey] != "" {
			return "no 10003 messages are not in order"
		}
	}
	var done []uint64
	for _, message := range d.Messages {
		c.delivered.Consumer++
		seq := message.Sequence
		if message.Again {
			if w := c.waiting[seq]; w != nil {
				w.count++
				w.last = c.m.clock
				w.deadline = c.m.clock + int64(c.wait(w.count))
				w.resting = false
				c.dequeue(seq)
			}
			continue
		}
		live := c.m.live[seq]
		wanted := live != nil && c.needs(live)
		c.delivered.Stream = max(c.delivered.Stream, seq)
		delete(c.passed, seq)
		switch {
		case !wanted:
		case c.cfg.Ack == config.AckNone:
			done = append(done, seq)
		default:
			c.waiting[seq] = &modelDelivery{c.delivered.Consumer, 1, c.m.clock + int64(c.wait(1)), c.m.clock, c.m.clock, false}
		}
	}
	if len(c.waiting) == 0 {
		c.settleFloor()
	}
	return fmt.Sprintf("ok 0 -%d", c.m.settled(done))
}

// skip passes some messages over, and is through with the others.
func (c *modelConsumer) skip(k *command.Skip) string {
	if k.Incarnation != c.incarnation || k.Above > c.delivered.Stream || k.UpTo > c.m.last {
		return "no 10003 the consumer has begun again since"
	}
	var done []uint64
	for _, seq := range c.m.ordered() {
		switch {
		case seq <= c.delivered.Stream || seq > k.UpTo || !c.awaits(c.m.live[seq]):
		case slices.Contains(k.Passed, seq):
			c.passed[seq] = true
		case slices.Contains(k.Failed, seq) && c.lettering():
			c.bury(seq, letters.Filter, "")
		default:
			delete(c.lasts, seq) // a reset does not bring it again
			done = append(done, seq)
		}
	}
	if k.UpTo > c.delivered.Stream {
		c.delivered.Stream = k.UpTo
		c.settleFloor()
	}
	return fmt.Sprintf("ok 0 -%d", c.m.settled(done))
}

func (c *modelConsumer) wait(n int) time.Duration {
	if b := c.cfg.Backoff; len(b) > 0 {
		return b[min(n, len(b))-1]
	}
	return c.cfg.AckWait
}

func (c *modelConsumer) dequeue(seq uint64) {
	c.queue = slices.DeleteFunc(c.queue, func(q uint64) bool { return q == seq })
}

func (c *modelConsumer) retry() *retry.Policy {
	p, err := retry.Parse(c.cfg.Metadata[config.MetadataRetry])
	if err != nil {
		return nil
	}
	return &p
}

func (c *modelConsumer) spent(seq uint64) bool {
	w := c.waiting[seq]
	if c.cfg.MaxDeliver > 0 && w.count >= c.cfg.MaxDeliver {
		return true
	}
	return c.retry() != nil && c.retry().Exhausted(w.count, time.Duration(c.m.clock-w.first))
}

// failed lets a message rest that failed, if there is a policy that says how long.
func (c *modelConsumer) failed(seq uint64) string {
	if c.retry() == nil || c.spent(seq) {
		return c.again(seq)
	}
	w := c.waiting[seq]
	w.resting = true
	w.deadline = c.m.clock + int64(c.retry().Delay(w.count, seq))
	c.dequeue(seq)
	return ""
}

// again queues a delivery, or gives it up. It returns what is said about that.
func (c *modelConsumer) again(seq uint64) string {
	if c.spent(seq) {
		if c.lettering() {
			reason := letters.RetryLimit
			if c.cfg.MaxDeliver > 0 && c.waiting[seq].count >= c.cfg.MaxDeliver {
				reason = letters.MaxDeliver
			}
			c.bury(seq, reason, "")
		} else {
			delete(c.waiting, seq)
			c.dequeue(seq)
			c.exhausted[seq] = true
		}
		return fmt.Sprintf(" %s:%d", c.name, seq)
	}
	if !slices.Contains(c.queue, seq) {
		c.queue = append(c.queue, seq)
	}
	return ""
}

func (m *model) ackDeadline() string {
	var text strings.Builder
	text.WriteString("ok 0 -0")
	for _, name := range slices.Sorted(maps.Keys(m.consumers)) {
		c := m.consumers[name]
		for _, seq := range c.due(m.clock) {
			if c.waiting[seq].resting {
				text.WriteString(c.again(seq))
			} else {
				text.WriteString(c.failed(seq))
			}
		}
	}
	return text.String()
}

func (c *modelConsumer) ack(a *command.Ack, why ...command.GivenUp) string {
	var done []uint64
	var text strings.Builder
	for i, r := range a.Replies {
		w := c.waiting[r.Sequence]
		switch {
		case r.Answer == command.Terminate && c.lettering():
			if w != nil || c.passed[r.Sequence] {
				delete(c.passed, r.Sequence)
				text := ""
				if why != nil {
					text = why[i].Text
				}
				c.bury(r.Sequence, letters.Terminated, text)
				c.settleFloor()
			}
		case r.Answer == command.Terminate && c.cfg.Metadata[config.MetadataKeyFailed] == "block":
			if w != nil {
				delete(c.waiting, r.Sequence)
				c.dequeue(r.Sequence)
				c.exhausted[r.Sequence] = true
				c.settleFloor()
			}
		case r.Answer == command.Done || r.Answer == command.Terminate:
			before := len(done)
			known := slices.Concat(slices.Collect(maps.Keys(c.waiting)), slices.Collect(maps.Keys(c.exhausted)), slices.Collect(maps.Keys(c.passed)))
			for _, seq := range known {
				if seq == r.Sequence || seq < r.Sequence && c.cfg.Ack == config.AckAll && r.Answer == command.Done {
					delete(c.waiting, seq)
					delete(c.exhausted, seq)
					delete(c.passed, seq)
					delete(c.lasts, seq) // a reset does not bring it again
					c.dequeue(seq)
					done = append(done, seq)
				}
			}
			if len(done) > before {
				c.settleFloor()
			}
		case w == nil:
		case r.Answer == command.Progress:
			w.deadline = c.m.clock + int64(c.wait(w.count))
			w.resting = false
			c.dequeue(r.Sequence)
		case r.Delay > 0:
			w.deadline = c.m.clock + int64(r.Delay)
			w.resting = c.retry() != nil
			c.dequeue(r.Sequence)
		default:
			text.WriteString(c.failed(r.Sequence))
		}
	}
	return fmt.Sprintf("ok 0 -%d%s", c.m.settled(done), text.String())
}

func (c *modelConsumer) reset(r *command.Reset) string {
	seq := r.Sequence
	if seq == 0 {
		seq = c.floor.Stream + 1
	}
	for old := range c.waiting {
		if old >= seq && old <= c.resume {
			c.lasts[old] = true
		}
	}
	for old := range c.exhausted {
		if old >= seq {
			delete(c.exhausted, old)
			if old <= c.resume {
				c.lasts[old] = true
			}
		}
	}
	for old := range c.passed {
		if old >= seq && old <= c.resume {
			c.lasts[old] = true
		}
	}
	clear(c.passed)
	for old := range c.letters {
		if old >= seq {
			if old <= c.resume {
				c.lasts[old] = true
			}
			if c.m.live[old].kept == nil {
				delete(c.letters, old)
			}
		}
	}
	c.delivered = jetlog.Position{Stream: seq - 1}
	c.floor = c.delivered
	c.waiting, c.queue = map[uint64]*modelDelivery{}, nil
	return fmt.Sprintf("ok %d -%d", seq, c.m.dropUnneeded())
}

// clone returns a copy that the original can be put back to.
func (c *modelConsumer) clone() *modelConsumer {
	other := *c
	other.waiting, other.exhausted, other.lasts = map[uint64]*modelDelivery{}, maps.Clone(c.exhausted), maps.Clone(c.lasts)
	for seq, d := range c.waiting {
		delivery := *d
		other.waiting[seq] = &delivery
	}
	other.queue, other.passed, other.letters = slices.Clone(c.queue), maps.Clone(c.passed), maps.Clone(c.letters)
	return &other
}
