package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runnel/bench"
	"runnel/bench/verify"
)

// single is a run with given cost and throughput.
func single(round int, side bench.Side, name string, cpu, rate float64) bench.Single {
	r := bench.Result{Case: name, MessagesPerSecond: rate, Verdict: bench.VerdictPassed}
	if cpu > 0 {
		r.CPUPerMessage = &cpu
	}
	return bench.Single{Round: round, Side: side, Result: r}
}

// compared is a comparison of two cases in two rounds, with one run that failed.
func compared() bench.Compared {
	failed := single(2, bench.SideB, "idle", 50, 10)
	failed.Result.Verdict = bench.VerdictFailed
	failed.Result.Tally = verify.Tally{Delivered: 3, Duplicated: 1, Notes: []string{"sub: sequence 1 again"}}
	memory := func(s bench.Single, each float64) bench.Single {
		s.Result.RSSPerConnection = &each
		s.Result.Latency = &bench.Latency{P50: each, P99: each * 10}
		return s
	}
	singles := []bench.Single{
		single(1, bench.SideA, "flow", 4, 1000), single(1, bench.SideB, "flow", 2, 4000),
		memory(single(1, bench.SideA, "idle", 100, 10), 2000), memory(single(1, bench.SideB, "idle", 50, 10), 4000),
		single(2, bench.SideB, "flow", 1, 4000), single(2, bench.SideA, "flow", 4, 2000),
		failed, memory(single(2, bench.SideA, "idle", 100, 10), 2000),
	}
	return bench.Compared{
		Schema: bench.SchemaVersion, A: "old -p {port}", B: "new -p {port}", Rounds: 2, Singles: singles,
		Summary: []bench.CaseSummary{
			bench.Summarize("flow", 2, singles), bench.Summarize("idle", 2, singles), bench.Summarize("never ran", 2, singles),
		},
	}
}

func TestSummary(t *testing.T) {
	c := compared()
	flow := c.Summary[0]
	want := []bench.MetricRatio{
		{Metric: "cpu_us_per_message", Ratio: bench.Ratio{A: 4, B: 1.5, Median: 0.375, Min: 0.25, Max: 0.5, Rounds: 2}},
		{Metric: "messages_per_second", Ratio: bench.Ratio{A: 1500, B: 4000, Median: 3, Min: 2, Max: 4, Rounds: 2}},
	}
	if fmt.Sprint(flow.Metrics) != fmt.Sprint(want) || flow.Failed != 0 {
		t.Errorf("flow: got %+v, want %+v", flow, want)
	}
	idle := c.Summary[1]
	if idle.Failed != 1 || idle.Metrics[0].Rounds != 1 {
		t.Errorf("idle: got %+v, want one failed run, and ratios of the other round", idle)
	}
}

func TestGate(t *testing.T) {
	c := compared()
	tests := []struct {
		gate float64
		want []string
	}{
		// Of connections the memory counts, not the CPU.
		{0.3, []string{"flow: cpu_us_per_message ratio 0.38", "idle: rss_bytes_per_connection ratio 2.00", "never ran: no cost"}},
		{0.5, []string{"idle: rss_bytes_per_connection ratio 2.00", "never ran: no cost"}},
		{2, []string{"never ran: no cost"}},
	}
	for _, test := range tests {
		got := c.Above(test.gate)
		if len(got) != len(test.want) {
			t.Errorf("%v: got %q, want %q", test.gate, got, test.want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], test.want[i]) {
				t.Errorf("%v: got %q, want %q", test.gate, got[i], test.want[i])
			}
		}
	}
}

