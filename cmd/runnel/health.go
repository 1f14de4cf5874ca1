package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const healthHelp = `Usage:
  runnel healthcheck [--url http://127.0.0.1:8222/healthz] [--timeout 2s]

Asks a server's monitoring for its health. Exits with 0 if it is well, else with
1 and the reason.

Flags:
`

// maxReasonBytes is how much of an answer is shown.
const maxReasonBytes = 1000

// healthCommand runs "runnel healthcheck": for containers, which have no curl.
// It has no output if all is well, since nobody would read it.
func healthCommand(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("healthcheck", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, healthHelp)
		flags.PrintDefaults()
	}
	url := flags.String("url", "http://127.0.0.1:8222/healthz", "`address` of the health page")
	timeout := flags.Duration("timeout", 2*time.Second, "`time` to wait for the answer")
	if err := flags.Parse(args); err != nil {
		return usageCode(err)
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if err := checkHealth(ctx, *url); err != nil {
		return fail(stderr, err)
	}
	return 0
}

// checkHealth returns why a server is not healthy: it cannot be reached in
// time, or it says so itself.
func checkHealth(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	reason, err := io.ReadAll(io.LimitReader(resp.Body, maxReasonBytes))
	if err != nil {
		reason = []byte(err.Error())
	}
	return fmt.Errorf("health: %s: %s", resp.Status, strings.TrimSpace(string(reason)))
}
