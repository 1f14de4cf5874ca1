package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"runnel/chaos"
	"runnel/chaos/fault"
	processes "runnel/chaos/process"
	"runnel/chaos/report"
	"runnel/chaos/workload"
)

// chaosFlags are the flags of "runnel chaos".
type chaosFlags struct {
	options           chaos.Options
	program           string
	workloads, faults string
	seeded            bool // there is a seed
	list              bool
	dir               string
	keep              bool
}

// register defines the flags.
func (f *chaosFlags) register(flags *flag.FlagSet) {
	o := &f.options
	flags.StringVar(&f.program, "server", "", "server `program`: runnel or nats-server; this program if there is none")
	flags.IntVar(&o.Servers, "servers", 3, "`number` of servers")
	flags.IntVar(&o.Replicas, "replicas", 0, "`number` of replicas of each stream (default: as many as servers)")
	flags.DurationVar(&o.Length, "length", time.Minute, "`time` of the load")
	flags.StringVar(&f.workloads, "workloads", "all", "`names` of workloads, with commas between")
	flags.StringVar(&f.faults, "faults", "all", "`names` of faults, with commas between; none for none")
	flags.StringVar(&o.Condition, "condition", "", "`name` or number (1 to 5) of a fixed plan, in place of one that comes from a seed; see -list")
	flags.IntVar(&o.Rounds, "rounds", 3, "`number` of rounds of the fixed plan")
	flags.DurationVar(&o.Liveness, "liveness", 5*time.Second, "`time` in which clients must be served again when all is healed")
	flags.DurationVar(&o.Fault, "fault", 10*time.Second, "`time` that a fault lasts, on average")
	flags.DurationVar(&o.Quiet, "quiet", 8*time.Second, "`time` between faults, on average")
	flags.Float64Var(&o.Rate, "rate", 200, "operations a second of each workload")
	flags.IntVar(&o.Processes, "clients", 8, "`number` of clients of each workload")
	flags.Func("seed", "`number` that the plan of faults comes from (default: another one each time)", func(text string) (err error) {
		f.seeded = true
		o.Seed, err = strconv.ParseUint(text, 10, 64)
		return err
	})
	flags.BoolVar(&o.SyncAlways, "sync-always", false, "have nats-server sync each message before it acknowledges (runnel always does)")
	flags.StringVar(&f.dir, "dir", "", "`folder` for servers, history and report (default: a new one among the temporary files)")
	flags.BoolVar(&f.keep, "keep", false, "keep the servers' folders when nothing is wrong")
	flags.BoolVar(&f.list, "list", false, "list workloads, faults and conditions")
}

// complete turns the flags into options. Without a seed there is another plan of faults each time, so that many runs find more than one; the
// seed that was taken is in the report, with the command line that has the same plan again.
func (f *chaosFlags) complete(ctx context.Context) (o chaos.Options, err error) {
	o = f.options
	if o.Program, err = serverProgram(ctx, f.program); err != nil {
		return o, err
	}
	if f.workloads != "all" {
		o.Workloads = strings.Split(f.workloads, ",")
	}
	o.Faults = strings.Split(f.faults, ",")
	if !f.seeded {
		o.Seed = uint64(rand.Uint32())
	}
	o.Command = f.command(o)
	o.Dir = f.dir
	if o.Dir == "" {
		o.Dir, err = os.MkdirTemp("", "runnel-chaos-")
	} else {
		err = os.MkdirAll(o.Dir, 0o750)
	}
	return o, err
}

// serverProgram is the program of a server at a path; this one if there is none.
func serverProgram(ctx context.Context, path string) (processes.Program, error) {
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return processes.Program{}, fmt.Errorf("find this program: %w", err)
		}
	}
	return processes.Find(ctx, path)
}

// command is what to type to have the same campaign again, with a program of that name at hand.
func (f *chaosFlags) command(o chaos.Options) string {
	plan := fmt.Sprintf("-servers %d -replicas %d -length %v -faults %s -quiet %v", o.Servers, o.Replicas, o.Length, f.faults, o.Quiet)
	if o.Condition != "" {
		plan = fmt.Sprintf("-condition %s -rounds %d", o.Condition, o.Rounds)
	}
	return fmt.Sprintf("runnel chaos -server %s %s -fault %v -workloads %s -rate %g -clients %d -seed %d -liveness %v -sync-always=%t",
		filepath.Base(o.Program.Path), plan, o.Fault, f.workloads, o.Rate, o.Processes, o.Seed, o.Liveness, o.SyncAlways)
}

// chaosCommand runs "runnel chaos". What is done is told on standard error while it goes on. The history and the report stay in their
// folder; the servers' own folders, which are large, go when nothing is wrong.
func chaosCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f chaosFlags
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, chaosHelp)
		flags.PrintDefaults()
	}
	f.register(flags)
	if err := flags.Parse(args); err != nil {
		return usageCode(err)
	}
	if flags.NArg() > 0 {
		return fail(stderr, fmt.Errorf("%q: runnel chaos takes flags only; runnel chaos -h explains them", flags.Arg(0)))
	}
	if f.list {
		listChaos(stdout)
		return 0
	}
	o, err := f.complete(ctx)
	if err != nil {
		return fail(stderr, err)
	}
	began := time.Now()
	o.Tell = func(text string) { fmt.Fprintf(stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), text) }
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	r, err := chaos.Run(ctx, o)
	if err != nil {
		return fail(stderr, fmt.Errorf("%w (what there is of it: %s)", err, o.Dir))
	}
	chaos.Print(stdout, r)
	fmt.Fprintf(stdout, "The whole report: %s\n", filepath.Join(o.Dir, chaos.PageFile))
	if r.Verdict == report.Passed && !f.keep {
		if err := os.RemoveAll(filepath.Join(o.Dir, chaos.ServersFolder)); err != nil {
			return fail(stderr, err)
		}
	}
	return r.Verdict.ExitCode()
}

// listChaos lists what there is to choose from, each with a sentence that says what it is.
func listChaos(w io.Writer) {
	fmt.Fprintln(w, "Workloads:")
	for _, name := range workload.Names() {
		fmt.Fprintf(w, "  %-18s %s\n", name, workload.Describe(name))
	}
	fmt.Fprintln(w, "\nFaults:")
	for _, k := range fault.Kinds() {
		fmt.Fprintf(w, "  %-18s %s\n", k.Name, k.Text)
	}
	fmt.Fprintln(w, "\nConditions:")
	for i, c := range chaos.Conditions() {
		fmt.Fprintf(w, "  %d %-18s %s\n", i+1, c.Name, c.Text)
	}
}
