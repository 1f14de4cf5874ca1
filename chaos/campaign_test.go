package chaos_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runnel/chaos"
	"runnel/chaos/process"
	"runnel/chaos/process/processtest"
	"runnel/chaos/report"
)

// server is the one of this module.
var server = processtest.New()

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// program is the server of this module.
func program(t *testing.T) process.Program {
	t.Helper()
	return server.This(t)
}

// run runs a campaign.
func run(t *testing.T, o chaos.Options) *report.Run {
	t.Helper()
	o.Dir = t.TempDir()
	o.Tell = func(text string) { t.Log(text) }
	out, err := chaos.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMix has all workloads work on a cluster while servers are killed, paused and cut off, and loses nothing. Seeds are the rounds.
func TestMix(t *testing.T) {
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel() // mostly it waits
			out := run(t, chaos.Options{
				Program: program(t), Faults: mixOfFaults, Length: mixLength, Fault: 3 * time.Second, Quiet: 3 * time.Second, Rate: 20, Processes: 4, Seed: seed,
				Liveness: 20 * time.Second, // other tests run beside this one
			})
			tell(t, out)
			if out.Verdict != report.Passed {
				t.Errorf("seed %d: got %s", seed, out.Verdict)
			}
			if len(out.Faults) < 2 {
				t.Errorf("seed %d: %d faults, want some", seed, len(out.Faults))
			}
		})
	}
}

// TestRunIsCutShort ends a campaign early: what has happened until then is checked.
func TestRunIsCutShort(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, err := chaos.Run(ctx, chaos.Options{
		Program: program(t), Workloads: []string{"W1"}, Faults: []string{chaos.NoFaults}, Length: time.Hour, Rate: 100, Dir: t.TempDir(),
		Tell: func(text string) {
			if strings.Contains(text, "workloads for") {
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Verdict != report.Incomplete || len(out.Findings) > 0 || len(out.Sets) == 0 {
		t.Errorf("got %s, %d sets and %v", out.Verdict, len(out.Sets), out.Findings)
	}
}

// TestFaultIsNotDone wants files damaged that somebody else has taken away: what was not done is not passed.
func TestFaultIsNotDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, err := chaos.Run(ctx, chaos.Options{
		Program: program(t), Workloads: []string{"W1"}, Faults: []string{"damage-wal"}, Length: time.Minute, Fault: 2 * time.Second, Quiet: 4 * time.Second,
		Rate: 20, Processes: 2, Liveness: 20 * time.Second, Dir: dir,
		Tell: func(text string) {
			t.Log(text)
			if strings.Contains(text, "could not be done") {
				cancel()
			}
			if _, name, ok := strings.Cut(text, "damage-wal of "); ok {
				logs := filepath.Join(dir, chaos.ServersFolder, strings.Fields(name)[0], "streams", "runnel", "wal")
				if err := os.Rename(logs, filepath.Join(dir, "taken")); err != nil {
					t.Error(err)
				}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Verdict != report.Incomplete || len(out.Findings) == 0 {
		t.Errorf("got %s and %v", out.Verdict, out.Findings)
	}
}

func TestOptions(t *testing.T) {
	p := process.Program{Path: "x"}
	tests := []struct {
		name    string
		options chaos.Options
		want    string
	}{
		{"no program", chaos.Options{Dir: "d"}, "server program"},
		{"no folder", chaos.Options{Program: p}, "folder"},
		{"more replicas than servers", chaos.Options{Program: p, Dir: "d", Servers: 3, Replicas: 5}, "5 replicas need as many servers, and there are 3"},
		{"no such workload", chaos.Options{Program: p, Dir: "d", Workloads: []string{"W99"}}, `no workload "W99"; there are [W1 `},
		{"no such condition", chaos.Options{Program: p, Dir: "d", Condition: "7"}, `no condition "7"; there are 5: forgetful-majority, `},
		{"no such fault", chaos.Options{Program: p, Dir: "d", Faults: []string{"kick"}}, `no fault "kick"; there are: kill, `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := chaos.Run(t.Context(), test.options); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}
