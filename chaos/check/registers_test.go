package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

func TestRegisters(t *testing.T) {
	registers := func(refusals bool) func([]history.Operation) []check.Finding {
		return func(ops []history.Operation) []check.Finding {
			return check.Registers(ops, check.RegistersConfig{Stream: "S", Refusals: refusals})
		}
	}
	checkTales(t, registers(true), []tale{
		{"one after the other", `
			1 swap k=r v=a e=0 s=1
			2 get k=r v=a s=1
			2 swap k=r v=b e=1 s=5
			1 swap k=r v=c e=1 failed
			1 get k=r v=b s=5
			final *: r=a _ _ _ r=b`, ""},
		{"registers do not touch each other", `
			1 swap k=r v=a e=0 s=1
			1 swap k=q v=b e=0 s=2
			final *: r=a q=b`, ""},
		{"empty until something is there", `
			2 get k=r s=0
			1 swap k=r v=a e=0 s=1
			final *: r=a`, ""},
		{"a read during a swap sees the old or the new", `
			1 swap k=r v=a e=0 s=1 t=1-5
			2 get k=r s=0 t=2-3
			3 get k=r v=a s=1 t=3.5-4
			final *: r=a`, ""},
		{"unknown that happened and was replaced", `
			1 swap k=r v=a e=0 unknown
			2 stale-get k=r v=a s=1
			2 swap k=r v=b e=1 s=2
			final *: _ r=b`, ""},
		{"unknown that did not happen", `
			1 swap k=r v=a e=0 unknown
			2 swap k=r v=b e=0 s=1
			final *: r=b`, ""},
		{"unknown that happened long after", `
			1 swap k=r v=a e=0 unknown t=1-2
			2 get k=r s=0 t=3-4
			2 swap k=r v=b e=0 failed t=6-7
			final *: r=a`, ""},
		{"unknown that nobody saw, but others were refused for", `
			1 swap k=r v=a e=0 s=1
			1 swap k=r v=b e=1 unknown
			2 swap k=r v=c e=1 failed
			final n1: r=a r=b`, ""},
		{"unknown that nobody saw, and its revision is known from a refusal", `
			1 swap k=r v=a e=0 unknown
			2 swap k=r v=b e=7 s=8
			final n1: _ _ _ _ _ _ _ r=b`, ""},
		{"a stale read at another node", `
			1 swap k=r v=a e=0 s=1
			1 swap k=r v=b e=1 s=2
			2 stale-get k=r v=a s=1 n=n2
			3 stale-get k=r s=0 n=n3
			final *: r=a r=b`, ""},

		{"two swaps of one revision", `
			1 swap k=r v=a e=0 s=1
			2 swap k=r v=b e=0 s=2
			final n1: r=a r=b`, "fork@n1 impossible@"},
		{"an unknown one that was seen, and another of the same revision", `
			1 swap k=r v=a e=0 unknown
			2 stale-get k=r v=a s=1 n=n3
			2 swap k=r v=b e=0 s=2
			final n1: _ r=b`, "fork@n1 impossible@"},
		{"one revision with two values", `
			1 swap k=r v=a e=0 unknown
			2 swap k=r v=b e=0 s=1
			3 stale-get k=r v=a s=1 n=n3
			final n1: r=b`, "conflict@n1 fork@n1 impossible@"},
		{"a read of the old after the new", `
			1 swap k=r v=a e=0 s=1
			1 swap k=r v=b e=1 s=2
			2 get k=r v=a s=1
			final n1: r=a r=b`, "impossible@"},
		{"a read of nothing after something", `
			1 swap k=r v=a e=0 s=1
			2 get k=r s=0
			final n1: r=a`, "impossible@"},
		{"an unknown one that must have happened, and then has not", `
			1 swap k=r v=a e=0 s=1
			1 swap k=r v=b e=1 unknown
			2 swap k=r v=c e=1 failed
			2 get k=r v=a s=1
			final n1: r=a`, "impossible@"},
		{"refused without reason", `
			1 swap k=r v=a e=0 s=1
			2 swap k=r v=b e=1 failed
			final n1: r=a`, "impossible@"},
		{"a swap of a revision that never was", `
			2 swap k=r v=b e=7 s=8
			final n1: _ _ _ _ _ _ _ r=b`, "impossible@"},
		{"a swap in time before what it stems from", `
			2 swap k=r v=b e=1 s=2
			1 swap k=r v=a e=0 s=1
			final n1: r=a r=b`, "impossible@"},
		{"lost in the end", `
			1 swap k=r v=a e=0 s=1
			1 swap k=r v=b e=1 s=2
			final n1: r=a r=b
			final n2: r=a`, "differs@n2 lost@n2"},
		{"all lost", `
			1 swap k=r v=a e=0 s=1
			final n1:`, "lost@n1"},
		{"a revision that falls", `
			1 swap k=r v=a e=0 s=5
			1 swap k=r v=b e=5 s=4
			final n1: _ _ _ r=b r=a`, "order@n1"},
		{"elsewhere than acknowledged", `
			1 swap k=r v=a e=0 s=1
			2 stale-get k=r v=a s=2
			final n1: r=a`, "moved@n1"},
		{"never sent", `
			1 swap k=r v=a e=0 s=1
			2 stale-get k=r v=x s=1
			final n1: r=a`, "conflict@n1 unexpected@n1"},
		{"refused and there", `
			1 swap k=r v=a e=3 failed
			2 stale-get k=r v=a s=1
			final n1:`, "refused@n1"},
	})
	checkTales(t, registers(false), []tale{
		{"a refusal by what an old leader knew", `
			1 swap k=r v=a e=0 s=1
			2 swap k=r v=b e=1 failed
			final *: r=a`, ""},
	})
}

func TestRegistersWithStaleLeaders(t *testing.T) {
	checkTales(t, func(ops []history.Operation) []check.Finding {
		return check.Registers(ops, check.RegistersConfig{Stream: "S", Refusals: true, StaleLeaders: true})
	}, []tale{
		{"an old leader answers", `
			1 swap k=r v=a e=0 s=1
			1 swap k=r v=b e=1 s=2
			2 get k=r v=a s=1
			final *: r=a r=b`, ""},
		{"an old leader has another past", `
			1 swap k=r v=a e=0 unknown
			1 swap k=r v=b e=0 s=2
			2 get k=r v=a s=1
			final n1: _ r=b`, "fork@n1 impossible@"},
	})
}

// TestRegisterThatIsTooBusy wants the search given up, and said so, where it would take for ever: very many
// swaps at the same time of which nobody knows anything, and no order that is possible.
func TestRegisterThatIsTooBusy(t *testing.T) {
	var b strings.Builder
	b.WriteString("1 swap k=r v=a e=0 s=1 t=0-1\n")
	for i := range 60 {
		fmt.Fprintf(&b, "%d swap k=r v=u%d e=1 unknown t=1-2\n", i+2, i)
		fmt.Fprintf(&b, "%d swap k=r v=w%d e=%d failed t=1.%d-900\n", i+100, i, i+2, i+1)
	}
	b.WriteString("1 get k=r s=0 t=3-4\n")
	b.WriteString("final n1: r=a")
	found := check.Registers(story(t, b.String()), check.RegistersConfig{Stream: "S", Refusals: true, Timeout: 50 * time.Millisecond})
	if got := kinds(found); got != "unchecked@" && got != "impossible@" {
		t.Errorf("got %q, want that it could not be checked, or what is wrong", got)
	}
	for _, f := range found {
		t.Log(f.String())
	}
}
