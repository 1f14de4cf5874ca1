package soak_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/chaos/process"
	"runnel/chaos/process/processtest"
	"runnel/chaos/soak"
)

// server is the one of this module.
var server = processtest.New()

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// TestSoak runs all scenarios for some seconds. The same for longer is runnel soak -long.
func TestSoak(t *testing.T) {
	load := soak.Short()
	load.Length, load.Connections, load.Clients, load.Storms = time.Second, 200, 100, 2
	r, err := soak.Run(t.Context(), soak.Options{Program: server.This(t), Dir: t.TempDir(), Load: load, Tell: func(text string) { t.Log(text) }})
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := soak.Print(&table, r); err != nil {
		t.Fatal(err)
	}
	t.Log(table.String())
	if r.ExitCode() != 0 || len(r.Results) != len(soak.Scenarios()) {
		t.Errorf("code %d after %d scenarios, want 0 after %d", r.ExitCode(), len(r.Results), len(soak.Scenarios()))
	}
	for _, s := range r.Results {
		if s.Verdict == soak.Passed && s.Acked == 0 {
			t.Errorf("%s passed, and nothing was acknowledged", s.Scenario)
		}
		if limited := []string{"connections", "full-disk", "descriptors"}; s.Verdict == soak.NotRunnable && !slices.Contains(limited, s.Scenario) {
			t.Errorf("%s needs nothing of the machine, and was not runnable: %q", s.Scenario, s.Why)
		}
	}
}

// TestUnknown: a scenario that there is not is an error before anything starts.
func TestUnknown(t *testing.T) {
	if _, err := soak.Run(t.Context(), soak.Options{Scenarios: []string{"memory", "weather"}}); err == nil || !strings.Contains(err.Error(), "weather") {
		t.Errorf("got %v, want one that names the scenario", err)
	}
}

// TestNotAServer: a program that does not serve is an error of the way to run it, and no verdict on anybody.
func TestNotAServer(t *testing.T) {
	path, err := exec.LookPath("false")
	if err != nil {
		t.Skip(err)
	}
	r, err := soak.Run(t.Context(), soak.Options{
		Program: process.Program{Path: path}, Dir: t.TempDir(), Load: soak.Short(), Scenarios: []string{"storms"},
	})
	if _, ended := errors.AsType[*process.End](err); !ended || len(r.Results) != 0 {
		t.Errorf("got %v and %d results, want that it has ended", err, len(r.Results))
	}
}

// report has one scenario for each verdict.
func report() *soak.Report {
	return &soak.Report{Program: "some server", Results: []soak.Result{
		{Scenario: "storms", Verdict: soak.Passed, Acked: 10, Before: soak.Usage{MemoryBytes: 1 << 20, Descriptors: 5}, Notes: []string{"fast"}},
		{Scenario: "full-disk", Verdict: soak.NotRunnable, Why: []string{"nobody may mount"}},
		{Scenario: "memory", Verdict: soak.Violated, Missing: 2, Why: []string{"2 messages are missing"}},
	}}
}

func TestPrint(t *testing.T) {
	var b bytes.Buffer
	if err := soak.Print(&b, report()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"some server", "not runnable here", "violated", "memory: 2 messages are missing", "full-disk: nobody may mount", "1.0 MiB", "fast"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := soak.WriteJSON(&b, report()); err != nil {
		t.Fatal(err)
	}
	var got soak.Report
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || len(got.Results) != 3 || got.Results[2].Missing != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestExitCode(t *testing.T) {
	r := report()
	if got := r.ExitCode(); got != 2 {
		t.Errorf("violated: got %d, want 2", got)
	}
	r.Results = slices.DeleteFunc(r.Results, func(s soak.Result) bool { return s.Verdict == soak.Violated })
	if got := r.ExitCode(); got != 0 {
		t.Errorf("passed, or not runnable: got %d, want 0", got)
	}
}

// TestLoads: the long load is more of everything.
func TestLoads(t *testing.T) {
	short, long := soak.Short(), soak.Long()
	if long.Length <= short.Length || long.Connections < 10_000 || long.Consumers <= short.Consumers || long.Storms <= short.Storms ||
		long.Clients <= short.Clients || long.BudgetBytes <= short.BudgetBytes {
		t.Errorf("short %+v, long %+v", short, long)
	}
}
