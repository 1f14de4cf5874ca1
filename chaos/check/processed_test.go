package check_test

import (
	"slices"
	"testing"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

// TestProcessed has the checker find what was done wrong to one of two values.
func TestProcessed(t *testing.T) {
	put := func(value string, result history.Result) history.Operation {
		return history.Operation{Kind: history.Publish, Stream: "IN", Value: value, Sequence: 1, Start: 1, End: 2, Result: result}
	}
	made := func(value string) history.Operation {
		return history.Operation{Kind: history.Publish, Stream: "OUT", Value: value, Sequence: 1, Start: 3, End: 4, Result: history.OK}
	}
	at := func(stream, value string, sequence uint64) history.Operation {
		return history.Operation{Kind: history.Final, Stream: stream, Node: "n1", Value: value, Sequence: sequence, Start: 5, End: 5, Result: history.OK}
	}
	ends := []history.Operation{
		{Kind: history.Drained, Stream: "IN", Node: "n1", Start: 6, End: 7, Result: history.OK},
		{Kind: history.Drained, Stream: "OUT", Node: "n1", Start: 6, End: 7, Result: history.OK},
	}
	good := []history.Operation{put("1-1", history.OK), made("1-1"), at("OUT", "1-1", 1)}
	for _, c := range []struct {
		name string
		ops  []history.Operation
		want []check.Kind
	}{
		{"all is well", nil, nil},
		{"published twice, stored once", []history.Operation{put("1-2", history.OK), made("1-2"), made("1-2"), at("OUT", "1-2", 2)}, nil},
		{"not known whether it was put, and not there", []history.Operation{put("1-2", history.Unknown)}, nil},
		{"no outcome", []history.Operation{put("1-2", history.OK)}, []check.Kind{check.Lost}},
		{"two outcomes", []history.Operation{put("1-2", history.OK), at("OUT", "1-2", 2), at("OUT", "1-2", 3)}, []check.Kind{check.Duplicate}},
		{"of nothing", []history.Operation{at("OUT", "1-2", 2)}, []check.Kind{check.Unexpected}},
		{"left in the queue", []history.Operation{put("1-2", history.OK), at("OUT", "1-2", 2), at("IN", "1-2", 2)}, []check.Kind{check.Kept}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []check.Kind
			for _, f := range check.Processed(slices.Concat(good, c.ops, ends), check.ProcessedConfig{Queue: "IN", Stream: "OUT"}) {
				got = append(got, f.Kind)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
