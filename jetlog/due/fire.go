package due

import (
	"time"

	"runnel/jetlog/body"
	"runnel/jetlog/command"
	"runnel/jetlog/schedule"
)

// Fire returns the command that carries a schedule out, which whoever leads the stream proposes. It asks
// the data of time zones, so that it is not for Apply. The error is schedule.ErrZone when this machine no
// longer knows the zone: then it is for later, or for another machine.
func Fire(d Due, now int64, m body.Messages) (*command.Fire, error) {
	message, err := m.Load(d.Sequence)
	if err != nil {
		return nil, err
	}
	asked := schedule.Read(message.Header)
	next, again, err := asked.Next(time.Unix(0, d.At).UTC(), time.Unix(0, now).UTC())
	if err != nil {
		return nil, err
	}
	c := &command.Fire{Time: now, Schedule: d.Subject, Sequence: d.Sequence, Due: d.At, Subject: asked.Target, Payload: message.Payload}
	if again {
		c.Next = next.UnixNano()
	} else {
		next = time.Time{}
	}
	from := message
	if asked.Source != "" {
		state, err := m.Subject(asked.Source)
		if err != nil {
			return nil, err
		}
		if state.Count > 0 {
			if from, err = m.Load(state.Last); err != nil {
				return nil, err
			}
		}
	}
	c.Header, c.Payload = asked.Generated(d.Subject, from.Header, next), from.Payload
	return c, nil
}

// FirstFire returns the Fire of a Publish with the header block that is proposed now.
func FirstFire(header []byte, now int64) int64 {
	asked := schedule.Read(header)
	if asked.Pattern == "" {
		return 0
	}
	first, ok, err := asked.First(time.Unix(0, now).UTC())
	switch {
	case err != nil:
		return command.UnknownZone
	case !ok:
		return 0
	}
	return max(first.UnixNano(), 1)
}