func TestComparedReports(t *testing.T) {
	c := compared()
	for _, format := range []bench.Format{bench.Human, bench.CSV, bench.JSON} {
		var out bytes.Buffer
		if err := bench.WriteCompared(&out, format, &c); err != nil {
			t.Fatal(err)
		}
		golden(t, "compared."+string(format), out.Bytes())
	}
	c.B, c.Control, c.Partial = c.A, true, true
	var out bytes.Buffer
	if err := bench.WriteCompared(&out, bench.Human, &c); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Control:", "PARTIAL:"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// twoCases are short runs for comparisons.
func twoCases(t *testing.T) []bench.Case {
	return []bench.Case{small(t, "pubsub-128", nil), small(t, "connections", nil)}
}

func TestComparisonAlternates(t *testing.T) {
	server := fakeCommand(t)
	var order []string
	comparison := bench.Comparison{
		A: server, B: server, Cases: twoCases(t), Rounds: 3, Target: bench.Target{Verify: true},
		Report: func(s bench.Single) {
			order = append(order, fmt.Sprintf("%d%s:%s", s.Round, s.Side, strings.TrimRight(s.Result.Case, "0123456789")))
		},
	}
	got := comparison.Run(t.Context())
	if !got.OK() || !got.Control || got.Partial {
		t.Errorf("got OK %v, control %v, partial %v", got.OK(), got.Control, got.Partial)
	}
	want := "1a:pubsub- 1b:pubsub- 1a:connections 1b:connections " +
		"2b:pubsub- 2a:pubsub- 2b:connections 2a:connections " +
		"3a:pubsub- 3b:pubsub- 3a:connections 3b:connections"
	if text := strings.Join(order, " "); text != want {
		t.Errorf("order: got %s, want %s", text, want)
	}
	var out bytes.Buffer
	if err := bench.WriteCompared(&out, bench.JSON, &got); err != nil {
		t.Fatal(err)
	}
	var document struct{ Singles []any }
	if err := json.Unmarshal(out.Bytes(), &document); err != nil || len(document.Singles) != 12 {
		t.Errorf("got %d single results, %v, want 12", len(document.Singles), err)
	}
}

// TestComparisonOfStreams gives every server a folder of its own, which is gone afterwards.
func TestComparisonOfStreams(t *testing.T) {
	server := fakeCommand(t) + " {dir}"
	dir := filepath.Join(t.TempDir(), "a place with blanks")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	comparison := bench.Comparison{
		A: server, B: server, Dir: dir, Rounds: 2, Target: bench.Target{Verify: true},
		Cases: []bench.Case{smallStream(t, "async16-128", nil), smallStream(t, "fetch", nil)},
	}
	got := comparison.Run(t.Context())
	for _, s := range got.Singles {
		if !s.Result.OK() {
			t.Errorf("round %d, %s, %s: %s", s.Round, s.Side, s.Result.Case, s.Result.Error)
		}
	}
	if len(got.Singles) != 8 {
		t.Errorf("got %d single results, want 8", len(got.Singles))
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("folders are left: %v, %v", left, err)
	}
}

// TestComparisonWithoutAPlace cannot make the folder.
func TestComparisonWithoutAPlace(t *testing.T) {
	comparison := bench.Comparison{
		A: fakeCommand(t) + " {dir}", B: fakeCommand(t), Dir: filepath.Join(t.TempDir(), "none"), Rounds: 1,
		Cases: []bench.Case{small(t, "pubsub-128", nil)}, Target: bench.Target{Verify: true},
	}
	got := comparison.Run(t.Context())
	if text := got.Singles[0].Result.Error; !strings.Contains(text, "make a folder for the server") || !got.Singles[1].Result.OK() {
		t.Errorf("got %q, and %q of the server without one", text, got.Singles[1].Result.Error)
	}
}

func TestComparisonGoesOnAfterAFailure(t *testing.T) {
	comparison := bench.Comparison{A: fakeCommand(t), B: failingCommand(t), Cases: twoCases(t)[:1], Rounds: 2, Target: bench.Target{Verify: true}}
	got := comparison.Run(t.Context())
	if got.OK() || got.Summary[0].Failed != 2 || len(got.Singles) != 4 {
		t.Errorf("got OK %v, %d failed of %d, want 2 of 4", got.OK(), got.Summary[0].Failed, len(got.Singles))
	}
	if text := got.Singles[1].Result.Error; !strings.Contains(text, "does not feel like it") {
		t.Errorf("error: got %q, want the server's own words", text)
	}
}

func TestComparisonIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := fakeCommand(t)
	comparison := bench.Comparison{
		A: server, B: server, Cases: twoCases(t), Rounds: 5, Target: bench.Target{Verify: true},
		Report: func(s bench.Single) {
			if s.Round == 2 {
				cancel()
			}
		},
	}
	got := comparison.Run(ctx)
	if !got.Partial || got.OK() || len(got.Singles) != 5 {
		t.Errorf("got partial %v, OK %v, %d single results, want 5", got.Partial, got.OK(), len(got.Singles))
	}
	if got.Summary[0].Metrics[0].Rounds != 1 {
		t.Errorf("got %+v, want the ratios of one round", got.Summary[0])
	}
}
