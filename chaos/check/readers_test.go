package check_test

import (
	"testing"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

func TestReaders(t *testing.T) {
	sent := `
		1 publish v=a s=1
		1 publish v=b s=2
		1 publish v=c s=3
		`
	readers := func(removals bool) func([]history.Operation) []check.Finding {
		return func(ops []history.Operation) []check.Finding {
			return check.Readers(ops, check.ReadersConfig{Stream: "S", Removals: removals})
		}
	}
	checkTales(t, readers(false), []tale{
		{"two readers, one behind", sent + `
			8 read v=a s=1
			9 read v=a s=1 n=n2
			8 read v=b s=2
			8 read v=c s=3
			9 read v=b s=2 n=n3
			final *: a b c`, ""},
		{"an unknown one that happened", `
			1 publish v=a unknown
			9 read v=a s=1
			final *: a`, ""},
		{"no reader", sent + `final *: a b c`, ""},
		{"a gap in which nothing is known", `
			1 publish v=a s=1
			1 publish v=c s=3
			9 read v=a s=1
			9 read v=c s=3
			final *: a _ c`, ""},
		{"back", sent + `
			9 read v=a s=1
			9 read v=b s=2
			9 read v=a s=1
			final *: a b c`, "order@n1"},
		{"twice", sent + `
			9 read v=a s=1
			9 read v=a s=1
			final *: a b c`, "order@n1"},
		{"left out in the middle", sent + `
			9 read v=a s=1
			9 read v=c s=3 n=n2
			final *: a b c`, "skipped@n2"},
		{"left out at the beginning", sent + `
			9 read v=b s=2
			final *: a b c`, "skipped@n1"},
		{"readers differ", `
			1 publish v=a unknown
			1 publish v=b unknown
			8 read v=a s=1
			9 read v=b s=1 n=n2
			final n3:`, "conflict@n2 vanished@n3"},
		{"a reader and an ack differ", `
			1 publish v=a s=1
			1 publish v=b unknown
			9 read v=b s=1
			final n1: b`, "conflict@n1"},
		{"gone later", `
			1 publish v=a unknown
			9 read v=a s=1
			final n1: a
			final n2:`, "vanished@n2"},
		{"never sent", `
			9 read v=x s=1
			final n1: x`, "unexpected@n1"},
		{"refused", `
			1 publish v=a failed
			9 read v=a s=1
			final n1: a`, "refused@n1"},
		{"a sequence that is far away", `
			1 publish v=a s=1
			9 read v=a s=18446744073709551615
			final n1: a`, "skipped@n1 vanished@n1"},
		{"nothing to compare with", `
			1 publish v=a s=1
			9 read v=a s=1`, "unchecked@"},
	})
	checkTales(t, readers(true), []tale{
		{"limits take what was read, and what was not", sent + `
			9 read v=a s=1
			9 read v=c s=3
			final *: _ _ c`, ""},
		{"back all the same", sent + `
			9 read v=b s=2
			9 read v=a s=1
			final *: a b c`, "order@n1"},
	})
}
