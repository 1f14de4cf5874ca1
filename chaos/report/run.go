// Package report writes down what a run was, what it met and what came of it: as JSON for machines, and as
// one page of HTML for people. The page needs nothing else, neither files nor a network nor scripts.
//
// All texts of servers and clients are escaped where they go into the page, and cut where they are long.
package report

import (
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

// Run is all that is reported of a run. Times are since its beginning; in JSON they are nanoseconds.
type Run struct {
	Command  string        `json:"command"` // what to type to repeat it
	Seed     uint64        `json:"seed"`
	Schedule string        `json:"schedule"` // the name of the schedule that the seed makes concrete
	Began    time.Time     `json:"began"`
	Duration time.Duration `json:"duration"`
	Server   Server        `json:"server"`
	Machine  string        `json:"machine"`  // where it ran: system, processors
	Servers  int           `json:"servers"`  // of the cluster
	Replicas int           `json:"replicas"` // of each stream
	Settings []Setting     `json:"settings,omitempty"`

	Verdict  Verdict         `json:"verdict"`
	Reason   string          `json:"reason,omitempty"` // why it was not run, if it was not
	Findings []Finding       `json:"findings"`
	Sets     []check.Set     `json:"sets"`
	Figures  []check.Figures `json:"figures"`
	Faults   []Fault         `json:"faults"`
	// NotRunnable is what the schedule asks for and cannot be done on this machine. It did not pass; it was not run.
	NotRunnable []NotRunnable `json:"notRunnable"`
	Series      []Series      `json:"series"`
}

// Server is the program that was tested.
type Server struct {
	Binary  string `json:"binary"`  // its file
	Version string `json:"version"` // what it says of itself
}

// Setting is something else that was chosen for the run: sizes, rates, modes.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Fault is something that was done to the cluster.
type Fault struct {
	Name  string        `json:"name"`
	Node  string        `json:"node"`
	Start time.Duration `json:"start"`
	End   time.Duration `json:"end"`
	What  string        `json:"what,omitempty"`  // what exactly was done, where that differs each time: the file and the bytes
	Error string        `json:"error,omitempty"` // what went wrong in doing it
}

// NotRunnable is something that was not run.
type NotRunnable struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Finding is a finding with the operations around it.
type Finding struct {
	check.Finding
	Around []history.Operation `json:"around,omitempty"`
}

// Verdict is what the run says of the server.
type Verdict string

const (
	// Passed means that all that was run was checked, and nothing was violated.
	Passed Verdict = "passed"
	// Violated means that the server did what it must not do.
	Violated Verdict = "violated"
	// Incomplete means that nothing was violated, and that something could not be run or checked.
	Incomplete Verdict = "incomplete"
)

// ExitCode is with what code a program ends that made the run: 0 only if all was checked and nothing was
// violated, 2 if something was, 1 if it could not be run or checked.
func (v Verdict) ExitCode() int {
	switch v {
	case Passed:
		return 0
	case Violated:
		return 2
	}
	return 1
}

// Conclude fills in what follows from the history and the checks: findings with what is around them, series,
// faults, figures and the verdict. Reason says why the run ended before its time; "" if it did not.
func (r *Run) Conclude(ops []history.Operation, sets []check.Set, findings []check.Finding, reason string) {
	r.Sets, r.Reason = sets, reason
	r.Figures = check.Availability(ops)
	r.Series = measure(ops)
	r.Faults = faults(ops)
	r.Findings = make([]Finding, 0, len(findings))
	r.Verdict = Passed
	if reason != "" {
		r.Verdict = Incomplete
	}
	for _, f := range findings {
		r.Findings = append(r.Findings, Finding{Finding: f, Around: around(ops, f.Operations)})
		switch {
		case f.Violation():
			r.Verdict = Violated
		case r.Verdict == Passed:
			r.Verdict = Incomplete
		}
	}
}

// faults are the faults of a history, in its order.
func faults(ops []history.Operation) []Fault {
	all := []Fault{}
	for i := range ops {
		if o := &ops[i]; o.Kind == history.Fault {
			all = append(all, Fault{Name: o.Value, Node: o.Node, Start: o.Start, End: o.End, What: o.Key, Error: o.Error})
		}
	}
	return all
}
