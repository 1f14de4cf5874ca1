package chaos

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"runnel/chaos/report"
)

// Print writes what came of a campaign, for people.
func Print(w io.Writer, r *report.Run) {
	fmt.Fprintf(w, "\n%s, %d servers, R%d, %d faults, seed %d\n\n", r.Server.Version, r.Servers, r.Replicas, len(r.Faults), r.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "workload\toperation\tok\trefused\tunknown\tseconds with success\tlongest gap\t")
	for _, f := range r.Figures {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%.0f %%\t%v\t\n", f.Workload, f.Kind, f.OK, f.Failed, f.Unknown, 100*f.Share, f.LongestGap.Round(10*time.Millisecond))
	}
	t.Flush()
	if len(r.Sets) > 0 {
		fmt.Fprintln(w)
		fmt.Fprintln(t, "stream\tat\tby\tacknowledged\tread\tlost\tunexpected\trecovered\t")
		for _, s := range r.Sets {
			at, by := s.Node, "consumer" // a server is read in two ways, which must show the same
			switch {
			case at == "":
				at, by = "all together", ""
			case s.Consumer == "":
				by = "direct get"
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t\n", s.Stream, at, by, s.Acknowledged, s.Read, s.Lost, s.Unexpected, s.Recovered)
		}
		t.Flush()
	}
	fmt.Fprintln(w)
	for _, n := range r.NotRunnable {
		fmt.Fprintf(w, "not runnable here: %s: %s\n", n.What, n.Why)
	}
	for i := range r.Findings {
		fmt.Fprintf(w, "%s %s\n", r.Findings[i].Workload, &r.Findings[i].Finding)
	}
	fmt.Fprintf(w, "\n%s %s\n", r.Verdict, r.Reason)
}
