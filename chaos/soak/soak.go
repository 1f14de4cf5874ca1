package soak

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"runnel/chaos/process"
)

// Options say what is run.
type Options struct {
	Program   process.Program
	Dir       string   // for the servers; kept
	Scenarios []string // by name; all when empty
	Load      Load
	Tell      func(text string) // about the progress; nil for nobody
}

// Load is how much of everything there is.
type Load struct {
	Length      time.Duration // of what lasts
	Consumers   int           // that do not read
	Connections int           // at a time; not runnable where not so many files may be open
	Clients     int           // that reconnect at once
	Storms      int           // of those
	BudgetBytes int64         // for the server in the scenario of memory
}

// Short is a load of seconds, for tests. Long is one of minutes.
func Short() Load {
	return Load{Length: 2 * time.Second, Consumers: 10, Connections: 500, Clients: 200, Storms: 3, BudgetBytes: 128 << 20}
}

// Long is the load that a release has to bear.
func Long() Load {
	return Load{Length: time.Minute, Consumers: 200, Connections: 10_000, Clients: 2_000, Storms: 10, BudgetBytes: 192 << 20}
}

// Scenario is one way to load a server.
type Scenario struct {
	Name, Text string
	limitBytes int64 // memory budget of the server; 0 for usualBudget
	prepare    func(*rig) error
	run        func(context.Context, *rig) error
}

// Scenarios are all there are, in the order in which they are run.
func Scenarios() []Scenario {
	return []Scenario{
		{Name: "slow-subscribers", Text: "subscribers that do not read, beside one that does", run: slowSubscribers},
		{Name: "slow-consumers", Text: "consumers of streams, pull and push, whose clients do not read", run: slowConsumers},
		{Name: "connections", Text: "thousands of connections at a time", limitBytes: 512 << 20, run: connections},
		{Name: "storms", Text: "all clients lose their connections and come back at once, again and again", run: storms},
		{Name: "full-disk", Text: "the disk is full, and has room again", prepare: smallDisk, run: fullDisk},
		{Name: "descriptors", Text: "more clients than files may be open", prepare: fewDescriptors, run: descriptors},
		{Name: "memory", Text: "publishers who send more than the memory budget has room for", run: memory},
	}
}

// Verdict is how a scenario has ended.
type Verdict string

// Verdicts.
const (
	Passed      Verdict = "passed"
	Violated    Verdict = "violated"
	NotRunnable Verdict = "not runnable here"
)

// Result is what came of one scenario.
type Result struct {
	Scenario   string        `json:"scenario"`
	Verdict    Verdict       `json:"verdict"`
	Why        []string      `json:"why,omitempty"`
	Took       time.Duration `json:"took"`
	Acked      int           `json:"acked"`   // messages
	Missing    int           `json:"missing"` // of those
	Unsure     int           `json:"unsure"`  // messages without an answer, or with an error
	Before     Usage         `json:"before"`
	Peak       Usage         `json:"peak"`
	After      Usage         `json:"after"`
	LimitBytes int64         `json:"memory_limit,omitempty"`
	Notes      []string      `json:"notes,omitempty"` // figures that are of interest
}

// Usage is what a server uses.
type Usage struct {
	MemoryBytes int64 `json:"memory"`
	Descriptors int   `json:"descriptors"`
}

// Report is what came of all.
type Report struct {
	Program string   `json:"program"`
	Results []Result `json:"results"`
}

// ExitCode is 2 if something was violated, and 0 otherwise.
func (r *Report) ExitCode() int {
	if slices.ContainsFunc(r.Results, func(r Result) bool { return r.Verdict == Violated }) {
		return 2
	}
	return 0
}

// errNotRunnable is wrapped by errors of what this machine does not allow.
var errNotRunnable = errors.New("not runnable here")

// Run runs scenarios one after the other. An error is one of the way to run them, and not of the server.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	chosen, err := choose(o.Scenarios)
	if err != nil {
		return nil, err
	}
	report := &Report{Program: o.Program.String()}
	for _, s := range chosen {
		o.Tell(s.Name + ": " + s.Text)
		r, err := one(ctx, &o, s)
		if err != nil {
			return report, fmt.Errorf("%s: %w", s.Name, err)
		}
		o.Tell(s.Name + ": " + string(r.Verdict))
		report.Results = append(report.Results, *r)
		if err := ctx.Err(); err != nil {
			return report, err
		}
	}
	return report, nil
}

// choose returns scenarios by name.
func choose(names []string) (chosen []Scenario, err error) {
	all := Scenarios()
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// one runs a scenario.
func one(ctx context.Context, o *Options, s Scenario) (*Result, error) {
	began := time.Now()
	r, err := newRig(filepath.Join(o.Dir, s.Name), o, s)
	if err != nil {
		return nil, err
	}
	defer func() { r.result.Took = time.Since(began).Round(time.Millisecond) }()
	err = r.play(ctx, s)
	if errors.Is(err, errNotRunnable) {
		r.result.Verdict, r.result.Why = NotRunnable, []string{err.Error()}
		err = nil
	}
	return &r.result, errors.Join(err, r.end())
}
