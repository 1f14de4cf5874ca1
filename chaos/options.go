package chaos

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"runnel/chaos/fault"
	"runnel/chaos/process"
	"runnel/chaos/workload"
)

// Options are what a campaign is. What is zero gets a default.
type Options struct {
	Program    process.Program
	Servers    int  // 3
	Replicas   int  // of the streams; as many as there are servers
	SyncAlways bool // sync_interval: always in the configuration; what the program does by itself when false

	Workloads []string      // by name; all of them if there are none
	Faults    []string      // names of faults; all if there are none. One "none" is a campaign without
	Length    time.Duration // of the load; 1 minute
	Fault     time.Duration // how long a fault lasts, on average unless there is a condition; 10 s
	Quiet     time.Duration // the time between faults, on average; 8 s
	Rate      float64       // operations a second of each workload; 200
	Processes int           // clients of each workload; 8
	Seed      uint64        // of the plan and of what clients choose

	// Condition is the name or number of one of the [Conditions]. Then the plan is its own, as are the numbers of servers and replicas, and the
	// workloads if there are none here; the load ends when the plan does.
	Condition string
	Rounds    int // of the condition's plan; 3

	// Liveness is how long clients may go without an acknowledgement once all is healed; 5 s. A machine that is busy with other things needs more.
	Liveness time.Duration
	// Command is what to type to have the same again, for the report.
	Command string
	// Dir is where the servers' folders and the history go. What there is of an earlier campaign must be removed before.
	Dir string
	// Tell, if it is not nil, gets each line of progress.
	Tell func(text string)
}

// NoFaults is the name that stands for no faults at all.
const NoFaults = "none"

// complete fills in the defaults and checks the rest.
func (o Options) complete() (Options, error) {
	set := func(d *time.Duration, standard time.Duration) {
		if *d <= 0 {
			*d = standard
		}
	}
	set(&o.Length, time.Minute)
	set(&o.Fault, 10*time.Second)
	set(&o.Quiet, 8*time.Second)
	if o.Condition != "" {
		c, err := FindCondition(o.Condition)
		if err != nil {
			return o, err
		}
		// What the plan is made for is not to be chosen: with other numbers it would be another condition.
		o.Condition, o.Servers, o.Replicas = c.Name, c.Servers, c.Replicas
		o.Rounds = cmp.Or(o.Rounds, 3)
		if len(o.Workloads) == 0 {
			o.Workloads = c.Workloads
		}
	}
	if o.Servers == 0 {
		o.Servers = 3
	}
	if o.Replicas == 0 {
		o.Replicas = min(o.Servers, 5)
	}
	if o.Rate == 0 {
		o.Rate = 200
	}
	if o.Processes == 0 {
		o.Processes = 8
	}
	if len(o.Workloads) == 0 {
		o.Workloads = workload.Names()
	}
	if len(o.Faults) == 0 {
		o.Faults = []string{"all"}
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	return o, o.check()
}

// check says what is wrong with complete options, before anything is started or written.
func (o Options) check() error {
	switch {
	case o.Program.Path == "":
		return errors.New("a campaign needs a server program")
	case o.Dir == "":
		return errors.New("a campaign needs a folder")
	case o.Replicas > o.Servers:
		return fmt.Errorf("%d replicas need as many servers, and there are %d", o.Replicas, o.Servers)
	}
	for _, name := range o.Workloads {
		if !slices.Contains(workload.Names(), name) {
			return fmt.Errorf("there is no workload %q; there are %v", name, workload.Names())
		}
	}
	_, err := o.kinds()
	return err
}

// kinds are the faults.
func (o Options) kinds() ([]fault.Kind, error) {
	if o.Condition != "" {
		return kindsOf(o.fixed())
	}
	if slices.Equal(o.Faults, []string{NoFaults}) {
		return nil, nil
	}
	return fault.Find(o.Faults...)
}

// planOf is what is done to the cluster, of some kinds of faults.
func (o Options) planOf(kinds []fault.Kind) []fault.Step {
	if o.Condition == "" {
		return fault.Plan(fault.Settings{Seed: o.Seed, Servers: o.Servers, Kinds: kinds, Length: o.Length, Fault: o.Fault, Quiet: o.Quiet})
	}
	return slices.DeleteFunc(o.fixed(), func(s fault.Step) bool {
		return !slices.ContainsFunc(kinds, func(k fault.Kind) bool { return k.Name == s.Kind })
	})
}

// fixed is the plan of the condition.
func (o Options) fixed() []fault.Step {
	c, err := FindCondition(o.Condition)
	if err != nil {
		return nil // complete has said so
	}
	return c.plan(o.Rounds, o.Fault)
}

// howLong is how long the load lasts, in words.
func (o Options) howLong() string {
	if o.Condition != "" {
		return "as long as the plan takes"
	}
	return o.Length.String()
}

// schedule is what the report calls the plan.
func (o Options) schedule() string {
	if o.Condition != "" {
		return fmt.Sprintf("%s, %d rounds", o.Condition, o.Rounds)
	}
	return strings.Join(o.Faults, ",")
}
