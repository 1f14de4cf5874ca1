package chaos_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/chaos"
	"runnel/chaos/fault"
	"runnel/chaos/process"
	"runnel/chaos/workload"
)

// complete is some options with their defaults.
func complete(t *testing.T, o chaos.Options) chaos.Options {
	t.Helper()
	o.Program, o.Dir = process.Program{Path: "x"}, "d"
	o, err := chaos.Complete(o)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestDefaults: what is zero gets a default, what is not stays, and a condition has its own servers, replicas and rounds.
func TestDefaults(t *testing.T) {
	type part struct {
		servers, replicas, rounds, processes int
		length, fault, quiet                 time.Duration
		rate                                 float64
	}
	usual := part{3, 3, 0, 8, time.Minute, 10 * time.Second, 8 * time.Second, 200}
	with := func(change func(*part)) part {
		p := usual
		change(&p)
		return p
	}
	tests := []struct {
		name    string
		options chaos.Options
		want    part
	}{
		{"nothing is said", chaos.Options{}, usual},
		{"five servers", chaos.Options{Servers: 5}, with(func(p *part) { p.servers, p.replicas = 5, 5 })},
		{"more than a stream may have", chaos.Options{Servers: 9}, with(func(p *part) { p.servers, p.replicas = 9, 5 })},
		{"fewer replicas", chaos.Options{Replicas: 1}, with(func(p *part) { p.replicas = 1 })},
		{"times", chaos.Options{Length: 1, Fault: 2, Quiet: 3}, with(func(p *part) { p.length, p.fault, p.quiet = 1, 2, 3 })},
		{"times below zero", chaos.Options{Length: -1, Fault: -1, Quiet: -1}, usual},
		{"a slow one", chaos.Options{Rate: 0.5, Processes: 1}, with(func(p *part) { p.rate, p.processes = 0.5, 1 })},
		{"a condition", chaos.Options{Condition: "damage"}, with(func(p *part) { p.rounds = 3 })},
		{"a condition by its number", chaos.Options{Condition: "4", Rounds: 7}, with(func(p *part) { p.servers, p.rounds = 5, 7 })},
		{"which has its own servers", chaos.Options{Condition: "1", Servers: 7, Replicas: 5}, with(func(p *part) { p.rounds = 3 })},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := complete(t, test.options)
			got := part{o.Servers, o.Replicas, o.Rounds, o.Processes, o.Length, o.Fault, o.Quiet, o.Rate}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if got, want := chaos.HowLong(o), test.want.length.String(); (got == want) != (o.Condition == "") {
				t.Errorf("the load lasts %q, and its length is %s", got, want)
			}
			o.Tell("nobody listens") // and nothing happens
			if again, err := chaos.Complete(o); err != nil || chaos.Schedule(again) != chaos.Schedule(o) || again.Servers != o.Servers {
				t.Errorf("completed twice: got %+v, %v", again, err)
			}
		})
	}
}

// TestWorkloadsOfOptions: all of them, but for a condition that names few; what is asked for goes before both.
func TestWorkloadsOfOptions(t *testing.T) {
	tests := []struct {
		name            string
		condition       string
		workloads, want []string
	}{
		{"all", "", nil, workload.Names()},
		{"some", "", []string{"W2"}, []string{"W2"}},
		{"of a condition", "damage", nil, []string{"W1", "W3", "W5"}},
		{"some, and a condition", "damage", []string{"W2", "W1"}, []string{"W2", "W1"}},
	}
	for _, test := range tests {
		o := complete(t, chaos.Options{Condition: test.condition, Workloads: test.workloads})
		if !slices.Equal(o.Workloads, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, o.Workloads, test.want)
		}
	}
}

