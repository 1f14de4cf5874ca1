package check_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

// TestNonsense gives every checker histories that no run can have made: whatever they say, they come to an end
// and do not panic. Histories come from files, and a harness that dies leaves any part of one.
func TestNonsense(t *testing.T) {
	kinds := []string{
		history.Publish, history.Read, history.Fetch, history.Ack, history.Nak, history.Term, history.Leave, history.Swap, history.Get, history.StaleGet,
		history.Put, history.Watch, history.WatchStart, history.WatchEnd, history.Add, history.Commit, history.Purge, history.Erase, history.Redrive,
		history.CreateStream, history.UpdateStream, history.DeleteStream, history.CreateConsumer, history.UpdateConsumer, history.DeleteConsumer,
		history.Final, history.Final, history.Drained, history.Exists, history.Listed, history.Fault, history.Stall, "nonsense",
	}
	checkers := map[string]func([]history.Operation){
		"log":     func(ops []history.Operation) { check.Log(ops, "S") },
		"readers": func(ops []history.Operation) { check.Readers(ops, check.ReadersConfig{Stream: "S"}) },
		"queue":   func(ops []history.Operation) { check.Queue(ops, check.QueueConfig{Stream: "S", Grace: 1}) },
		"dead letters": func(ops []history.Operation) {
			check.DeadLetters(ops, check.QueueConfig{Stream: "S", DeadLetters: "D", Poison: func(v string) bool { return v == "a" }})
		},
		"dedup": func(ops []history.Operation) { check.Dedup(ops, check.DedupConfig{Stream: "S", Window: 5}) },
		"registers": func(ops []history.Operation) {
			check.Registers(ops, check.RegistersConfig{Stream: "S", Refusals: true, Timeout: 20 * time.Millisecond})
		},
		"bucket": func(ops []history.Operation) { check.Bucket(ops, "S") },
		"group": func(ops []history.Operation) {
			check.Group(ops, check.GroupConfig{Stream: "S", Consumer: "C", AckWait: 3, Idle: 2})
		},
		"batches": func(ops []history.Operation) { check.Batches(ops, "S") },
		"retention": func(ops []history.Operation) {
			check.Retention(ops, check.RetentionConfig{Stream: "S", MaxMessages: 2, MaxPerSubject: 1, MaxAge: 3, Consumers: []string{"C"}})
		},
		"meta":         func(ops []history.Operation) { check.Meta(ops) },
		"liveness":     func(ops []history.Operation) { check.Liveness(ops, check.LivenessConfig{Limit: 2}) },
		"availability": func(ops []history.Operation) { check.Availability(ops) },
	}
	rng := rand.New(rand.NewPCG(1, 2))
	any := func(words ...string) string { return words[rng.IntN(len(words))] }
	for range 500 {
		ops := make([]history.Operation, rng.IntN(40))
		for i := range ops {
			start := time.Duration(rng.IntN(20))
			ops[i] = history.Operation{
				Process: rng.IntN(3), Node: any("", "n1", "n2"), Kind: any(kinds...), Stream: any("S", "S", "S", "D", ""), Consumer: any("", "C"), Batch: any("", "B"),
				Key: any("", "x", "y"), Value: any("", "a", "b", "c"), Sequence: uint64(rng.IntN(5)), Expected: uint64(rng.IntN(4)),
				Start: start, End: start + time.Duration(rng.IntN(10)), Result: history.Result(rng.IntN(3)),
			}
			if rng.IntN(15) == 0 {
				ops[i].Sequence = 1<<64 - 1
			}
		}
		for name, checker := range checkers {
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("%s: %v for %+v", name, p, ops)
					}
				}()
				checker(ops)
			}()
		}
	}
}
