package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"runnel/cluster/survey"
)

const clusterHelp = `Usage:
  runnel cluster status [--url http://127.0.0.1:8222/clusterz] [--json] [--stoppable NAME]

Asks any server of a cluster, by its monitoring port, how the cluster is doing:
who leads what, who lags, and which server can be stopped now without anything
standing still. It exits with 0 if all is well, with 1 if it could not be found
out, and with 2 if something is not as it should be.

With --stoppable it exits with 0 if that server can be stopped now, else with 2:
for scripts that restart one server after the other.

Flags:
`

// Exit codes of "runnel cluster status", besides 0 for well.
const (
	exitUnknown = 1
	exitTrouble = 2
)

// maxReportBytes bounds what is read of a report.
const maxReportBytes = 64 << 20

// clusterCommand runs "runnel cluster". It asks over HTTP, like the health check, and not as a client of the system account: so
// it works from a container's shell or a script without credentials, wherever the monitoring port can be reached. What it shows is
// one server's view; a server that is cut off says so, and nothing of what the others think of it.
func clusterCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, clusterHelp)
		flags.PrintDefaults()
	}
	url := flags.String("url", "http://127.0.0.1:8222/clusterz", "`address` of the cluster page of any server")
	timeout := flags.Duration("timeout", 10*time.Second, "`time` to wait for the answer")
	asJSON := flags.Bool("json", false, "write the report as JSON")
	stoppable := flags.String("stoppable", "", "`name` of a server that is to be stopped")
	if len(args) == 0 || args[0] != "status" {
		if len(args) > 0 {
			if err := flags.Parse(args); err != nil {
				return usageCode(err)
			}
		}
		flags.Usage()
		return exitUnknown
	}
	if err := flags.Parse(args[1:]); err != nil {
		return usageCode(err)
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	r, err := fetchReport(ctx, *url)
	if err != nil {
		return fail(stderr, err)
	}
	if *asJSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return fail(stderr, err)
		}
	} else if *stoppable == "" {
		printReport(stdout, r)
	}
	return verdict(r, *stoppable, stderr)
}

// verdict is the exit code: of a server that is to be stopped, or else of the whole. A cluster that moves something is in trouble,
// too: who restarts servers one after the other should wait until that is done. So is one of which a part is not known.
func verdict(r *survey.Report, stoppable string, stderr io.Writer) int {
	if stoppable == "" {
		if len(r.Troubled) > 0 || r.MetaLeader == "" || r.Waiting != "" || len(r.Silent) > 0 {
			return exitTrouble
		}
		return 0
	}
	for i := range r.Servers {
		if s := &r.Servers[i]; s.Name == stoppable {
			if s.SafeToStop {
				return 0
			}
			fmt.Fprintf(stderr, "runnel: %s must not be stopped now: %s\n", s.Name, s.WhyNot)
			return exitTrouble
		}
	}
	return fail(stderr, fmt.Errorf("the cluster has no server %q", stoppable))
}

// fetchReport asks a server. What else the address may lead to is told by its status and the beginning of its answer: a server of an
// older version has no such page, and one that keeps its streams alone says that.
func fetchReport(ctx context.Context, url string) (*survey.Report, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("cluster status: %w", err)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, fmt.Errorf("cluster status: %w (the server needs http_port, and --url its address)", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReportBytes))
	if err != nil {
		return nil, fmt.Errorf("cluster status: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cluster status: %s: %s", resp.Status, strings.TrimSpace(string(body[:min(len(body), maxReasonBytes)])))
	}
	r := &survey.Report{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, fmt.Errorf("cluster status: the answer is no report: %w", err)
	}
	return r, nil
}

// printReport shows a report to people: the whole first, then the servers, since one of them is what they are about to touch, then the
// streams that need looking at. Those that are well are only counted.
func printReport(w io.Writer, r *survey.Report) {
	fmt.Fprintf(w, "cluster %s, as %s sees it\n", r.Cluster, r.By)
	switch {
	case r.Waiting != "":
		fmt.Fprintf(w, "not formed: %s\n", r.Waiting)
	case r.MetaLeader == "":
		fmt.Fprintf(w, "the meta group has no leader: %d of %d voters are needed; no stream can be made or changed\n", r.Quorum, r.Voters)
	default:
		fmt.Fprintf(w, "%s leads the meta group; %d of %d voters are needed\n", r.MetaLeader, r.Quorum, r.Voters)
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
			what = "moves to other servers"
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
func serverState(s *survey.Server) string {
	switch {
	case !s.Online:
		return "unreachable"
	case s.Leader:
		return "leader"
	case !s.Voter:
		return "no vote"
	}
	return "follower"
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
