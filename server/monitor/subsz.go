package monitor

import (
	"cmp"
	"math"

	"runnel/subjects"
)

// SubszOptions are the parameters of the subscriptions page.
type SubszOptions struct {
	Subscriptions bool   // list them
	Offset, Limit int64  // window, Limit 0 = 1024
	Account       string // only of this account
	Test          string // only those that a message on this subject would reach
}

func (o *SubszOptions) parameters() []parameter {
	return []parameter{
		flag("subs", "subscriptions", &o.Subscriptions),
		count("offset", "offset", &o.Offset),
		count("limit", "limit", &o.Limit),
		text("acc", "account", &o.Account),
		pattern("test", "test", "a subject to publish to, without wildcards", subjects.ValidLiteral, &o.Test),
	}
}

// Subsz is the subscriptions page. Total counts those that fit the request; it is 0 when neither the list
// nor a test was asked for.
type Subsz struct {
	head
	SubscriptionStats
	Total int64 `json:"total"`
	paging
	Subscriptions []Subscription `json:"subscriptions_list,omitempty"`
}

// Subsz returns figures of the subscription index, and the subscriptions when they are asked for: by account, subject,
// queue group and connection.
func (p *Pages) Subsz(o SubszOptions) (*Subsz, error) {
	page := &Subsz{
		head:              p.head(),
		SubscriptionStats: p.source.SubscriptionStats(o.Account),
		paging:            window(o.Offset, o.Limit),
	}
	// JSON has no NaN, which is what a share of nothing easily becomes.
	page.CacheHitRate, page.AvgFanout = finite(page.CacheHitRate), finite(page.AvgFanout)
	if !o.Subscriptions && o.Test == "" {
		return page, nil
	}
	first := newSmallest(page.paging, inOrder)
	for s := range p.source.Subscriptions(o.Account) {
		if o.Test != "" && !subjects.Match(s.Subject, o.Test) {
			continue
		}
		if o.Subscriptions {
			first.add(s)
		}
		page.Total++
	}
	page.Subscriptions = first.shown(page.paging)
	return page, nil
}

// inOrder compares subscriptions for lists.
func inOrder(a, b Subscription) int {
	return cmp.Or(
		cmp.Compare(a.Account, b.Account), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Queue, b.Queue),
		cmp.Compare(a.CID, b.CID), cmp.Compare(len(a.SID), len(b.SID)), cmp.Compare(a.SID, b.SID),
	)
}

// finite replaces what is not a number by 0.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// Subscribers counts the subscriptions of an account that a message on subject would reach, or any message on one that
// subject stands for when it has wildcards; only those in the queue group when queue is not empty. Those of accounts that
// import the subject count, if it has no wildcards.
func (p *Pages) Subscribers(account, subject, queue string) int {
	n := 0
	for s := range p.source.Subscriptions(account) {
		if (queue == "" || s.Queue == queue) && subjects.Overlap(s.Subject, subject) {
			n++
		}
	}
	if !subjects.ValidLiteral(subject) {
		return n
	}
	for s := range p.source.Importing(account, subject) {
		if queue == "" || s.Queue == queue {
			n++
		}
	}
	return n
}
