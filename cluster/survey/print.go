package survey

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print shows a report to people: the whole first, then the servers, since one of them is what they are about to touch, then the
// streams that need looking at. Those that are well are only counted.
func Print(w io.Writer, r *Report) {
	fmt.Fprintf(w, "cluster %s, as %s sees it\n", r.Cluster, r.By)
	switch {
	case r.Waiting != "":
		fmt.Fprintf(w, "not formed: %s\n", r.Waiting)
	case r.MetaLeader == "":
		fmt.Fprintf(w, "the meta group has no leader: %d of %d voters are needed; no stream can be made or changed\n", r.Quorum, r.Voters)
	default:
		fmt.Fprintf(w, "%s leads the meta group; %d of %d voters are needed\n", r.MetaLeader, r.Quorum, r.Voters)
	}
	if r.FeatureLevel > 0 {
		fmt.Fprintf(w, "feature level %d\n", r.FeatureLevel)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVER\tSTATE\tSTREAMS\tLEADS\tONLY HERE\tSTORED\tDISK FREE\tSTOP IT NOW?")
	for i := range r.Servers {
		s := &r.Servers[i]
		stop := "yes"
		if !s.SafeToStop {
			stop = "no: " + s.WhyNot
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n", s.Name, serverState(s), s.Streams, s.Led, s.Alone, sizeText(s.StoreBytes), sizeText(s.FreeBytes), stop)
	}
	_ = t.Flush() // to a terminal, or a buffer
	if len(r.Silent) > 0 {
		fmt.Fprintf(w, "\nnothing heard from %s: what they lead is not known\n", strings.Join(r.Silent, ", "))
	}
	fmt.Fprintf(w, "\nstreams: %d; not as they should be, or moving: %d\n", r.Streams, len(r.Troubled)+r.MoreTroubled)
	if len(r.Troubled) == 0 {
		return
	}
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ACCOUNT\tSTREAM\tLEADER\tWHAT")
	for i := range r.Troubled {
		s := &r.Troubled[i]
		what := s.Trouble
		if what == "" {
			if what = "moves to other servers"; s.Step != "" {
				what += ": " + s.Step
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.Account, s.Name, dash(s.Leader), what)
	}
	_ = t.Flush()
	if r.MoreTroubled > 0 {
		fmt.Fprintf(w, "and %d more\n", r.MoreTroubled)
	}
}

// serverState says in a word or two how a server is doing in the meta group. That a server cannot be reached goes before
// everything else, which would be old.
func serverState(s *Server) string {
	state := "follower"
	switch {
	case !s.Online:
		return "unreachable"
	case s.Leader:
		state = "leader"
	case !s.Voter:
		state = "no vote"
	}
	if s.Full {
		state += ", disk full"
	}
	return state
}

// sizeText shortens a size; what is 0 is not known, or nothing.
func sizeText(n int64) string {
	if n <= 0 {
		return "-"
	}
	x := float64(n)
	for _, unit := range [...]string{"B", "KiB", "MiB", "GiB"} {
		if x < 1024 {
			return fmt.Sprintf("%.4g %s", x, unit)
		}
		x /= 1024
	}
	return fmt.Sprintf("%.4g TiB", x)
}

// dash stands for nothing.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
