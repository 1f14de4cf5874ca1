package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// humanColumn is one column of the table for people. It is shown if any result
// has a value for it.
type humanColumn struct {
	title   string
	legend  string
	present func(*Result) bool
	value   func(*Result) string
}

// always shows a column in every table.
func always(*Result) bool { return true }

func hasUsage(r *Result) bool      { return r.CPUPerMessage != nil }
func hasLatency(r *Result) bool    { return r.Latency != nil }
func hasDeliveries(r *Result) bool { return r.Deliveries != r.Messages && r.Deliveries > 0 }
func hasConnections(r *Result) bool {
	return r.RSSPerConnection != nil
}

// humanColumns lists the columns from left to right.
func humanColumns() []humanColumn {
	latency := func(title, legend string, pick func(*Latency) float64) humanColumn {
		return humanColumn{title, legend, hasLatency, func(r *Result) string { return formatMicroseconds(pick(r.Latency)) }}
	}
	return []humanColumn{
		{"scenario", "", always, func(r *Result) string { return r.Case }},
		{"messages", "published messages; round trips for request, opened connections for connections, what was read, put or got for js", always, func(r *Result) string { return formatCount(float64(r.Messages)) }},
		{"msg/s", "the same, per second", always, func(r *Result) string { return formatCount(r.MessagesPerSecond) }},
		{"delivered/s", "what all subscribers together received, per second", hasDeliveries, func(r *Result) string { return formatCount(r.DeliveriesPerSecond) }},
		{"payload/s", "payload in and out of the server, per second", func(r *Result) bool { return r.BytesPerSecond > 0 }, func(r *Result) string { return formatBytes(r.BytesPerSecond) }},
		{"cpu/msg", "CPU time of the server process for each message", hasUsage, func(r *Result) string { return formatMicroseconds(*r.CPUPerMessage) }},
		{"memory", "resident memory of the server process at its highest", func(r *Result) bool { return r.RSSPeak != nil }, func(r *Result) string { return formatBytes(float64(*r.RSSPeak)) }},
		{"memory/conn", "growth of that for each connection", hasConnections, func(r *Result) string { return formatBytes(*r.RSSPerConnection) }},
		latency("p50", "half of the messages (requests, connects, acknowledgements) took at most this long", func(l *Latency) float64 { return l.P50 }),
		latency("p90", "90 % at most this", func(l *Latency) float64 { return l.P90 }),
		latency("p99", "99 % at most this", func(l *Latency) float64 { return l.P99 }),
		latency("p99.9", "999 of 1000 at most this", func(l *Latency) float64 { return l.P999 }),
		latency("max", "the slowest of all", func(l *Latency) float64 { return l.Max }),
		{"verified", "every delivery checked: complete, in order, once, unchanged", always, verified},
	}
}

// verified is the verdict as the table has it.
func verified(r *Result) string {
	switch {
	case r.Verdict == VerdictFailed:
		return "FAILED"
	case r.Partial:
		return "PARTIAL"
	case r.Verdict == VerdictPassed:
		return "ok"
	default:
		return "-"
	}
}

// writeHuman writes the table, what its columns mean, and what went wrong.
func writeHuman(w io.Writer, results []Result) error {
	columns := slices.DeleteFunc(humanColumns(), func(c humanColumn) bool {
		return !slices.ContainsFunc(results, func(r Result) bool { return c.present(&r) })
	})
	var t table
	var row []string
	for _, c := range columns {
		row = append(row, c.title)
	}
	t.add(row...)
	for i := range results {
		row = nil
		for _, c := range columns {
			if c.present(&results[i]) {
				row = append(row, c.value(&results[i]))
			} else {
				row = append(row, "")
			}
		}
		t.add(row...)
	}
	if err := t.write(w); err != nil {
		return err
	}
	if err := writeLegend(w, columns); err != nil {
		return err
	}
	for i := range results {
		if err := writeTrouble(w, results[i].Case, &results[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeLegend explains the columns.
func writeLegend(w io.Writer, columns []humanColumn) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	for _, c := range columns {
		if c.legend == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "  %-11s  %s\n", c.title, c.legend); err != nil {
			return err
		}
	}
	return nil
}

// writeTrouble says what was wrong with a run, if anything was.
func writeTrouble(w io.Writer, name string, r *Result) error {
	if r.OK() {
		return nil
	}
	if r.Partial {
		if _, err := fmt.Fprintf(w, "\n%s: PARTIAL: %s\n", name, r.Error); err != nil {
			return err
		}
	}
	if r.Verdict != VerdictFailed {
		return nil
	}
	t := &r.Tally
	if _, err := fmt.Fprintf(w, "\n%s: VERIFICATION FAILED: %d lost, %d duplicated, %d reordered, %d corrupted, %d foreign among %d deliveries\n",
		name, t.Lost, t.Duplicated, t.Reordered, t.Corrupted, t.Foreign, t.Delivered); err != nil {
		return err
	}
	for _, note := range t.Notes {
		if _, err := fmt.Fprintf(w, "  %s\n", note); err != nil {
			return err
		}
	}
	return nil
}

// Brief says in one line what a run came to.
func Brief(r *Result) string {
	text := fmt.Sprintf("%s: %s messages, %s/s", r.Case, formatCount(float64(r.Messages)), formatCount(r.MessagesPerSecond))
	if r.CPUPerMessage != nil {
		text += ", server cpu " + formatMicroseconds(*r.CPUPerMessage) + " each"
	}
	if r.Latency != nil {
		text += ", p50 " + formatMicroseconds(r.Latency.P50) + ", p99 " + formatMicroseconds(r.Latency.P99)
	}
	if !r.OK() {
		text += ": " + verified(r) + " " + r.Error
	}
	return text
}

// listWidth is the width to which WriteList breaks its explanations.
const listWidth = 76

// WriteList explains the scenarios and names their cases.
func (u Suite) WriteList(w io.Writer) error {
	for _, s := range u.scenarios {
		var cases []string
		for _, p := range s.Variants {
			cases = append(cases, s.Name+s.label(p))
		}
		if _, err := fmt.Fprintf(w, "%s\n%s    cases: %s\n\n", s.Name, wrapped(s.Explanation, listWidth), strings.Join(cases, " ")); err != nil {
			return err
		}
	}
	return nil
}

// wrapped breaks a text into indented lines.
func wrapped(text string, width int) string {
	var out, line strings.Builder
	for word := range strings.FieldsSeq(text) {
		if line.Len() > 0 && line.Len()+1+len(word) > width-4 {
			out.WriteString("    " + line.String() + "\n")
			line.Reset()
		}
		if line.Len() > 0 {
			line.WriteByte(' ')
		}
		line.WriteString(word)
	}
	out.WriteString("    " + line.String() + "\n")
	return out.String()
}
