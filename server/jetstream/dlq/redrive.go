package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/own"
	"runnel/server/jetstream/redrive"
)

const (
	// setsMost is how many places that dead letters come from are asked and shown.
	setsMost = 64
	// surveyTime bounds how long they are asked. What has not answered by then is not known to be in the way.
	surveyTime = 3 * time.Second
)

// Redrive answers a call that puts dead letters back. What is meant is looked through first, as far as a call looks: if none of that can be
// put back as things are, nothing begins.
func Redrive(c *own.Call) (api.Answer, error) {
	var q api.DeadRedriveRequest
	if err := c.Decode(&q); err != nil {
		return nil, err
	}
	// A job whose filter means nothing would end at once, as done.
	if err := redrive.Check(&q.Filter); err != nil {
		return nil, err
	}
	invalid := func(why string) (api.Answer, error) { return nil, api.NewError(api.RedriveInvalid, why) }
	switch {
	case q.To == "":
		q.To = api.RedriveToConsumer
	case q.To != api.RedriveToConsumer && q.To != api.RedriveToSubject:
		return invalid(fmt.Sprintf("to is %q: it is consumer or subject", q.To))
	}
	switch {
	case q.Rate < 0:
		return invalid("rate is how many a second at most: above 0, or 0 for no limit")
	case q.Sequence == 0 && q.Filter == (api.DeadFilter{}) && !q.All:
		return nil, api.NewError(api.DeadLetterUnknown, "say which: seq, filter or all")
	}
	r, err := redriveOf(c)
	if err != nil {
		return nil, err
	}
	// Nothing is written down before this: a request that is refused, and a dry run, leave no trace.
	p := &plan{request: &q, answer: &api.DeadRedriveAnswer{}}
	if err := p.survey(c, r); err != nil {
		return nil, err
	}
	switch out := p.answer; {
	case q.Sequence != 0 && out.Matched == 0:
		return nil, api.NewError(api.DeadLetterUnknown, fmt.Sprintf("message %d is none", q.Sequence))
	case p.hopeless():
		return nil, out.Sets[0].Error
	case q.DryRun || out.Matched == 0 && !out.More:
		return out, nil
	}
	p.answer.Redrive, err = r.Begin(c.Context, &q)
	return p.answer, err
}

// plan is what would be put back. It is made of one look at the letters, which may change before they are put back: it says what is to be
// expected, and promises nothing.
type plan struct {
	request *api.DeadRedriveRequest
	answer  *api.DeadRedriveAnswer // gets what is found out
	samples []jetlog.Message       // one of each of the answer's sets
}

// survey looks which letters are meant, and asks where they come from whether they can be put back.
func (p *plan) survey(c *own.Call, r *redrive.Stream) error {
	q, out := p.request, p.answer
	next, err := c.Look(q.Sequence, nil, func(m *jetlog.Message) bool {
		if q.Sequence != 0 && m.Sequence != q.Sequence {
			return false
		}
		if redrive.Means(&q.Filter, m) {
			p.count(m)
		}
		return q.Sequence == 0
	})
	if err != nil {
		return err
	}
	out.More = q.Sequence == 0 && next != 0
	// One letter stands for all of its set: whether a consumer wants the subjects of the others, it is asked when these are put.
	ctx, cancel := context.WithTimeout(c.Context, surveyTime)
	defer cancel()
	for i := range out.Sets {
		out.Sets[i].Error = r.Ask(ctx, &p.samples[i], q.To)
	}
	return nil
}

// count counts a letter. The first one of each set is kept as its sample, without the body: what is asked is whether somebody of that name
// wants that subject.
func (p *plan) count(m *jetlog.Message) {
	out := p.answer
	out.Matched++
	stream, consumer := value(m, api.DeadStream), value(m, api.DeadConsumer)
	i := slices.IndexFunc(out.Sets, func(s api.DeadRedriveSet) bool { return s.Stream == stream && s.Consumer == consumer })
	if i < 0 && len(out.Sets) < setsMost {
		i = len(out.Sets)
		out.Sets = append(out.Sets, api.DeadRedriveSet{Stream: stream, Consumer: consumer})
		sample := *m
		sample.Header, sample.Payload = slices.Clone(m.Header), nil
		p.samples = append(p.samples, sample)
	}
	if i >= 0 {
		out.Sets[i].Messages++
	}
}

// hopeless reports whether nothing of what is meant can be put back. If some of it can, that is begun with: what cannot be stays where it
// is, and is counted.
func (p *plan) hopeless() bool {
	sets := p.answer.Sets
	return len(sets) > 0 && len(sets) < setsMost && !p.answer.More && !slices.ContainsFunc(sets, func(s api.DeadRedriveSet) bool { return s.Error == nil })
}

// Stop answers a call that ends a redrive. The answer says how far it got; if that cannot be told soon, the redrive is said to be
// stopping, and DLQ.INFO tells its end.
func Stop(c *own.Call) (api.Answer, error) {
	r, err := redriveOf(c)
	if err != nil {
		return nil, err
	}
	shown, err := r.Stop(c.Context)
	return &api.DeadStopAnswer{Redrive: shown}, err
}

// redriveOf returns what puts the letters of a call's stream back. There is none once the stream is led elsewhere: who asks again
// reaches the server that leads it.
func redriveOf(c *own.Call) (*redrive.Stream, error) {
	if r := c.Stream.Redrive(); r != nil {
		return r, nil
	}
	return nil, api.NewError(config.StoreFailed, "the stream is led by another server now: try again")
}
