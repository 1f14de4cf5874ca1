package report_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
	"runnel/chaos/report"
)

// done is a publish that ended OK.
func done(workload string, end, took time.Duration) history.Operation {
	return history.Operation{Workload: workload, Kind: history.Publish, Stream: "S", Value: fmt.Sprint(end, took), Start: end - took, End: end, Result: history.OK}
}

func TestSeries(t *testing.T) {
	var ops []history.Operation
	for i := range 200 {
		ops = append(ops, done("W10", 500*time.Millisecond, time.Duration(200-i)*time.Millisecond))
	}
	unknown, failed := done("W2", 2500*time.Millisecond, time.Second), done("W2", 2*time.Second, time.Second)
	unknown.Result, failed.Result = history.Unknown, history.Failed
	fetch := done("W2", 9*time.Second, time.Second)
	fetch.Kind = history.Fetch
	ops = append(ops, unknown, failed, done("W2", 999*time.Millisecond, 7*time.Millisecond), fetch)
	r := &report.Run{}
	r.Conclude(ops, nil, nil, "")
	want := []report.Series{
		{Workload: "W2", Points: []report.Point{{OK: 1, P50: 7 * time.Millisecond, P99: 7 * time.Millisecond}, {}, {Failed: 1, Unknown: 1}}},
		{Workload: "W10", Points: []report.Point{{OK: 200, P50: 100 * time.Millisecond, P99: 198 * time.Millisecond}}},
	}
	if fmt.Sprint(r.Series) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", r.Series, want)
	}
}

func TestAround(t *testing.T) {
	var ops []history.Operation
	for i := range 200 {
		o := done("W1", time.Duration((i*37)%200+1)*time.Second, time.Second)
		o.Sequence = uint64(o.Start/time.Second) + 1
		ops = append(ops, o)
		other := o
		other.Stream = "other"
		ops = append(ops, other)
		o.Kind, o.Node = history.Final, "n2"
		ops = append(ops, o)
	}
	for i, kind := range []string{history.Fetch, history.Nak, history.Read, history.Stall} { // the last two are not shown
		ops = append(ops, history.Operation{Kind: kind, Stream: "S", Value: "v", Sequence: 1000 + uint64(i), Start: time.Hour + time.Duration(i)})
	}
	ops = append(ops,
		history.Operation{Kind: history.Fault, Value: "then", Start: 90 * time.Second, End: 120 * time.Second},
		history.Operation{Kind: history.Fault, Value: "before", Start: 80 * time.Second, End: 90 * time.Second})
	at := func(kind string, sequence uint64) history.Operation {
		i := slices.IndexFunc(ops, func(o history.Operation) bool { return o.Kind == kind && o.Sequence == sequence })
		return ops[i]
	}
	tests := []struct {
		name string
		of   []history.Operation
		want string
	}{
		{"nothing", nil, ""},
		{"a request", []history.Operation{at(history.Publish, 100)}, "fault-0 publish-97 publish-98 publish-99 publish-101 publish-102 publish-103"},
		{"the first", []history.Operation{at(history.Publish, 1)}, "publish-2 publish-3 publish-4"},
		{"a worker", []history.Operation{at(history.Fetch, 1000)}, "publish-198 publish-199 publish-200 nak-1001"},
		{"a final read", []history.Operation{at(history.Final, 199)}, "final-196 final-197 final-198 final-200"},
		{"neighbours", []history.Operation{at(history.Publish, 10), at(history.Publish, 11)}, "publish-7 publish-8 publish-9 publish-12 publish-13 publish-14"},
		{"the end of the final reads", []history.Operation{{Kind: history.Drained, Stream: "S", Start: 99 * time.Second, End: 99 * time.Second}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &report.Run{}
			r.Conclude(ops, nil, []check.Finding{{Kind: check.Lost, Count: 1, Operations: tt.of}}, "")
			var got []string
			for _, o := range r.Findings[0].Around {
				got = append(got, fmt.Sprintf("%s-%d", o.Kind, o.Sequence))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got  %q\nwant %q", strings.Join(got, " "), tt.want)
			}
		})
	}
}

// TestLongRun wants a page that stays small, whatever the run was.
func TestLongRun(t *testing.T) {
	r := &report.Run{Schedule: strings.Repeat("long ", 1000), Duration: 10 * time.Hour}
	var ops []history.Operation
	for s := range 36_000 {
		for _, w := range []string{"W1", "W2", "W3"} {
			ops = append(ops, done(w, time.Duration(s)*time.Second+900*time.Millisecond, time.Duration(1+s%100)*time.Millisecond))
		}
	}
	for i := range 2000 {
		start := time.Duration(i*18) * time.Second
		ops = append(ops, history.Operation{Kind: history.Fault, Node: fmt.Sprintf("n%d", i%5), Value: "kill", Start: start, End: start + 5*time.Second, Error: strings.Repeat("x", 1<<20>>10)})
	}
	findings := make([]check.Finding, 250)
	for i := range findings {
		findings[i] = check.Finding{Kind: check.Lost, Count: 12_345, Text: strings.Repeat("y", 100_000)}
	}
	r.Conclude(ops, nil, findings, "")
	page := html(t, r)
	if len(page) > 2<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	for _, want := range []string{"150 more findings are in the JSON report", "1\u202f500 more are in the JSON report", "12\u202f345 such cases", ">10:00:00<", "yyy…"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page has no %q", want)
		}
	}
	wellFormed(t, string(page))
}

func BenchmarkConclude(b *testing.B) {
	ops := make([]history.Operation, 0, 1_000_000)
	for i := range cap(ops) {
		ops = append(ops, done("W1", time.Duration(i)*time.Millisecond+time.Second, time.Duration(i%100)*time.Millisecond))
	}
	findings := []check.Finding{{Kind: check.Lost, Count: 1, Operations: ops[500:503]}}
	b.ReportAllocs()
	for b.Loop() {
		new(report.Run).Conclude(ops, nil, findings, "")
	}
}
