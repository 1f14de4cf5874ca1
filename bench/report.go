package bench

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Format is how results are written.
type Format string

// The formats. CSV and JSON are for machines and stay stable: columns and
// fields are added at the end, never renamed.
const (
	Human Format = "human"
	CSV   Format = "csv"
	JSON  Format = "json"
)

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case Human, CSV, JSON:
		return f, nil
	default:
		return "", fmt.Errorf("unknown format %q: use human, csv or json", name)
	}
}

// SchemaVersion stands in every JSON report. It goes up when the meaning of an
// existing field changes.
const SchemaVersion = 1

// report is the JSON form of results.
type report struct {
	Schema  int      `json:"schema"`
	Results []Result `json:"results"`
}

// WriteResults writes results in the given format.
func WriteResults(w io.Writer, format Format, results []Result) error {
	switch format {
	case CSV:
		return writeCSV(w, results)
	case JSON:
		return writeJSON(w, report{Schema: SchemaVersion, Results: results})
	default:
		return writeHuman(w, results)
	}
}

// writeJSON writes an indented document.
func writeJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// csvColumn is one column of the CSV form; a value that was not measured is
// empty.
type csvColumn struct {
	name  string
	value func(*Result) string
}

func integer[T int | int64](x T) string { return strconv.FormatInt(int64(x), 10) }

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// optional formats a value that may be missing.
func optional[T any](x *T, format func(T) string) string {
	if x == nil {
		return ""
	}
	return format(*x)
}

// latencyColumn picks a value out of a latency that may be missing.
func latencyColumn(pick func(*Latency) float64) func(*Result) string {
	return func(r *Result) string {
		if r.Latency == nil {
			return ""
		}
		return decimal(pick(r.Latency))
	}
}

// csvColumns lists the columns; their order is part of the format.
func csvColumns() []csvColumn {
	return []csvColumn{
		{"case", func(r *Result) string { return r.Case }},
		{"server", func(r *Result) string { return r.Server }},
		{"started", func(r *Result) string { return r.Started.Format("2006-01-02T15:04:05Z07:00") }},
		{"size_bytes", func(r *Result) string { return integer(r.Params.SizeBytes) }},
		{"publishers", func(r *Result) string { return integer(r.Params.Publishers) }},
		{"subscribers", func(r *Result) string { return integer(r.Params.Subscribers) }},
		{"subjects", func(r *Result) string { return integer(r.Params.Subjects) }},
		{"inflight", func(r *Result) string { return integer(r.Params.Inflight) }},
		{"connections", func(r *Result) string { return integer(r.Params.Connections) }},
		{"rate", func(r *Result) string { return decimal(r.Params.Rate) }},
		{"messages", func(r *Result) string { return integer(r.Messages) }},
		{"deliveries", func(r *Result) string { return integer(r.Deliveries) }},
		{"seconds", func(r *Result) string { return decimal(r.Seconds) }},
		{"messages_per_second", func(r *Result) string { return decimal(r.MessagesPerSecond) }},
		{"deliveries_per_second", func(r *Result) string { return decimal(r.DeliveriesPerSecond) }},
		{"bytes_per_second", func(r *Result) string { return decimal(r.BytesPerSecond) }},
		{"cpu_seconds", func(r *Result) string { return optional(r.CPUSeconds, decimal) }},
		{"cpu_us_per_message", func(r *Result) string { return optional(r.CPUPerMessage, decimal) }},
		{"rss_before_bytes", func(r *Result) string { return optional(r.RSSBefore, integer) }},
		{"rss_peak_bytes", func(r *Result) string { return optional(r.RSSPeak, integer) }},
		{"rss_bytes_per_connection", func(r *Result) string { return optional(r.RSSPerConnection, decimal) }},
		{"latency_mean_us", latencyColumn(func(l *Latency) float64 { return l.Mean })},
		{"latency_p50_us", latencyColumn(func(l *Latency) float64 { return l.P50 })},
		{"latency_p90_us", latencyColumn(func(l *Latency) float64 { return l.P90 })},
		{"latency_p99_us", latencyColumn(func(l *Latency) float64 { return l.P99 })},
		{"latency_p99_9_us", latencyColumn(func(l *Latency) float64 { return l.P999 })},
		{"latency_max_us", latencyColumn(func(l *Latency) float64 { return l.Max })},
		{"verdict", func(r *Result) string { return r.Verdict }},
		{"lost", func(r *Result) string { return integer(r.Tally.Lost) }},
		{"duplicated", func(r *Result) string { return integer(r.Tally.Duplicated) }},
		{"reordered", func(r *Result) string { return integer(r.Tally.Reordered) }},
		{"corrupted", func(r *Result) string { return integer(r.Tally.Corrupted) }},
		{"foreign", func(r *Result) string { return integer(r.Tally.Foreign) }},
		{"partial", func(r *Result) string { return strconv.FormatBool(r.Partial) }},
		{"error", func(r *Result) string { return r.Error }},
		{"batch", func(r *Result) string { return integer(r.Params.Batch) }},
		{"replicas", func(r *Result) string { return integer(r.Params.Replicas) }},
		{"memory", func(r *Result) string { return strconv.FormatBool(r.Params.Memory) }},
	}
}

// writeCSV writes a header line and one line for each result.
func writeCSV(w io.Writer, results []Result) error {
	columns := csvColumns()
	line := make([]string, len(columns))
	out := csv.NewWriter(w)
	for i, c := range columns {
		line[i] = c.name
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for i := range results {
		for j, c := range columns {
			line[j] = c.value(&results[i])
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
