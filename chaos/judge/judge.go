// Package judge asks, of the history of a run, what its workloads were promised: it knows which checks belong to which workload, and
// asks them. It is pure.
package judge

import (
	"cmp"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
	"runnel/chaos/workload"
)

// Limits are the times of the checks. They are long where the machine may be slow, as a check that cries wolf is of no use, and short enough
// for what people would notice. What is zero gets a default.
type Limits struct {
	// Grace is how long an old leader may not know of what a new one has confirmed, and what it has sent may be on its way; 15 s.
	Grace time.Duration
	// AckWait is that of the consumers with workers; 5 s.
	AckWait time.Duration
	// AgeSlack is how much earlier or later than its age a message may go; 2 s.
	AgeSlack time.Duration
	// Liveness is how long clients may go without an acknowledgement once all is healed; 5 s.
	Liveness time.Duration
	// LeadersMayRefuse says that a refusal by a leader says nothing, since one of this make goes by what it knows, which may be old.
	LeadersMayRefuse bool
	// StaleLeaders says that a read at a leader need not show the newest: one that was paused may answer before it hears that it leads no more.
	StaleLeaders bool
}

// delaySlack is how much the clocks of servers on one machine, and that of the harness, may differ.
const delaySlack = 200 * time.Millisecond

func (l Limits) complete() Limits {
	l.Grace = cmp.Or(l.Grace, 15*time.Second)
	l.AckWait = cmp.Or(l.AckWait, 5*time.Second)
	l.AgeSlack = cmp.Or(l.AgeSlack, 2*time.Second)
	l.Liveness = cmp.Or(l.Liveness, 5*time.Second)
	return l
}

// All finds what is wrong in the history of a run with some workloads, and how many messages there were where nothing is ever removed.
func All(ops []history.Operation, workloads []string, l Limits) (sets []check.Set, findings []check.Finding) {
	for _, name := range workloads {
		s, f := Workload(name, ops, l)
		sets, findings = append(sets, s...), append(findings, f...)
	}
	findings = append(findings, stalls(ops)...)
	return sets, append(findings, check.Liveness(ops, check.LivenessConfig{Limit: l.complete().Liveness})...)
}

// Workload finds what is wrong with one workload, but for clients that came to nothing.
func Workload(name string, ops []history.Operation, l Limits) ([]check.Set, []check.Finding) {
	sets, findings := l.complete().ask(name, ops)
	for i := range findings {
		findings[i].Workload = name
	}
	return sets, findings
}

// ask asks the checkers of one workload.
func (l Limits) ask(name string, ops []history.Operation) (sets []check.Set, found []check.Finding) {
	switch name {
	case "W1":
		return check.Log(ops, workload.LogStream)
	case "W2":
		sets, found = check.Log(ops, workload.OrderedStream)
		return sets, append(found, check.Readers(ops, check.ReadersConfig{Stream: workload.OrderedStream})...)
	case "W3":
		return nil, check.Queue(ops, check.QueueConfig{Stream: workload.QueueStream, Grace: l.Grace})
	case "W4":
		sets, found = check.Log(ops, workload.DedupStream)
		return sets, append(found, check.Dedup(ops, check.DedupConfig{Stream: workload.DedupStream, Window: workload.DuplicateWindow})...)
	case "W5":
		return nil, check.Registers(ops, check.RegistersConfig{
			Stream: workload.RegistersStream, Refusals: !l.LeadersMayRefuse, StaleLeaders: l.StaleLeaders,
		})
	case "W6":
		return nil, check.Bucket(ops, workload.BucketStream)
	case "W7":
		return nil, check.Group(ops, check.GroupConfig{
			Stream: workload.KeyedStream, Consumer: workload.KeyedGroup, AckWait: l.AckWait, Idle: l.Grace, Grace: l.Grace,
		})
	case "W8":
		return nil, check.Batches(ops, workload.BatchesStream)
	case "W9":
		return nil, l.retention(ops)
	case "W10":
		sets, found = check.Log(ops, workload.KeptStream)
		return sets, append(found, check.Meta(ops)...)
	case "W13":
		sets, found = check.Log(ops, workload.ProcessedStream)
		return sets, append(found, check.Processed(ops, check.ProcessedConfig{Queue: workload.ProcessedQueue, Stream: workload.ProcessedStream})...)
	case "W14":
		return nil, check.Delayed(ops, check.DelayedConfig{Queue: workload.DelayedQueue, Stream: workload.DelayedStream, Slack: delaySlack})
	default: // "W11"
		return nil, check.DeadLetters(ops, check.QueueConfig{
			Stream: workload.DeadQueueStream, DeadLetters: workload.DeadLetterStream, Grace: l.Grace, Poison: workload.Poison,
		})
	}
}

func (l Limits) retention(ops []history.Operation) (found []check.Finding) {
	for _, r := range workload.RetainedStreams() {
		found = append(found, check.Retention(ops, check.RetentionConfig{
			Stream: r.Stream, MaxMessages: r.MaxMessages, MaxPerSubject: r.MaxPerSubject, MaxAge: r.MaxAge, AgeSlack: l.AgeSlack, Consumers: r.Consumers,
		})...)
	}
	return found
}

// stalls are clients that came to nothing although their server answered. One that was not answered is not counted: its server may have
// had nobody to agree with, and what must go on is for the check of liveness.
func stalls(ops []history.Operation) (found []check.Finding) {
	for _, o := range ops {
		if o.Kind == history.Stall && o.Result == history.Failed {
			found = append(found, check.Finding{
				Kind: check.Stalled, Workload: o.Workload, Stream: o.Stream, Node: o.Node, Text: o.Value + ": " + o.Error, Count: 1,
				Operations: []history.Operation{o},
			})
		}
	}
	return found
}
