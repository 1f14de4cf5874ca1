package chaos

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// ServersFolder is the folder in the campaign's where the servers have theirs.
const ServersFolder = "servers"

// Print writes what came of a campaign, for people.
func (o *Outcome) Print(w io.Writer) {
	fmt.Fprintf(w, "\n%s, %d servers, R%d, %v of load, %d faults, seed %d\n\n",
		o.Options.Program, o.Options.Servers, o.Options.Replicas, o.Options.Length, len(o.Plan), o.Options.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "workload\toperation\tok\trefused\tunknown\tseconds with success\tlongest gap\t")
	for _, f := range o.Figures {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%.0f %%\t%v\t\n", f.Workload, f.Kind, f.OK, f.Failed, f.Unknown, 100*f.Share, f.LongestGap.Round(10*time.Millisecond))
	}
	t.Flush()
	if len(o.Sets) > 0 {
		fmt.Fprintln(w)
		fmt.Fprintln(t, "stream\tat\tacknowledged\tread\tlost\tunexpected\trecovered\t")
		for _, s := range o.Sets {
			at := s.Node
			if at == "" {
				at = "all together"
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t\n", s.Stream, at, s.Acknowledged, s.Read, s.Lost, s.Unexpected, s.Recovered)
		}
		t.Flush()
	}
	for _, text := range o.Missing {
		fmt.Fprintf(w, "\nnot runnable here: %s", text)
	}
	for _, text := range o.Faults {
		fmt.Fprintf(w, "\nserver: %s", text)
	}
	for i := range o.Findings {
		fmt.Fprintf(w, "\n%s: %s", o.Findings[i].Workload, &o.Findings[i])
	}
	if o.Violated() {
		fmt.Fprintln(w, "\n\nVIOLATED")
	} else {
		fmt.Fprintln(w, "\n\nnothing was violated")
	}
}
