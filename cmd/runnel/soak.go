package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"runnel/chaos/soak"
)

// soakFlags are the flags of "runnel soak". Without any the server that is tried is this program.
type soakFlags struct {
	program, scenarios string
	dir, json          string
	long, list         bool
	length             time.Duration
}

// register defines the flags.
func (f *soakFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.program, "server", "", "server `program`: runnel or nats-server; this program if there is none")
	flags.StringVar(&f.scenarios, "scenarios", "all", "`names` of scenarios, with commas between")
	flags.BoolVar(&f.long, "long", false, "load for minutes instead of seconds")
	flags.DurationVar(&f.length, "length", 0, "`time` of each load (default: 2s, with -long 1m)")
	flags.StringVar(&f.dir, "dir", "", "`folder` for the servers, which is kept (default: a temporary one, kept when something is wrong)")
	flags.StringVar(&f.json, "json", "", "`file` for the report as JSON; - for standard output, without the table")
	flags.BoolVar(&f.list, "list", false, "list scenarios")
}

// options turns the flags into options. A folder that nobody has named is a temporary one, which goes when all is well: whoever looks for what was wrong
// needs what the servers have left.
func (f *soakFlags) options(ctx context.Context) (o soak.Options, err error) {
	if o.Program, err = serverProgram(ctx, f.program); err != nil {
		return o, err
	}
	o.Load = soak.Short()
	if f.long {
		o.Load = soak.Long()
	}
	if f.length > 0 {
		o.Load.Length = f.length
	}
	if f.scenarios != "all" {
		o.Scenarios = strings.Split(f.scenarios, ",")
	}
	o.Dir = f.dir
	if o.Dir == "" {
		o.Dir, err = os.MkdirTemp("", "runnel-soak-")
	}
	return o, err
}

// soakCommand runs "runnel soak". What is done is told on standard error while it goes on, since it takes long; the report is the only
// thing on standard output. The exit code says whether everything held.
func soakCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f soakFlags
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, soakHelp)
		flags.PrintDefaults()
	}
	f.register(flags)
	if err := flags.Parse(args); err != nil {
		return usageCode(err)
	}
	if flags.NArg() > 0 {
		return fail(stderr, fmt.Errorf("%q: runnel soak takes flags only; runnel soak -h explains them", flags.Arg(0)))
	}
	if f.list {
		for _, s := range soak.Scenarios() {
			fmt.Fprintf(stdout, "  %-18s %s\n", s.Name, s.Text)
		}
		return 0
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	o, err := f.options(ctx)
	if err != nil {
		return fail(stderr, err)
	}
	began := time.Now()
	o.Tell = func(text string) { fmt.Fprintf(stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), text) }
	r, err := soak.Run(ctx, o)
	if err == nil {
		err = f.write(r, stdout)
	}
	if err != nil {
		return fail(stderr, fmt.Errorf("%w (what there is of it: %s)", err, o.Dir))
	}
	code := r.ExitCode()
	switch {
	case code != 0:
		fmt.Fprintf(stderr, "What the servers have left: %s\n", o.Dir)
	case f.dir == "":
		if err := os.RemoveAll(o.Dir); err != nil {
			return fail(stderr, err)
		}
	}
	return code
}

// write writes the report where it is wanted: as a table for people, as JSON for programs, in a file beside the table or in its place.
func (f *soakFlags) write(r *soak.Report, stdout io.Writer) error {
	if f.json == "-" {
		return soak.WriteJSON(stdout, r)
	}
	if err := soak.Print(stdout, r); err != nil || f.json == "" {
		return err
	}
	file, err := os.Create(f.json)
	if err != nil {
		return err
	}
	return errors.Join(soak.WriteJSON(file, r), file.Close())
}
