package chaos_test

import (
	"strings"
	"testing"
	"time"

	"runnel/chaos"
	"runnel/chaos/check"
	"runnel/chaos/report"
)

// TestPrint has each part of a run in the text, and no table of what there is not.
func TestPrint(t *testing.T) {
	r := &report.Run{
		Server: report.Server{Version: "runnel 1.0"}, Servers: 3, Replicas: 3, Seed: 42, Verdict: report.Passed, Faults: []report.Fault{{Name: "kill"}, {Name: "cut"}},
	}
	var b strings.Builder
	chaos.Print(&b, r)
	for _, want := range []string{"runnel 1.0, 3 servers, R3, 2 faults, seed 42\n", "longest gap", string(report.Passed)} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "acknowledged") {
		t.Errorf("a table of streams, and there are none:\n%s", b.String())
	}

	r.Verdict, r.Reason = report.Incomplete, "it was cut short"
	r.Figures = []check.Figures{{Workload: "W1", Kind: "publish", OK: 9, Failed: 8, Unknown: 7, Share: 0.99, LongestGap: 1234 * time.Millisecond}}
	r.Sets = []check.Set{
		{Stream: "LOG", Acknowledged: 5, Read: 6, Lost: 1, Unexpected: 2, Recovered: 3},
		{Stream: "LOG", Node: "n1", Acknowledged: 5, Read: 4},
		{Stream: "LOG", Node: "n1", Consumer: "reader", Acknowledged: 5, Read: 3},
	}
	r.NotRunnable = []report.NotRunnable{{What: "forget", Why: "nobody may trace"}}
	b.Reset()
	chaos.Print(&b, r)
	rows := make(map[string]bool) // with one space between cells
	for line := range strings.Lines(b.String()) {
		rows[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, want := range []string{
		"W1 publish 9 8 7 99 % 1.23s", "LOG all together 5 6 1 2 3", "LOG n1 direct get 5 4 0 0 0", "LOG n1 consumer 5 3 0 0 0",
		"not runnable here: forget: nobody may trace", string(report.Incomplete) + " it was cut short",
	} {
		if !rows[want] {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
}