// TestKindsOfOptions: the kinds of faults are those that are named, or those that the condition's plan has.
func TestKindsOfOptions(t *testing.T) {
	all := fault.Names(fault.Kinds())
	tests := []struct {
		name     string
		options  chaos.Options
		want     string // their names
		schedule string
	}{
		{"nothing is said", chaos.Options{}, all, "all"},
		{"mix", chaos.Options{Faults: []string{"mix"}}, all, "mix"},
		{"none", chaos.Options{Faults: []string{chaos.NoFaults}}, "", "none"},
		{"some, in their order", chaos.Options{Faults: []string{"pause", "kill"}}, "pause, kill", "pause,kill"},
		{"a condition", chaos.Options{Condition: "2"}, "forget-all", "all-forget, 3 rounds"},
		{"a condition goes before names", chaos.Options{Condition: "membership", Rounds: 1, Faults: []string{"kill"}}, "replace-cut-kill", "membership, 1 rounds"},
		{"each kind of a condition once", chaos.Options{Condition: "disk-fails"}, "disk-eio, disk-full, disk-read-only, forget", "disk-fails, 3 rounds"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := complete(t, test.options)
			kinds, err := chaos.KindsFor(o)
			if got := fault.Names(kinds); err != nil || got != test.want {
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
			if got := chaos.Schedule(o); got != test.schedule {
				t.Errorf("it is called %q, want %q", got, test.schedule)
			}
		})
	}
	p := process.Program{Path: "x"}
	if _, err := chaos.Complete(chaos.Options{Program: p, Dir: "d", Faults: []string{chaos.NoFaults, "kill"}}); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("none among others: got error %v, want that it is no fault", err)
	}
}

// TestPlanOfOptions: the plan has what can be done here, and of a condition it is the same but for what cannot be.
func TestPlanOfOptions(t *testing.T) {
	o := complete(t, chaos.Options{Condition: "disk-fails", Rounds: 2, Fault: time.Second})
	kinds, err := chaos.KindsFor(o)
	if err != nil {
		t.Fatal(err)
	}
	whole := chaos.PlanFor(o, kinds)
	if len(whole) != 8 {
		t.Fatalf("got %d steps in 2 rounds, want 8", len(whole))
	}
	for missing := range kinds {
		rest := slices.Delete(slices.Clone(kinds), missing, missing+1)
		for _, s := range chaos.PlanFor(o, rest) {
			same := func(w fault.Step) bool { return w.Kind == s.Kind && w.At == s.At && w.For == s.For }
			if s.Kind == kinds[missing].Name || !slices.ContainsFunc(whole, same) {
				t.Errorf("without %s: %+v is no step of the whole plan", kinds[missing].Name, s)
			}
		}
		if got := len(chaos.PlanFor(o, rest)); got != 6 {
			t.Errorf("without %s: got %d steps, want 6", kinds[missing].Name, got)
		}
	}
	if got := chaos.PlanFor(o, nil); len(got) != 0 {
		t.Errorf("nothing can be done, and the plan has %v", got)
	}
	o = complete(t, chaos.Options{Seed: 3, Length: time.Hour})
	few, err := fault.Find("kill", "cut")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for _, s := range chaos.PlanFor(o, few) {
		seen[s.Kind]++
	}
	if len(seen) != 2 || seen["kill"] == 0 || seen["cut"] == 0 {
		t.Errorf("the plan of a seed has %v, want kill and cut", seen)
	}
}

// TestTurns: rounds of a condition take turns with the servers, so that each of them is harmed.
func TestTurns(t *testing.T) {
	for _, c := range chaos.Conditions() {
		harmed := make(map[int]bool)
		for _, s := range chaos.PlanOf(c, c.Servers) {
			harmed[s.Servers[0]] = true
		}
		if want := c.Servers; len(harmed) != want && c.Name != "all-forget" {
			t.Errorf("%s: %d servers come first in %d rounds, want %d", c.Name, len(harmed), c.Servers, want)
		}
	}
}

// TestFilesBeforeDamage: files of messages are made only when a server has more than its log holds, or ends; so it is restarted before
// one of them is damaged.
func TestFilesBeforeDamage(t *testing.T) {
	c, err := chaos.FindCondition("damage")
	if err != nil {
		t.Fatal(err)
	}
	plan := chaos.PlanOf(c, 3)
	for i, s := range plan {
		if s.Kind != "damage-files" {
			continue
		}
		if i == 0 || plan[i-1].Kind != "restart" || !slices.Equal(plan[i-1].Servers, s.Servers) {
			t.Errorf("step %d damages files of %v, and the one before is %+v", i, s.Servers, plan[i-1])
		}
	}
}

// TestUnreachable: what a campaign makes servers say of one another is expected, and what they say of themselves is not.
func TestUnreachable(t *testing.T) {
	for line, want := range map[string]bool{
		"[ERR] Error trying to connect to route (attempt 1): connection refused":    true,
		"level=WARN msg=\"cannot connect with another server\" address=127.0.0.1:1": true,
		"[WRN] JetStream request failed: no leader":                                 true,
		"[ERR] Error flushing: broken pipe":                                         true,
		"[ERR] panic: runtime error":                                                false,
		"[ERR] a segment is damaged":                                                false,
		"":                                                                          false,
	} {
		if got := chaos.Unreachable(line); got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
	}
}
