package delays

import (
	"fmt"
	"strings"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/own"
	"runnel/subjects"
)

// List answers a call that looks at what is delayed for a stream, page by page. The stream of the call is the companion; there may be
// none, since nothing was delayed yet.
func List(c *own.Call) (api.Answer, error) {
	var q api.DelayRequest
	if err := c.Decode(&q); err != nil {
		return nil, err
	}
	out := &api.DelayListAnswer{Delayed: []api.Delayed{}}
	if c.Stream.Log == nil {
		return out, nil
	}
	w, err := wantedOf(c, q.Filter)
	if err != nil {
		return nil, err
	}
	err = c.Stream.Log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		out.Messages, out.First = s.State().Messages, nil
		if next := s.NextSchedule(); next != 0 {
			at := time.Unix(0, next).UTC()
			out.First = &at
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if q.Limit <= 0 || q.Limit > api.DelayMax {
		q.Limit = api.DelayMax
	}
	out.Next, err = c.Look(q.Sequence, w.subjects(true), func(m *jetlog.Message) bool {
		if w.means(m) {
			out.Delayed = append(out.Delayed, w.show(m))
		}
		return len(out.Delayed) < q.Limit
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Cancel answers a call that deletes what is delayed. Whether a message that waits is cancelled or gets due the log of the companion
// decides: it is one or the other. Once it is due it is on its way, so that it is spared unless the call says otherwise. To cancel everything is asked
// for in so many words: an empty request may be a mistake.
func Cancel(c *own.Call) (api.Answer, error) {
	var q api.DelayCancelRequest
	if err := c.Decode(&q); err != nil {
		return nil, err
	}
	switch filtered := q.Filter != (api.DelayFilter{}); {
	case q.Sequence == 0 && !filtered && !q.All:
		return nil, api.NewError(api.DelayUnknown, "say which: seq, filter or all")
	case q.Sequence != 0 && (filtered || q.All), filtered && q.All:
		return nil, api.NewError(api.DelayUnknown, "seq, filter and all exclude each other: leave the others out")
	case c.Stream.Log == nil && q.Sequence != 0:
		return nil, notWaiting(q.Sequence)
	case c.Stream.Log == nil:
		return &api.DelayCancelAnswer{}, nil
	}
	w, err := wantedOf(c, q.Filter)
	if err != nil {
		return nil, err
	}
	if q.Sequence != 0 {
		return w.cancelOne(c, &q)
	}
	var list []uint64
	next, err := c.Look(q.From, w.subjects(q.Due), func(m *jetlog.Message) bool {
		if w.means(m) {
			list = append(list, m.Sequence)
		}
		return true
	})
	out := &api.DelayCancelAnswer{Cancelled: len(list), Next: next}
	if err == nil && !q.DryRun {
		out.Cancelled, err = c.Remove(list)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// cancelOne cancels the message with the sequence that is asked for.
func (w *wanted) cancelOne(c *own.Call, q *api.DelayCancelRequest) (api.Answer, error) {
	m, err := c.Stream.Log.Load(q.Sequence)
	if err != nil {
		return nil, err
	}
	_, due, known := w.read(m.Subject)
	if m.Sequence == 0 || !known || due && !q.Due {
		return nil, notWaiting(q.Sequence)
	}
	if !q.DryRun {
		n, err := c.Remove([]uint64{q.Sequence})
		switch {
		case err != nil:
			return nil, err
		case n == 0:
			return nil, notWaiting(q.Sequence)
		}
	}
	return &api.DelayCancelAnswer{Cancelled: 1}, nil
}

// notWaiting is the refusal to cancel what does not wait.
func notWaiting(seq uint64) *api.Error {
	return api.NewError(api.DelayUnknown, fmt.Sprintf("message %d does not wait: its time has come, or it was cancelled, or never there", seq))
}

// wanted is which messages of a companion a call means.
type wanted struct {
	prefix string // of the companion's subjects
	filter api.DelayFilter
}

// wantedOf reads what a call means. It refuses a subject that is no pattern.
func wantedOf(c *own.Call, f api.DelayFilter) (*wanted, error) {
	if f.Subject != "" && !subjects.ValidPattern(f.Subject) {
		return nil, api.NewError(api.DelayUnknown, fmt.Sprintf("filter: %q is no pattern of subjects", f.Subject))
	}
	return &wanted{prefix: SubjectPrefix + Target(c.Stream.Log.Name()), filter: f}, nil
}

// subjects returns what is looked for in the companion: those that wait, or also those that are due. The subjects there are indexed, so that
// a filter of one subject does not look at all others.
func (w *wanted) subjects(due bool) jetlog.Filter {
	pattern := w.filter.Subject
	if pattern == "" {
		pattern = ">"
	}
	list := jetlog.Filter{w.prefix + waitToken + "*." + pattern}
	if due {
		list = append(list, w.prefix+dueToken+pattern)
	}
	return list
}

// means reports whether a message is meant whose subject is looked for.
func (w *wanted) means(m *jetlog.Message) bool {
	return w.filter.ID == "" || idOf(m.Header) == w.filter.ID
}

// read returns the subject that a message is for, by that of the companion, and whether it is due. It is not known if the message
// is not one that is delayed.
func (w *wanted) read(subject string) (target string, due, known bool) {
	if target, due = strings.CutPrefix(subject, w.prefix+dueToken); due {
		return target, true, true
	}
	if target, known = strings.CutPrefix(subject, w.prefix+waitToken); known {
		_, target, known = strings.Cut(target, ".") // behind its id
	}
	return target, false, known
}

// show tells of a message.
func (w *wanted) show(m *jetlog.Message) api.Delayed {
	subject, due, _ := w.read(m.Subject)
	since := time.Unix(0, m.Time).UTC()
	d := api.Delayed{Sequence: m.Sequence, Subject: subject, State: api.DelayWaits, At: since, Time: since, ID: idOf(m.Header)}
	if asked, ok := headers.Get(m.Header, scheduleHeader); ok && !due {
		d.At, _ = time.Parse(time.RFC3339Nano, strings.TrimPrefix(string(asked), atPrefix))
	}
	if due {
		d.State = api.DelayDue
	}
	_, rest := unwrap("", "", m.Header)
	d.Size = len(rest) + len(m.Payload)
	return d
}
