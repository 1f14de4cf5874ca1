// Package dlq answers calls about dead-letter streams: which there are, what is in them, and that some of it is to go. A dead
// letter is a message that says so in its header (package deadletters); other messages of the stream are left alone.
//
// Nothing here consumes anything, nor keeps a state of its own: what is answered is read of the streams when it is asked. Putting back is
// done by package redrive.
package dlq

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/own"
	"runnel/server/jetstream/redrive"
)

// answerBytes bounds what an answer has.
const answerBytes = 512 << 10

// List answers a call about all streams of an account. Each server tells of those that it leads, from both ends: who leads a
// stream knows what its consumers have given up and to whom, and who leads a dead-letter stream knows what that has.
func List() own.Gatherer { return own.Gatherer{Part: partOf, Join: join} }

// partOf tells of the call's streams: those that have dead letters, and those that their consumers give up into, which may be led
// elsewhere: of these it is only known what waits.
func partOf(c *own.Call) (any, error) {
	var q api.DeadListRequest
	if err := c.Decode(&q); err != nil {
		return nil, err
	}
	known := map[string]*api.DeadStreamInfo{}
	of := func(name string) *api.DeadStreamInfo {
		if known[name] == nil {
			known[name] = &api.DeadStreamInfo{Stream: name}
		}
		return known[name]
	}
	for _, s := range c.Streams {
		name := s.Log.Name()
		if q.ConsumersOnly {
			// what streams have is not asked for, and costs a look at a message of each
		} else if shown, has := shownOf(s, c.Now); has {
			of(name).Messages, of(name).Oldest, of(name).Seconds = shown.Messages, shown.Oldest, shown.Seconds
		}
		err := s.Log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
			for _, consumer := range state.Consumers() {
				if target := consumer.DeadLetter(); target != "" {
					of(target).Waiting += consumer.Letters().Len()
					of(target).Consumers = append(of(target).Consumers, name+"."+consumer.Name())
				}
			}
			return nil
		})
		if err != nil {
			continue // it is going away
		}
	}
	return sorted(known), nil
}

// sorted returns streams by name, so that every answer has the same order.
func sorted(known map[string]*api.DeadStreamInfo) []*api.DeadStreamInfo {
	list := make([]*api.DeadStreamInfo, 0, len(known))
	for _, s := range known {
		slices.Sort(s.Consumers)
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *api.DeadStreamInfo) int { return cmp.Compare(a.Stream, b.Stream) })
	return list
}

// shownOf returns how much a stream has; it is false if its first message is no dead letter. A dead-letter stream needs no mark:
// whatever has been handed over says so itself, and streams without any cost one look at a message.
func shownOf(s own.Stream, now time.Time) (*api.DeadStreamInfo, bool) {
	var state jetlog.State
	err := s.Log.View(func(stream *jetlog.Stream, _ jetlog.Messages) error {
		state = stream.State()
		return nil
	})
	shown := &api.DeadStreamInfo{Stream: s.Log.Name(), Messages: state.Messages}
	if err != nil || state.Messages == 0 {
		return shown, false
	}
	oldest := time.Unix(0, state.FirstTime).UTC()
	shown.Oldest, shown.Seconds = &oldest, max(now.Sub(oldest).Seconds(), 0)
	first, err := s.Log.Load(state.First)
	return shown, err == nil && redrive.IsDead(first.Header)
}

// join makes one list of what all servers have told. A stream may be in several parts: what it has comes from its leader, what waits
// for it from the leaders of those that give up into it.
func join(_ *own.Call, parts []json.RawMessage, missing []string) (api.Answer, error) {
	known := map[string]*api.DeadStreamInfo{}
	for _, text := range parts {
		var list []*api.DeadStreamInfo
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("what a server tells of dead letters: %w", err)
		}
		for _, s := range list {
			was := known[s.Stream]
			if was == nil {
				known[s.Stream] = s
				continue
			}
			was.Waiting += s.Waiting
			was.Consumers = append(was.Consumers, s.Consumers...)
			if s.Oldest != nil {
				was.Messages, was.Oldest, was.Seconds = s.Messages, s.Oldest, s.Seconds
			}
		}
	}
	return &api.DeadListAnswer{Streams: sorted(known), Missing: missing}, nil
}

