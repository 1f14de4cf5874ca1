// Package explain says in sentences why a consumer delivers nothing, and what to do about it; or that nothing stands in its
// way. It is for people who look at a consumer that stands still, and for programs the same as codes.
package explain

import (
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/lag"
	"runnel/server/jetstream/own"
	"runnel/subjects"
)

// Facts is what is known of a consumer, of one moment.
type Facts struct {
	Stream   config.Stream
	Consumer config.Consumer
	Now      time.Time

	Messages uint64 // in the stream
	Matching bool   // one of them at least is for the consumer, whether it had it or not
	Ever     bool   // something was delivered to it, once
	Resting  int    // deliveries that failed, and come again by themselves
	// Oldest is the oldest message that was delivered and is not settled, zero for none. Deliveries is how often it was
	// delivered, 0 if that was as often as allowed.
	Oldest     jetlog.Meta
	Deliveries uint64
	// Live is what is known where messages are delivered.
	Live delivery.State
}

// Consumer answers a call about a consumer.
func Consumer(c *own.Call) (api.Answer, error) {
	live, known := c.Stream.Deliver.State(c.Consumer)
	f := Facts{Now: c.Now, Live: live}
	err := c.Stream.Log.View(func(state *jetlog.Stream, m jetlog.Messages) error {
		a := state.Consumer(c.Consumer)
		if known = known && a != nil; !known {
			return nil
		}
		return f.read(state, a, m)
	})
	switch {
	case err != nil && live.Stalled != delivery.Storage:
		return nil, err
	case !known:
		return nil, api.NewError(config.ConsumerNotFound)
	}
	e := f.Explain()
	e.Lag = lag.Of(e.Stream, e.Consumer, &live, c.Now)
	return &api.ExplainAnswer{Explanation: e}, nil
}

// read takes over what the state says.
func (f *Facts) read(state *jetlog.Stream, a *jetlog.Consumer, m jetlog.Messages) error {
	f.Stream, f.Consumer = *state.Config(), a.Config()
	f.Messages = state.State().Messages
	f.Ever, f.Resting = a.Delivered().Consumer > 0, a.Resting()
	if f.Live.Lag.Messages == 0 { // only then it matters
		seq, err := m.NextOf(a.Filter(), 1)
		if err != nil {
			return err
		}
		f.Matching = seq != 0
	}
	var err error
	if f.Oldest, err = a.OldestUnacked(m); err != nil {
		return err
	}
	f.Deliveries = a.Deliveries(f.Oldest.Sequence)
	return nil
}

// impossible tells whether no message that the stream takes can be for the consumer.
func (f *Facts) impossible() bool {
	s := &f.Stream
	if s.Mirror != nil || len(s.Sources) > 0 || s.SubjectTransform != nil || len(s.Subjects) == 0 {
		return false // its messages may have other subjects
	}
	filters := filtersOf(&f.Consumer)
	for _, filter := range filters {
		for _, subject := range s.Subjects {
			if subjects.Overlap(filter, subject) {
				return false
			}
		}
	}
	return len(filters) > 0
}

// filtersOf returns what the consumer filters by, nothing for all messages.
func filtersOf(c *config.Consumer) []string {
	if c.FilterSubject != "" {
		return []string{c.FilterSubject}
	}
	return c.FilterSubjects
}

// Leaderless is the answer about a consumer whose stream nobody leads, or of which nobody can say who does.
func Leaderless(call *api.Call, v clustered.Verdict, now time.Time) api.Answer {
	text := "No server leads the stream: too few of the servers that have it can be reached, or they are just choosing a leader."
	if v == clustered.Unreachable {
		text = "None of the servers that have the stream can be reached."
	}
	return &api.ExplainAnswer{Explanation: &api.Explanation{
		Stream: call.Stream, Consumer: call.Consumer, Time: now,
		Reasons: []api.Reason{{
			Code: api.ReasonNoLeader, Text: text,
			Next: "Ask again in a few seconds; if it stays so, `runnel cluster status` shows which servers are missing.",
		}},
	}}
}
