package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"runnel/bench"
)

const compareHelp = `Usage:
  runnel bench compare -a CMD -b CMD [flags]
  runnel bench compare -a CMD --control [flags]

Starts a fresh server for every run, a and b in alternation, and prints their
medians and ratios. {port} in CMD stands for the port to listen on:

  runnel bench compare -a "nats-server -a 127.0.0.1 -p {port}" \
                       -b "runnel -a 127.0.0.1 -p {port}" --scenarios all

Both may have a config file, which tenants needs:

  runnel bench compare -a "nats-server -c docs/examples/tenants.conf -p {port}" \
                       -b "runnel -c docs/examples/tenants.conf -p {port}" --scenarios pubsub,tenants

Flags:
`

const compareStreamsHelp = `Usage:
  runnel bench js compare -a CMD -b CMD [flags]
  runnel bench js compare -a CMD --control [flags]

Starts a fresh server for every run, a and b in alternation, and prints their
medians and ratios. In CMD, {port} stands for the port to listen on and {dir} for
an empty folder, which is removed after the run:

  runnel bench js compare -a "nats-server -a 127.0.0.1 -p {port} -js -sd {dir}" \
                          -b "runnel -a 127.0.0.1 -p {port} -js -sd {dir}" --rounds 5

The folders are made below --dir: choose the disk that is to be measured, since on
a memory file system a sync costs nothing. Compare servers that promise the same:
nats-server acknowledges before its data is on disk, unless its configuration says
sync_interval: always; runnel does the opposite unless told otherwise.

Flags:
`

// compareFlags holds the flags of compare beside those of the load.
type compareFlags struct {
	suite     benchSuite
	load      benchLoad
	conn      benchConnection
	a, b      string
	control   bool
	scenarios string
	rounds    int
	port      int
	gate      float64
	jsonFile  string
	dir       string
}

// register defines the flags.
func (c *compareFlags) register(flags *flag.FlagSet) {
	c.load.register(flags, c.suite.streams)
	c.conn.registerCredentials(flags)
	flags.StringVar(&c.a, "a", "", "`command` of server a, the one that b is measured by")
	flags.StringVar(&c.b, "b", "", "`command` of server b")
	flags.BoolVar(&c.control, "control", false, "run server a as b too: the ratios then show the noise of the machine")
	flags.StringVar(&c.scenarios, "scenarios", "all", "what to run: `names` separated by commas")
	flags.IntVar(&c.rounds, "rounds", 5, "`number` of rounds")
	flags.IntVar(&c.port, "port", 0, "`port` of the servers; 0 picks a free one")
	flags.Float64Var(&c.gate, "gate", 0, "exit with code 3 if a CPU ratio b/a is above this `ratio`")
	if c.suite.streams {
		flags.StringVar(&c.dir, "dir", "", "`folder` below which {dir} is made (default the system's for temporary files)")
	}
	flags.StringVar(&c.jsonFile, "json", "", "write all single results to this `file`")
}

// check completes and validates the flags.
func (c *compareFlags) check() error {
	if c.control {
		if c.b != "" && c.b != c.a {
			return errors.New("--control runs -a twice: leave -b out")
		}
		c.b = c.a
	}
	switch {
	case c.a == "" || c.b == "":
		return errors.New("both -a and -b are needed (or -a and --control)")
	case c.rounds < 1:
		return fmt.Errorf("--rounds %d: at least one is needed", c.rounds)
	case c.gate < 0:
		return fmt.Errorf("--gate %v: it must be above 0", c.gate)
	}
	return nil
}

// comparison builds what the flags ask for.
func (c *compareFlags) comparison(stderr io.Writer) (bench.Comparison, error) {
	if err := c.check(); err != nil {
		return bench.Comparison{}, err
	}
	cases, err := c.suite.Select(strings.Split(c.scenarios, ","), c.load.overrides)
	if err != nil {
		return bench.Comparison{}, err
	}
	target, err := c.load.target(stderr)
	if err != nil {
		return bench.Comparison{}, err
	}
	if target.Options, err = c.conn.Options(); err != nil {
		return bench.Comparison{}, err
	}
	comparison := bench.Comparison{A: c.a, B: c.b, Cases: cases, Dir: c.dir, Rounds: c.rounds, Port: c.port, Target: target}
	if target.Progress != nil {
		comparison.Report = func(s bench.Single) {
			fmt.Fprintf(stderr, "round %d of %d, %s: %s\n", s.Round, c.rounds, s.Side, bench.Brief(&s.Result))
		}
	}
	return comparison, nil
}

// benchCompare measures two servers in alternation.
func benchCompare(ctx context.Context, suite benchSuite, args []string, stdout, stderr io.Writer) int {
	c := compareFlags{suite: suite}
	flags := flag.NewFlagSet("bench compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, suite.compareHelp)
		flags.PrintDefaults()
	}
	c.register(flags)
	words, err := parseMixed(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return benchUsage
	}
	if len(words) > 0 {
		return benchBadUsage(fmt.Errorf("unexpected %q: scenarios are given with --scenarios", words[0]), stderr)
	}
	comparison, err := c.comparison(stderr)
	if err != nil {
		return benchBadUsage(err, stderr)
	}
	if err := canMeasure(os.Getpid(), stderr); err != nil {
		return benchResult(err, stderr)
	}
	compared := comparison.Run(ctx)
	if err := c.write(stdout, &compared); err != nil {
		return benchResult(err, stderr)
	}
	return c.verdict(&compared, stderr)
}

// write reports to stdout and, if asked for, to the file.
func (c *compareFlags) write(stdout io.Writer, compared *bench.Compared) error {
	if c.jsonFile != "" {
		file, err := os.Create(c.jsonFile)
		if err != nil {
			return err
		}
		if err := errors.Join(bench.WriteCompared(file, bench.JSON, compared), file.Close()); err != nil {
			return fmt.Errorf("write %s: %w", c.jsonFile, err)
		}
	}
	return bench.WriteCompared(stdout, c.load.format, compared)
}

// verdict chooses the exit code.
func (c *compareFlags) verdict(compared *bench.Compared, stderr io.Writer) int {
	switch {
	case compared.Partial:
		return benchInterrupted
	case !compared.OK():
		return benchFailed
	case c.gate > 0:
		above := compared.Above(c.gate)
		for _, line := range above {
			fmt.Fprintf(stderr, "gate: %s\n", line)
		}
		if len(above) > 0 {
			return benchAboveGate
		}
	}
	return 0
}
