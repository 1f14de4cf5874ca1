package bench

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Comparison measures two servers in alternation.
type Comparison struct {
	// A and B are the servers' command lines, as StartServer takes them; {dir} stands for a new
	// folder, which is removed after the run.
	A, B string
	// Dir is where these folders are made; empty for the system's place for temporary files.
	Dir string
	// Cases are what each server runs.
	Cases []Case
	// Rounds is how often each case runs on each server.
	Rounds int
	// Port is where the servers listen, one after the other; 0 picks a free one
	// for each run.
	Port int
	// Target holds what the runs have in common; URL and PID are filled in.
	Target Target
	// Report, if set, hears of each single run when it has ended.
	Report func(Single)
}

// Side says which of the two servers a single run measured.
type Side string

// The two sides of a comparison.
const (
	SideA Side = "a"
	SideB Side = "b"
)

// Single is one run of one case on one server.
type Single struct {
	Round  int    `json:"round"` // from 1
	Side   Side   `json:"side"`
	Result Result `json:"result"`
}

// Compared is what a comparison found.
type Compared struct {
	Schema  int           `json:"schema"`
	A       string        `json:"a"`
	B       string        `json:"b"`
	Control bool          `json:"control"` // both are the same server: the ratios show the noise
	Rounds  int           `json:"rounds"`
	Partial bool          `json:"partial"`
	Summary []CaseSummary `json:"summary"`
	Singles []Single      `json:"singles"`
}

// CaseSummary has the ratios of one case.
type CaseSummary struct {
	Case    string        `json:"case"`
	Metrics []MetricRatio `json:"metrics"`
	// Failed counts the single runs that failed; they are part of no ratio.
	Failed int `json:"failed"`
}

// MetricRatio is the comparison of one metric.
type MetricRatio struct {
	Metric string `json:"metric"`
	Ratio
}

// Run measures. Within a round every case runs on both servers, one after the
// other; who is first changes from round to round, so that a drift of the
// machine does not favour one side. Every run has a fresh server. When ctx ends,
// what was measured so far is summed up and marked as partial.
func (c Comparison) Run(ctx context.Context) Compared {
	compared := Compared{Schema: SchemaVersion, A: c.A, B: c.B, Control: c.A == c.B, Rounds: c.Rounds}
	for round := 1; round <= c.Rounds; round++ {
		order := []Side{SideA, SideB}
		if round%2 == 0 {
			order = []Side{SideB, SideA}
		}
		for _, test := range c.Cases {
			for _, side := range order {
				if ctx.Err() != nil {
					break
				}
				single := Single{Round: round, Side: side, Result: c.single(ctx, test, side)}
				compared.Singles = append(compared.Singles, single)
				if c.Report != nil {
					c.Report(single)
				}
			}
		}
	}
	compared.Partial = ctx.Err() != nil
	for _, test := range c.Cases {
		compared.Summary = append(compared.Summary, summarize(test.Name, c.Rounds, compared.Singles))
	}
	return compared
}

// single runs one case on a fresh server.
func (c Comparison) single(ctx context.Context, test Case, side Side) Result {
	command := c.A
	if side == SideB {
		command = c.B
	}
	failed := func(err error) Result {
		return Result{Case: test.Name, Params: test.Params, Verdict: VerdictOff, Partial: true, Error: err.Error()}
	}
	var dir string
	if strings.Contains(command, "{dir}") {
		var err error
		if dir, err = os.MkdirTemp(c.Dir, "runnel-bench-"); err != nil {
			return failed(fmt.Errorf("make a folder for the server: %w", err))
		}
	}
	result := c.measure(ctx, test, command, dir, failed)
	if dir == "" {
		return result
	}
	if err := os.RemoveAll(dir); err != nil && result.Error == "" {
		result.Error = fmt.Sprintf("remove the server's folder: %v", err)
	}
	return result
}