// Info answers a call about what is in a stream: how many of which kind. Of a large stream only the beginning is looked at, and the
// answer says so.
func Info(c *own.Call) (api.Answer, error) {
	shown, _ := shownOf(c.Stream, c.Now)
	counts, redriven := map[api.DeadCount]uint64{}, c.Stream.Redrive()
	left := uint64(0)
	next, err := c.Look(0, nil, func(m *jetlog.Message) bool {
		if redriven.Left(m) {
			left++
		}
		if redrive.IsDead(m.Header) {
			counts[api.DeadCount{Stream: value(m, api.DeadStream), Consumer: value(m, api.DeadConsumer), Reason: value(m, api.DeadReason)}]++
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	out := &api.DeadInfoAnswer{DeadStreamInfo: shown, Counts: []api.DeadCount{}, Partial: next != 0, Redrive: redriven.Shown()}
	if out.Redrive != nil {
		// As far as was looked, like the counts: what is left behind that shows when the redrive gets there.
		out.Redrive.Left = left
	}
	for kind, n := range counts {
		kind.Messages = n
		out.Counts = append(out.Counts, kind)
	}
	slices.SortFunc(out.Counts, func(a, b api.DeadCount) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), strings.Compare(a.Stream, b.Stream), strings.Compare(a.Consumer, b.Consumer), strings.Compare(a.Reason, b.Reason))
	})
	return out, nil
}

// value returns a header of a message, empty if it is not there.
func value(m *jetlog.Message, name string) string {
	v, _ := headers.Get(m.Header, name)
	return string(v)
}

// Get answers a call that looks at dead letters without consuming them, page by page.
func Get(c *own.Call) (api.Answer, error) {
	var q api.DeadRequest
	if err := c.Decode(&q); err != nil {
		return nil, err
	}
	// With a letter wrong in the filter, an answer without letters would look as if all were well.
	if err := redrive.Check(&q.Filter); err != nil {
		return nil, err
	}
	if q.Limit <= 0 || q.Limit > api.DeadMax {
		q.Limit = api.DeadMax
	}
	out, bytes := &api.DeadGetAnswer{Letters: []api.DeadLetter{}}, 0
	next, err := c.Look(q.Sequence, nil, func(m *jetlog.Message) bool {
		if !redrive.Means(&q.Filter, m) {
			return true
		}
		l := api.DeadLetter{Sequence: m.Sequence, Subject: m.Subject, Time: time.Unix(0, m.Time).UTC(), Headers: slices.Clone(m.Header)}
		if !q.Headers {
			l.Data = slices.Clone(m.Payload)
		}
		out.Letters = append(out.Letters, l)
		bytes += len(l.Headers) + len(l.Data)
		return len(out.Letters) < q.Limit && bytes < answerBytes
	})
	if err != nil {
		return nil, err
	}
	out.Next = next
	return out, nil
}

// Discard answers a call that deletes dead letters. To delete everything is asked for in so many words: an empty request may be a
// mistake.
func Discard(c *own.Call) (api.Answer, error) {
	var q api.DeadDiscardRequest
	if err := c.Decode(&q); err != nil {
		return nil, err
	}
	// Here it would look as if there was nothing to discard.
	if err := redrive.Check(&q.Filter); err != nil {
		return nil, err
	}
	if q.Sequence == 0 && q.Filter == (api.DeadFilter{}) && !q.All {
		return nil, api.NewError(api.DeadLetterUnknown, "say which: seq, filter or all")
	}
	var list []uint64
	next, err := c.Look(cmp.Or(q.Sequence, q.From), nil, func(m *jetlog.Message) bool {
		if q.Sequence != 0 && m.Sequence != q.Sequence {
			return false
		}
		if redrive.Means(&q.Filter, m) {
			list = append(list, m.Sequence)
		}
		return q.Sequence == 0
	})
	switch {
	case err != nil:
		return nil, err
	case q.Sequence != 0 && len(list) == 0:
		return nil, api.NewError(api.DeadLetterUnknown, fmt.Sprintf("message %d is none", q.Sequence))
	case q.Sequence != 0:
		next = 0
	}
	out := &api.DeadDiscardAnswer{Discarded: len(list), More: next != 0, Next: next}
	if !q.DryRun {
		if out.Discarded, err = c.Remove(list); err != nil {
			return nil, err
		}
	}
	return out, nil
}
