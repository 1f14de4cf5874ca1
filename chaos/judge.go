package chaos

import (
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
	"runnel/chaos/process"
	"runnel/chaos/workload"
)

// Times of the checks. They are long where the machine may be slow, as a check that cries wolf is of no use, and short enough for
// what people would notice.
const (
	// graceTime is how long an old leader may not know of what a new one has confirmed, and what it has sent may be on its way.
	graceTime = 15 * time.Second
	// ackWait is that of the consumers with workers.
	ackWait = 5 * time.Second
	// ageSlack is how much earlier or later than its age a message may go.
	ageSlack = 2 * time.Second
	// livenessLimit is how long clients may go without an acknowledgement once all is healed.
	livenessLimit = 5 * time.Second
)

// Judge finds what is wrong in the history of a campaign with some workloads, and how many messages there were where nothing is ever
// removed. Clients may go without an acknowledgement for as long as liveness says when nothing is broken.
func Judge(ops []history.Operation, workloads []string, dialect process.Dialect, liveness time.Duration) ([]check.Set, []check.Finding) {
	var sets []check.Set
	var findings []check.Finding
	for _, name := range workloads {
		s, f := judge(name, ops, dialect)
		for i := range f {
			f[i].Workload = name
		}
		sets, findings = append(sets, s...), append(findings, f...)
	}
	findings = append(findings, stalls(ops)...)
	return sets, append(findings, check.Liveness(ops, check.LivenessConfig{Limit: liveness})...)
}

// judge asks the checkers of one workload.
func judge(name string, ops []history.Operation, dialect process.Dialect) (sets []check.Set, found []check.Finding) {
	switch name {
	case "W1":
		return check.Log(ops, workload.LogStream)
	case "W2":
		sets, found = check.Log(ops, workload.OrderedStream)
		return sets, append(found, check.Readers(ops, check.ReadersConfig{Stream: workload.OrderedStream})...)
	case "W3":
		return nil, check.Queue(ops, check.QueueConfig{Stream: workload.QueueStream, Grace: graceTime})
	case "W4":
		sets, found = check.Log(ops, workload.DedupStream)
		return sets, append(found, check.Dedup(ops, check.DedupConfig{Stream: workload.DedupStream, Window: workload.DuplicateWindow})...)
	case "W5":
		// The incumbent's leader refuses by what it knows, which may be old: its refusals say nothing. Reads are not promised to be the newest: a
		// leader that was paused may answer one before it hears that it leads no more.
		return nil, check.Registers(ops, check.RegistersConfig{
			Stream: workload.RegistersStream, Refusals: dialect == process.Runnel, StaleLeaders: true,
		})
	case "W6":
		return nil, check.Bucket(ops, workload.BucketStream)
	case "W7":
		return nil, check.Group(ops, check.GroupConfig{
			Stream: workload.KeyedStream, Consumer: workload.KeyedGroup, AckWait: ackWait, Idle: graceTime, Grace: graceTime,
		})
	case "W8":
		return nil, check.Batches(ops, workload.BatchesStream)
	case "W9":
		return nil, judgeRetention(ops)
	case "W10":
		sets, found = check.Log(ops, workload.KeptStream)
		return sets, append(found, check.Meta(ops)...)
	default: // "W11"
		return nil, check.DeadLetters(ops, check.QueueConfig{
			Stream: workload.DeadQueueStream, DeadLetters: workload.DeadLetterStream, Grace: graceTime, Poison: workload.Poison,
		})
	}
}

func judgeRetention(ops []history.Operation) (found []check.Finding) {
	for _, r := range workload.RetainedStreams() {
		found = append(found, check.Retention(ops, check.RetentionConfig{
			Stream: r.Stream, MaxMessages: r.MaxMessages, MaxPerSubject: r.MaxPerSubject, MaxAge: r.MaxAge, AgeSlack: ageSlack, Consumers: r.Consumers,
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