// measure runs one case on a server that it starts and ends.
func (c Comparison) measure(ctx context.Context, test Case, command, dir string, failed func(error) Result) Result {
	server, err := startServer(ctx, command, c.Port, dir, c.Target.Options)
	if err != nil {
		return failed(err)
	}
	defer server.Stop()
	target := c.Target
	target.URL, target.PID = server.URL(), server.PID()
	return test.Run(ctx, target)
}

// metric is one number of a result that is compared.
type metric struct {
	name  string
	title string
	value func(*Result) float64 // 0 where it was not measured
	print func(float64) string
}

// metrics lists what is compared.
func metrics() []metric {
	optionalLatency := func(pick func(*Latency) float64) func(*Result) float64 {
		return func(r *Result) float64 {
			if r.Latency == nil {
				return 0
			}
			return pick(r.Latency)
		}
	}
	return []metric{
		{"cpu_us_per_message", "server cpu/msg", func(r *Result) float64 { return measured(r.CPUPerMessage) }, formatMicroseconds},
		{"messages_per_second", "msg/s", func(r *Result) float64 { return r.MessagesPerSecond }, formatCount},
		{"latency_p50_us", "latency p50", optionalLatency(func(l *Latency) float64 { return l.P50 }), formatMicroseconds},
		{"latency_p99_us", "latency p99", optionalLatency(func(l *Latency) float64 { return l.P99 }), formatMicroseconds},
		{"rss_peak_bytes", "memory", func(r *Result) float64 { return float64(measured(r.RSSPeak)) }, formatBytes},
		{"rss_bytes_per_connection", "memory/conn", func(r *Result) float64 { return measured(r.RSSPerConnection) }, formatBytes},
	}
}

// measured is a value, or zero where there is none.
func measured[T int64 | float64](x *T) T {
	if x == nil {
		return 0
	}
	return *x
}

// summarize compares one case over all rounds.
func summarize(name string, rounds int, singles []Single) CaseSummary {
	summary := CaseSummary{Case: name}
	for i := range singles {
		if s := &singles[i]; s.Result.Case == name && !s.Result.OK() {
			summary.Failed++
		}
	}
	for _, m := range metrics() {
		a, b := make([]float64, rounds), make([]float64, rounds)
		for i := range singles {
			s := &singles[i]
			switch {
			case s.Result.Case != name || !s.Result.OK():
			case s.Side == SideA:
				a[s.Round-1] = m.value(&s.Result)
			default:
				b[s.Round-1] = m.value(&s.Result)
			}
		}
		if ratio, ok := NewRatio(a, b); ok {
			summary.Metrics = append(summary.Metrics, MetricRatio{m.name, ratio})
		}
	}
	return summary
}

// OK reports whether every single run went through.
func (c *Compared) OK() bool {
	for i := range c.Singles {
		if !c.Singles[i].Result.OK() {
			return false
		}
	}
	return !c.Partial
}

// Above lists in words the cases whose cost in b is more than gate times that in
// a: CPU per message, or memory for each connection where that is what the case
// is about. A case without such a ratio is listed too, since nothing was shown.
func (c *Compared) Above(gate float64) []string {
	var above []string
	for _, s := range c.Summary {
		ratio, found := s.cost()
		switch {
		case !found:
			above = append(above, s.Case+": no cost was measured")
		case ratio.Median > gate:
			above = append(above, fmt.Sprintf("%s: %s ratio %.2f is above %.2f", s.Case, ratio.Metric, ratio.Median, gate))
		}
	}
	return above
}

// cost picks the ratio that a gate is about.
func (s *CaseSummary) cost() (MetricRatio, bool) {
	var cost MetricRatio
	found := false
	for _, m := range s.Metrics {
		if m.Metric == "rss_bytes_per_connection" || m.Metric == "cpu_us_per_message" {
			cost, found = m, true // the later one, memory, wins
		}
	}
	return cost, found
}
