package check_test

import (
	"slices"
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

// TestDelayed has the checker find what was done wrong to one of two values.
func TestDelayed(t *testing.T) {
	const second = time.Second
	put := func(value string, at time.Duration, result history.Result) history.Operation {
		return history.Operation{Kind: history.Publish, Stream: "LATER", Value: value, Expected: 2000, Sequence: 7, Start: at, End: at + second/10, Result: result}
	}
	cancel := func(value string, result history.Result) history.Operation {
		return history.Operation{Kind: history.Erase, Stream: "LATER", Value: value, Sequence: 7, Start: second, End: 2 * second, Result: result}
	}
	got := func(value string, at time.Duration) history.Operation {
		return history.Operation{Kind: history.Fetch, Stream: "S", Consumer: "readers", Node: "n1", Value: value, Sequence: 1, Start: at - second/10, End: at, Result: history.OK}
	}
	stored := func(node, value string, sequence uint64) history.Operation {
		return history.Operation{Kind: history.Final, Stream: "S", Node: node, Value: value, Sequence: sequence, Start: 9 * second, End: 9 * second, Result: history.OK}
	}
	ends := []history.Operation{
		{Kind: history.Drained, Stream: "S", Node: "n1", Start: 10 * second, End: 10 * second, Result: history.OK},
		{Kind: history.Drained, Stream: "S", Node: "n2", Start: 10 * second, End: 10 * second, Result: history.OK},
	}
	good := []history.Operation{put("1-1", second, history.OK), got("1-1", 4*second), stored("n1", "1-1", 1), stored("n2", "1-1", 1)}
	both := func(value string, sequence uint64) []history.Operation {
		return []history.Operation{stored("n1", value, sequence), stored("n2", value, sequence)}
	}
	for _, c := range []struct {
		name string
		ops  []history.Operation
		want []check.Kind
	}{
		{"all is well", nil, nil},
		{"sent twice, stored once", append(both("1-2", 2), put("1-2", second, history.Unknown), put("1-2", 2*second, history.OK)), nil},
		{"not known whether it was kept, and not there", []history.Operation{put("1-2", second, history.Unknown)}, nil},
		{"cancelled", []history.Operation{put("1-2", second, history.OK), cancel("1-2", history.OK)}, nil},
		{"perhaps cancelled, and not there", []history.Operation{put("1-2", second, history.OK), cancel("1-2", history.Unknown)}, nil},
		{"perhaps cancelled, and there", append(both("1-2", 2), put("1-2", second, history.OK), cancel("1-2", history.Unknown)), nil},
		{"too late to be cancelled", append(both("1-2", 2), put("1-2", second, history.OK), cancel("1-2", history.Failed)), nil},
		{"never came", []history.Operation{put("1-2", second, history.OK)}, []check.Kind{check.Lost, check.Lost}},
		{"could not be cancelled, and never came", []history.Operation{put("1-2", second, history.OK), cancel("1-2", history.Failed)}, []check.Kind{check.Lost, check.Lost}},
		{"came at one server", []history.Operation{put("1-2", second, history.OK), stored("n1", "1-2", 2)}, []check.Kind{check.Lost}},
		{"came twice", append(append(both("1-2", 2), both("1-2", 3)...), put("1-2", second, history.OK)), []check.Kind{check.Duplicate, check.Duplicate}},
		{"cancelled, and came", append(both("1-2", 2), put("1-2", second, history.OK), cancel("1-2", history.OK)), []check.Kind{check.Kept, check.Kept}},
		{"cancelled in the second try, and came", append(both("1-2", 2), put("1-2", second, history.OK), cancel("1-2", history.Unknown), cancel("1-2", history.OK)), []check.Kind{check.Kept, check.Kept}},
		{"of nobody", both("9-9", 2), []check.Kind{check.Unexpected, check.Unexpected}},
		{"refused, and came", append(both("1-2", 2), put("1-2", second, history.Failed)), []check.Kind{check.Refused, check.Refused}},
		{"too early", append(both("1-2", 2), put("1-2", second, history.OK), got("1-2", 2*second)), []check.Kind{check.Early}},
		{"early, by less than clocks differ", append(both("1-2", 2), put("1-2", second, history.OK), got("1-2", 3*second-second/20)), nil},
		{
			"two values at a sequence",
			[]history.Operation{put("1-2", second, history.Unknown), put("1-3", second, history.Unknown), stored("n1", "1-2", 2), stored("n2", "1-3", 2)},
			[]check.Kind{check.Conflict},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var kinds []check.Kind
			for _, f := range check.Delayed(slices.Concat(good, c.ops, ends), check.DelayedConfig{Queue: "LATER", Stream: "S", Slack: second / 10}) {
				kinds = append(kinds, f.Kind)
			}
			if !slices.Equal(kinds, c.want) {
				t.Errorf("got %v, want %v", kinds, c.want)
			}
		})
	}
}
