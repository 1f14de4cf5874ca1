package jetlog_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/causes"
	"runnel/jetlog/command"
)

// batch publishes one member after the other, and goes back to where it was when one is refused.
func (m *model) batch(c *command.Batch) string {
	var cause *causes.Cause
	if n := len(c.Members); n > 0 {
		cause = c.Members[n-1].Cause
	}
	if r := m.caused(cause); r != "" {
		return r
	}
	owned := m.owned(cause)
	m.answers(cause, owned)
	defer m.answers(nil, false)
	before := *m
	before.live, before.ids = maps.Clone(m.live), maps.Clone(m.ids)
	for seq, message := range m.live {
		same := *message
		if same.kept != nil {
			kept := *same.kept
			same.kept = &kept
		}
		before.live[seq] = &same
	}
	before.schedules = maps.Clone(m.schedules)
	before.removed, before.consumers = maps.Clone(m.removed), map[string]*modelConsumer{}
	for name, consumer := range m.consumers {
		before.consumers[name] = consumer.clone()
	}
	written, ids := map[string]bool{}, map[string]bool{}
	for i := range c.Members {
		p := c.Members[i]
		p.Time = m.clock
		if text := m.member(&p, &before, written, ids, i == 0); text != "" {
			*m = before
			return text
		}
		written[p.Subject] = true
		ids[m.header(&p, "Nats-Msg-Id")] = true
	}
	if len(c.Members) == 0 {
		return "no 10176 "
	}
	m.owe(cause, owned)
	return fmt.Sprintf("ok %d -%d", m.last, m.gone()-before.gone())
}

// member publishes a member, and returns why it is refused, empty if it is not.
func (m *model) member(p *command.Publish, before *model, written, ids map[string]bool, first bool) string {
	if id := m.header(p, "Nats-Msg-Id"); id != "" {
		seen, ok := before.ids[id]
		if ids[id] || ok && m.clock-seen.time < int64(m.cfg.DuplicateWindow) {
			return "no 10201 "
		}
	}
	if m.header(p, "Nats-TTL") != "" && !m.cfg.AllowTTL {
		return "no 10166 "
	}
	if want := m.header(p, "Nats-Expected-Last-Subject-Sequence"); want != "" {
		if written[p.Subject] {
			return "no 10164 "
		}
		if last := before.lastOn(p.Subject, before.last); want != strconv.FormatUint(last, 10) {
			return fmt.Sprintf("no 10071 %d", last)
		}
	}
	if want := m.header(p, "Nats-Expected-Last-Sequence"); want != "" {
		if want != strconv.FormatUint(m.last, 10) {
			return fmt.Sprintf("no 10071 %d", m.last)
		}
		if !first {
			return "no 10164 "
		}
	}
	if m.header(p, "Nats-Expected-Last-Msg-Id") != "" {
		return "no 10177 Nats-Expected-Last-Msg-Id"
	}
	if code := m.schedule(p); code != "" {
		return code
	}
	rollup := m.header(p, "Nats-Rollup")
	switch {
	case rollup != "" && !m.cfg.AllowRollup:
		return "no 10111 rollup not permitted"
	case rollup == "all" && !first:
		return "no 10111 batch rollup all invalid"
	case rollup == "sub" && written[p.Subject]:
		return "no 10111 batch rollup sub invalid"
	}
	m.ends = m.header(p, "Nats-Scheduler")
	if text := m.store(m.message(p), m.header(p, "Nats-Msg-Id"), rollup); strings.HasPrefix(text, "no") {
		return text
	}
	return ""
}

// lastOn returns the last sequence <= upTo on a subject.
func (m *model) lastOn(subject string, upTo uint64) uint64 {
	last := uint64(0)
	for seq, message := range m.live {
		if message.subject == subject && seq <= upTo {
			last = max(last, seq)
		}
	}
	return last
}

