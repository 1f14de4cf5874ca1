package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Print writes a report for people.
func Print(w io.Writer, r *Report) error {
	fmt.Fprintf(w, "%s under load\n\n", r.Program)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\tverdict\tacked\tmissing\tunsure\tmemory before/peak/after\tdescriptors\ttook")
	for i := range r.Results {
		s := &r.Results[i]
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s / %s / %s\t%d / %d / %d\t%v\n", s.Scenario, s.Verdict, s.Acked, s.Missing, s.Unsure,
			mib(s.Before.MemoryBytes), mib(s.Peak.MemoryBytes), mib(s.After.MemoryBytes),
			s.Before.Descriptors, s.Peak.Descriptors, s.After.Descriptors, s.Took.Round(100*time.Millisecond))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range r.Results {
		s := &r.Results[i]
		for _, why := range s.Why {
			fmt.Fprintf(w, "\n%s: %s", s.Scenario, why)
		}
		for _, note := range s.Notes {
			fmt.Fprintf(w, "\n  %s: %s", s.Scenario, note)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// WriteJSON writes a report for machines. Times are nanoseconds.
func WriteJSON(w io.Writer, r *Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
