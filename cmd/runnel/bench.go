package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/term"

	"runnel/bench"
)

// Exit codes of bench, beside 0 and 2 for wrong usage.
const (
	benchFailed      = 1   // a run failed, or its verification did
	benchUsage       = 2   // the command line is wrong
	benchAboveGate   = 3   // compare: a ratio is above --gate
	benchInterrupted = 130 // Ctrl-C; what was measured is printed
)

const benchHelp = `Usage:
  runnel bench list                      explain the scenarios
  runnel bench SCENARIO... [flags]       run scenarios against a server
  runnel bench all [flags]               run all that need nothing but a server
  runnel bench compare -a CMD -b CMD     measure two servers in alternation
  runnel bench js -h                     the same for streams, key-value and object stores

A SCENARIO is a scenario's name, one of its cases (pubsub-16), or a prefix with
a star (fan*). The server is that of --url, $NATS_URL or nats://127.0.0.1:4222.
For tenants it needs the accounts of docs/examples/tenants.conf, and so all leaves
tenants out.

Examples:
  runnel bench pubsub --size 1k
  runnel bench request --inflight 20 --msgs 100k --pid $(pgrep -x runnel)
  runnel bench paced --rate 5000 --duration 30s --format json

Flags:
`

const benchStreamsHelp = `Usage:
  runnel bench js list                      explain the scenarios
  runnel bench js SCENARIO... [flags]       run scenarios against a server
  runnel bench js all [flags]               run all of them
  runnel bench js compare -a CMD -b CMD     measure two servers in alternation

A SCENARIO is a scenario's name (publish, async, paced, filters, fetch, consume,
ordered, kvput, kvget, kvwatch, objput, objget), one of its cases (async256-128),
or a prefix with a star (kv*). Each makes a stream or bucket of its own, with a
name that begins with bench_, and removes it when it ends. The server needs
JetStream; it is that of --url, $NATS_URL or nats://127.0.0.1:4222.

What a number means depends on what the server does before it acknowledges: one
that acknowledges what is only in memory is quicker, until the power goes.

Examples:
  runnel bench js publish --pubs 4
  runnel bench js async --inflight 64 --size 1k --duration 10s
  runnel bench js paced --rate 2000 --pid $(pgrep -x runnel)
  runnel bench js consume fetch --msgs 1M --format json

Flags:
`

// benchSuite is a set of scenarios as the command line offers it.
type benchSuite struct {
	bench.Suite
	streams           bool
	help, compareHelp string
}

// benchCore and benchStreams are the two sets.
func benchCore() benchSuite {
	return benchSuite{bench.Core(), false, benchHelp, compareHelp}
}

func benchStreams() benchSuite {
	return benchSuite{bench.Streams(), true, benchStreamsHelp, compareStreamsHelp}
}

// benchCommand runs "runnel bench" with the arguments behind that word, and
// returns the exit code.
func benchCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	suite := benchCore()
	if len(args) > 0 && args[0] == "js" {
		suite, args = benchStreams(), args[1:]
	}
	if len(args) > 0 {
		switch args[0] {
		case "list":
			return benchResult(suite.WriteList(stdout), stderr)
		case "compare":
			return benchCompare(ctx, suite, args[1:], stdout, stderr)
		}
	}
	return benchRun(ctx, suite, args, stdout, stderr)
}

// benchRun runs scenarios against a running server.
func benchRun(ctx context.Context, suite benchSuite, args []string, stdout, stderr io.Writer) int {
	var load benchLoad
	var conn benchConnection
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, suite.help)
		flags.PrintDefaults()
	}
	load.register(flags, suite.streams)
	conn.register(flags)
	pid := flags.Int("pid", 0, "process `id` of the server, if it runs here: its CPU and memory are measured (Linux)")
	names, err := parseMixed(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return benchUsage
	}
	if len(names) == 0 {
		flags.Usage()
		return benchUsage
	}
	cases, err := suite.Select(names, load.overrides)
	if err != nil {
		return benchBadUsage(err, stderr)
	}
	target, err := load.target(stderr)
	if err != nil {
		return benchBadUsage(err, stderr)
	}
	if target.PID = *pid; target.PID != 0 {
		if err := canMeasure(target.PID, stderr); err != nil {
			return benchBadUsage(fmt.Errorf("--pid: %w", err), stderr)
		}
	}
	target.URL = conn.url
	if target.Options, err = conn.Options(); err != nil {
		return benchBadUsage(err, stderr)
	}
	var results []bench.Result
	for _, c := range cases {
		result := c.Run(ctx, target)
		if result.Server == "" && result.Error != "" && ctx.Err() == nil {
			// The server was not even reached: no other case would do better.
			return benchResult(errors.New(result.Error), stderr)
		}
		results = append(results, result)
		if ctx.Err() != nil {
			break
		}
	}
	return benchReport(ctx, load.format, results, stdout, stderr)
}

// canMeasure tries whether the usage of a process can be read. On a system that
// does not tell it, it says so and measuring goes on without.
func canMeasure(pid int, stderr io.Writer) error {
	_, err := bench.ReadUsage(pid)
	if errors.Is(err, bench.ErrNotMeasured) {
		fmt.Fprintf(stderr, "runnel bench: %v: CPU and memory are n/a\n", err)
		return nil
	}
	return err
}

// benchReport writes the results and chooses the exit code.
func benchReport(ctx context.Context, format bench.Format, results []bench.Result, stdout, stderr io.Writer) int {
	if err := bench.WriteResults(stdout, format, results); err != nil {
		return benchResult(err, stderr)
	}
	if ctx.Err() != nil {
		return benchInterrupted
	}
	for i := range results {
		if !results[i].OK() {
			return benchFailed
		}
	}
	return 0
}

// benchResult turns an error into an exit code.
func benchResult(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "runnel bench: %v\n", err)
	return benchFailed
}

// benchBadUsage reports what is wrong with the command line.
func benchBadUsage(err error, stderr io.Writer) int {
	fmt.Fprintf(stderr, "runnel bench: %v\n", err)
	return benchUsage
}

// parseMixed parses flags that may stand before, between and behind the other
// arguments, which it returns.
func parseMixed(flags *flag.FlagSet, args []string) ([]string, error) {
	var words []string
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		if len(rest) == 0 {
			return words, nil
		}
		words, args = append(words, rest[0]), rest[1:]
	}
}

// terminal returns w if it is a terminal, and nil otherwise.
func terminal(w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return w
	}
	return nil
}
