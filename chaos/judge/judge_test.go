package judge_test

import (
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
	"runnel/chaos/judge"
	"runnel/chaos/workload"
)

// lost is a history in which something was acknowledged, and is not there.
func lost(stream, publish string) []history.Operation {
	return []history.Operation{
		{Kind: publish, Stream: stream, Key: "k", Value: "1-1", Sequence: 1, Expected: 1, Batch: "b", Start: 1, End: 2, Result: history.OK, Node: "n1"},
		{Kind: history.Drained, Stream: stream, Node: "n1", Start: 3, End: 3, Result: history.OK},
	}
}

// violations are the findings against the server.
func violations(found []check.Finding) (all []check.Finding) {
	for _, f := range found {
		if f.Violation() {
			all = append(all, f)
		}
	}
	return all
}

// TestWorkloads: the checks of each workload look at its stream, and say which workload it was.
func TestWorkloads(t *testing.T) {
	tests := []struct{ name, stream, publish string }{
		{"W1", workload.LogStream, history.Publish},
		{"W2", workload.OrderedStream, history.Publish},
		{"W3", workload.QueueStream, history.Publish},
		{"W4", workload.DedupStream, history.Publish},
		{"W5", workload.RegistersStream, history.Swap},
		{"W6", workload.BucketStream, history.Put},
		{"W7", workload.KeyedStream, history.Publish},
		{"W8", workload.BatchesStream, history.Commit},
		{"W9", workload.RetainedStreams()[0].Stream, history.Publish},
		{"W10", workload.KeptStream, history.Publish},
		{"W11", workload.DeadQueueStream, history.Publish},
		{"W13", workload.ProcessedStream, history.Publish},
		{"W14", workload.DelayedStream, history.Publish},
	}
	if got, want := len(tests), len(workload.Names()); got != want {
		t.Fatalf("%d workloads are tried, and there are %d", got, want)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ops := append(lost(tt.stream, tt.publish), history.Operation{ // and what nobody has sent
				Kind: history.Final, Stream: tt.stream, Node: "n1", Key: "k", Value: "9-9", Sequence: 2, Start: 3, End: 3, Result: history.OK,
			}, history.Operation{
				Kind: history.Fetch, Stream: tt.stream, Consumer: workload.KeyedGroup, Key: "k", Value: "9-9", Sequence: 2, Start: 3, End: 4, Result: history.OK,
			})
			_, found := judge.Workload(tt.name, ops, judge.Limits{})
			if found = violations(found); len(found) == 0 || found[0].Workload != tt.name {
				t.Errorf("got %v, want a finding of %s", found, tt.name)
			}
			for _, other := range tests {
				if other.name == tt.name {
					continue
				}
				if _, found := judge.Workload(other.name, ops, judge.Limits{}); len(violations(found)) > 0 {
					t.Errorf("%s finds %v in what is not its own", other.name, found)
				}
			}
		})
	}
}

// TestAll: what no single workload is asked for is found too.
func TestAll(t *testing.T) {
	stall := history.Operation{Kind: history.Stall, Workload: "W1", Node: "n1", Value: "publish", Start: 1, End: 2, Result: history.Failed}
	unanswered := stall
	unanswered.Result = history.Unknown
	sets, found := judge.All(append(lost(workload.LogStream, history.Publish), stall, unanswered), []string{"W1"}, judge.Limits{})
	kinds := map[check.Kind]int{}
	for _, f := range found {
		kinds[f.Kind]++
	}
	if len(sets) != 2 || kinds[check.Lost] == 0 || kinds[check.Stalled] != 1 {
		t.Errorf("got %v and %v, want a loss at one server and in all, and one client that came to nothing", sets, found)
	}
}

// TestLeaders: what a leader may do that does not know yet that it is one no more is a matter of the limits.
func TestLeaders(t *testing.T) {
	const stream = workload.RegistersStream
	swap := func(expected, sequence uint64, value string, at time.Duration, r history.Result) history.Operation {
		return history.Operation{Kind: history.Swap, Stream: stream, Key: "k", Value: value, Expected: expected, Sequence: sequence, Start: at, End: at + 1, Result: r}
	}
	stored := []history.Operation{swap(0, 1, "1-1", 1, history.OK), swap(1, 2, "1-2", 10, history.OK)}
	refused := append(stored[:2:2], swap(2, 0, "1-3", 20, history.Failed))
	old := append(stored[:2:2], history.Operation{Kind: history.Get, Stream: stream, Key: "k", Value: "1-1", Sequence: 1, Start: 20, End: 21, Result: history.OK})
	tests := []struct {
		name   string
		ops    []history.Operation
		limits judge.Limits
		wrong  bool
	}{
		{"a refusal without a reason", refused, judge.Limits{}, true},
		{"a refusal without a reason, of one who may", refused, judge.Limits{LeadersMayRefuse: true}, false},
		{"an old value", old, judge.Limits{}, true},
		{"an old value, of one who may", old, judge.Limits{StaleLeaders: true}, false},
	}
	for _, tt := range tests {
		_, found := judge.Workload("W5", tt.ops, tt.limits)
		if (len(violations(found)) > 0) != tt.wrong {
			t.Errorf("%s: got %v, want a finding: %v", tt.name, found, tt.wrong)
		}
	}
}