// gone returns how many messages have been removed, without those that were never there.
func (m *model) gone() int {
	n := 0
	for reason, removed := range m.removed {
		if reason != jetlog.NoInterest && reason != jetlog.Skipped {
			n += removed
		}
	}
	return n
}

// copied stores messages as they are elsewhere, until one does not fit.
func (m *model) copied(c *command.Copy) string {
	next := m.last + 1
	ok := c.From == next
	for i := range c.Messages {
		ok = ok && c.Messages[i].Sequence >= next
		next = c.Messages[i].Sequence + 1
	}
	if !ok || c.Through != 0 && c.Through+1 < next {
		return "no 10003 messages are not in order"
	}
	gone := m.gone()
	defer m.lateLetters(m.lettersUpTo())
	for i := range c.Messages {
		from := &c.Messages[i]
		p := &command.Publish{Subject: from.Subject, Header: from.Header, Payload: from.Payload}
		at := max(m.lastTime, from.Time)
		m.clock = max(m.clock, at)
		message := &modelMessage{
			seq: from.Sequence, time: at, subject: from.Subject, header: string(from.Header), payload: string(from.Payload),
		}
		if ttl := m.header(p, "Nats-TTL"); ttl != "" && m.cfg.AllowTTL {
			message.expires = jetlog.Never
			if n, err := strconv.Atoi(ttl); err == nil {
				message.expires = message.time + int64(n)*int64(time.Second)
			}
		}
		rollup := m.header(p, "Nats-Rollup")
		if !m.cfg.AllowRollup {
			rollup = ""
		}
		gap := int(from.Sequence - m.last - 1)
		if text := m.store(message, m.header(p, "Nats-Msg-Id"), rollup); strings.HasPrefix(text, "no") {
			return text
		}
		m.published += gap
		m.removed[jetlog.Skipped] += gap
	}
	if c.Through > m.last {
		gap := int(c.Through - m.last)
		m.published += gap
		m.removed[jetlog.Skipped] += gap
		m.last = c.Through
	}
	return fmt.Sprintf("ok %d -%d", m.last, m.gone()-gone)
}

// schedule returns why a message may not be a schedule or end one, empty if it may. A schedule rolls up its
// subject.
func (m *model) schedule(c *command.Publish) string {
	scheduler := m.header(c, "Nats-Scheduler")
	if m.header(c, "Nats-Schedule") == "" && scheduler == "" {
		return ""
	}
	if !m.cfg.AllowSchedules {
		return "no 10188 "
	}
	if m.header(c, "Nats-Schedule") != "" {
		switch {
		case m.header(c, "Nats-Schedule-Target") == c.Subject:
			return "no 10190 "
		case m.header(c, "Nats-Rollup") == "all":
			return "no 10192 "
		}
		c.Header = headers.Set(c.Header, "Nats-Rollup", "sub")
	}
	known := m.live[m.schedules[scheduler].Sequence] != nil
	if scheduler != "" && (scheduler == c.Subject || !known && m.lastOn(scheduler, m.last) != 0) {
		return "no 10212 "
	}
	return ""
}

// fire stores what a schedule has come to.
func (m *model) fire(c *command.Fire) string {
	if d := m.schedules[c.Schedule]; d.Sequence != c.Sequence || d.At != c.Due {
		return "no 10003 the schedule is another one by now"
	}
	p := &command.Publish{Time: c.Time, Subject: c.Subject, Header: c.Header, Payload: c.Payload}
	p.Header = headers.Delete(p.Header, "Nats-Schedule-Next")
	message := m.message(p)
	message.header, message.fire = string(c.Header), 0
	if c.Next == 0 {
		m.ends = c.Schedule
	}
	text := m.store(message, "", m.header(p, "Nats-Rollup"))
	if d, ok := m.schedules[c.Schedule]; ok {
		d.At = c.Next
		m.schedules[c.Schedule] = d
	}
	return text
}
