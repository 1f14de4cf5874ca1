package check_test

import (
	"testing"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

func TestLog(t *testing.T) {
	checkTales(t, func(ops []history.Operation) []check.Finding {
		_, found := check.Log(ops, "S")
		return found
	}, []tale{
		{"all is well", `
			1 publish v=a s=1
			2 publish v=b s=2
			final *: a b
			final *+pin: a b`, ""},
		{"nothing happened", `final *:`, ""},
		{"unknown that happened", `
			1 publish v=a s=1
			1 publish v=b unknown
			final *: a b`, ""},
		{"unknown that did not happen", `
			1 publish v=a s=1
			1 publish v=b unknown
			final *: a`, ""},
		{"unknown that happened late", `
			1 publish v=a unknown
			1 publish v=b s=1
			final *: b a`, ""},
		{"stored twice by a retry", `
			1 publish v=a unknown
			1 publish v=a s=2
			final *: a a`, ""},
		{"retry of which the first try is acknowledged late", `
			1 publish v=a unknown
			1 publish v=a s=1
			final *: a a`, ""},
		{"refused and not there", `
			1 publish v=a failed
			final *:`, ""},
		{"overlapping acks in any order", `
			1 publish v=a s=2 t=1-4
			2 publish v=b s=1 t=2-3
			final *: b a`, ""},
		{"other streams do not matter", `
			1 publish v=a s=1 st=T
			1 publish v=b s=1
			final *: b
			final n1/T: x`, ""},

		{"lost everywhere", `
			1 publish v=a s=1
			final *:`, "lost@ lost@n1 lost@n2 lost@n3"},
		{"lost at one node", `
			1 publish v=a s=1
			1 publish v=b s=2
			final n1: a b
			final n2: a`, "differs@n2 lost@n2"},
		{"lost to one way of reading", `
			1 publish v=a s=1
			final n1: a
			final n1+pin:`, "differs@n1 lost@n1"},
		{"never sent", `
			1 publish v=a s=1
			final *: a x`, "unexpected@n1 unexpected@n2 unexpected@n3"},
		{"refused and there", `
			1 publish v=a failed
			final n1: a`, "refused@n1"},
		{"twice", `
			1 publish v=a s=1
			final n1: a a`, "duplicate@n1"},
		{"more often than the tries that may have happened", `
			1 publish v=a failed
			1 publish v=a s=1
			final n1: a a`, "duplicate@n1"},
		{"elsewhere than acknowledged", `
			1 publish v=a s=2
			2 publish v=b s=1 t=0-0.5
			final n1: a b`, "moved@n1"},
		{"two values for a sequence", `
			1 publish v=a unknown
			2 publish v=b unknown
			final n1: a
			final n2: b`, "conflict@n2"},
		{"two values in one reading", `
			1 publish v=a unknown
			2 publish v=b unknown
			final n1: a
			9 final v=b s=1 t=1000-1000`, "conflict@n1"},
		{"one sequence for two", `
			1 publish v=a s=1
			2 publish v=b s=1
			final n1: a b`, "conflict@n1 moved@n1"},
		{"sequences that fall in one process", `
			1 publish v=a s=2
			1 publish v=b s=1
			final n1: b a`, "order@n1"},
		{"sequences that fall between processes", `
			1 publish v=a s=2
			2 publish v=b s=1
			final n1: b a`, "order@n1"},
		{"unknown, at one node only", `
			1 publish v=a unknown
			final n1: a
			final n2:`, "differs@n2"},
		{"the stream says it has more", `
			1 publish v=a s=1
			final n1: a _`, "differs@n1"},
		{"not drained", `
			1 publish v=a s=1
			final n1: a
			9 drained n=n2 unknown`, "unchecked@n2"},
		{"half read and not drained", `
			1 publish v=a s=1
			9 final n=n2 v=a s=1`, "unchecked@n2"},
		{"drained at the second try", `
			1 publish v=a s=1
			9 drained unknown
			final n1: a`, ""},
		{"never read", `1 publish v=a s=1`, "unchecked@"},
	})
}

func TestSets(t *testing.T) {
	ops := story(t, `
		1 publish v=1-1 s=1
		1 publish v=1-2 s=2
		1 publish v=1-3 s=3
		1 publish v=1-4 s=4
		1 publish v=1-5 s=5
		2 publish v=2-1 unknown
		2 publish v=2-2 unknown
		3 publish v=3-1 failed
		4 publish v=4-1 s=7
		4 publish v=4-2 s=8
		final n1: _ 1-2 _ 1-4 _ 2-1 _ x
		final n2: 1-1 1-2 1-3 1-4 _ 2-1 4-1 _`)
	sets, _ := check.Log(ops, "S")
	want := []check.Set{
		{Attempted: 9, Acknowledged: 7, Read: 7, Lost: 2, LostPostfix: 2, Unexpected: 1, Recovered: 1},
		{Node: "n1", Attempted: 9, Acknowledged: 7, Read: 4, Lost: 5, LostPrefix: 3, LostMiddle: 1, LostPostfix: 1, Unexpected: 1, Recovered: 1},
		{Node: "n2", Attempted: 9, Acknowledged: 7, Read: 6, Lost: 2, LostPostfix: 2, Recovered: 1},
	}
	if len(sets) != len(want) {
		t.Fatalf("got %d sets, want %d", len(sets), len(want))
	}
	for i := range want {
		if want[i].Stream = "S"; sets[i] != want[i] {
			t.Errorf("set %d: got  %+v, want %+v", i, sets[i], want[i])
		}
	}
}

func TestFindingsArePutTogether(t *testing.T) {
	_, found := check.Log(story(t, "1 publish v=a s=1\n1 publish v=b s=2\n1 publish v=c s=3\nfinal n1:"), "S")
	if len(found) != 2 {
		t.Fatalf("got %d findings, want 2: one in total and one at n1", len(found))
	}
	f := found[1]
	if f.Count != 3 || f.Stream != "S" || f.Workload != "W" || f.Node != "n1" || !f.Violation() {
		t.Errorf("got %+v, want 3 cases in S at n1", f)
	}
	want := `lost at n1: "a", acknowledged with sequence 1, is not here (at the beginning of what process 1 wrote), read by direct get (and 2 more)`
	if got := f.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
