package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"runnel/cluster/survey"
)

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
		survey.Print(stdout, r)
	}
	return verdict(r, *stoppable, stderr)
}

// verdict is the exit code: of a server that is to be stopped, or else of the whole. A cluster that moves something is in trouble,
// too: who restarts servers one after the other should wait until that is done. So is one of which a part is not known.
func verdict(r *survey.Report, stoppable string, stderr io.Writer) int {
	if stoppable == "" {
		if !r.Well() {
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
