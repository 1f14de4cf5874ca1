package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"runnel/bench"
)

// benchRunOf runs "runnel bench" with arguments.
func benchRunOf(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = benchCommand(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestBenchExitCodes(t *testing.T) {
	closed := "nats://127.0.0.1:1"
	tests := []struct {
		name string
		args []string
		code int
		want string // in stdout or stderr
	}{
		{"list", []string{"list"}, 0, "fanout10-128"},
		{"what tenants needs", []string{"list"}, 0, "tenants.conf"},
		{"another subject for tenants", []string{"tenants-16", "--subject", "other"}, 1, "leave --subject other out"},
		{"help", []string{"-h"}, 0, "runnel bench SCENARIO"},
		{"help of tenants", []string{"-h"}, 0, "docs/examples/tenants.conf"},
		{"help of comparing tenants", []string{"compare", "-h"}, 0, "runnel -c docs/examples/tenants.conf -p {port}"},
		{"help of compare", []string{"compare", "--help"}, 0, "{port} in CMD"},
		{"nothing", nil, 2, "runnel bench list"},
		{"list of streams", []string{"js", "list"}, 0, "async256-128"},
		{"help of streams", []string{"js", "--help"}, 0, "runnel bench js SCENARIO"},
		{"help of their compare", []string{"js", "compare", "--help"}, 0, "{dir} for"},
		{"no stream scenario", []string{"js"}, 2, "runnel bench js list"},
		{"a scenario of messages", []string{"js", "pubsub"}, 2, "`runnel bench js list` shows all"},
		{"a scenario of streams", []string{"consume"}, 2, "`runnel bench list` shows all"},
		{"a flag of messages", []string{"js", "publish", "--connections", "2"}, 2, "not defined: -connections"},
		{"a flag of streams", []string{"pub", "--batch", "2"}, 2, "not defined: -batch"},
		{"no batch", []string{"js", "fetch", "--batch", "0"}, 2, `"0" is no`},
		{"nobody stores", []string{"js", "publish", "--url", closed}, 1, "connect to " + closed},
		{"no place for folders", []string{"js", "compare", "-a", "x -sd {dir}", "--control", "--rounds", "1", "--scenarios", "publish1-128", "--dir", "/no/such/folder"}, 1, "make a folder"},
		{"unknown scenario", []string{"fanfare"}, 2, `unknown scenario "fanfare"`},
		{"unknown flag", []string{"pub", "--wings", "2"}, 2, "not defined: -wings"},
		{"no number", []string{"pub", "--msgs", "lots"}, 2, `"lots" is no`},
		{"no size", []string{"pub", "--size", "0"}, 2, `"0" is no payload size`},
		{"no scale", []string{"pub", "--scale", "0"}, 2, "--scale 0"},
		{"no stall", []string{"pub", "--stall", "0s"}, 2, "--stall 0s"},
		{"duration below zero", []string{"pub", "--duration", "-1s"}, 2, "--duration -1s"},
		{"wildcard subject", []string{"pub", "--subject", "a.*"}, 2, "without wildcards"},
		{"unknown format", []string{"pub", "--format", "xml"}, 2, `unknown format "xml"`},
		{"no such process", []string{"pub", "--pid", "999999999"}, 2, "--pid: process 999999999"},
		{"certificate without key", []string{"pub", "--tlscert", "x"}, 2, "belong together"},
		{"no seed file", []string{"pub", "--nkey", "/no/such/file"}, 2, "NKey seed /no/such/file"},
		{"nobody listens", []string{"pub", "--url", closed}, 1, "connect to " + closed},
		{"compare without b", []string{"compare", "-a", "x"}, 2, "both -a and -b"},
		{"control with b", []string{"compare", "-a", "x", "-b", "y", "--control"}, 2, "leave -b out"},
		{"no rounds", []string{"compare", "-a", "x", "-b", "y", "--rounds", "0"}, 2, "--rounds 0"},
		{"gate below zero", []string{"compare", "-a", "x", "-b", "y", "--gate", "-1"}, 2, "--gate -1"},
		{"scenario behind compare", []string{"compare", "-a", "x", "-b", "y", "pub"}, 2, "--scenarios"},
		{"unknown scenario in compare", []string{"compare", "-a", "x", "-b", "y", "--scenarios", "zz"}, 2, `unknown scenario "zz"`},
		{"server that does not start", []string{"compare", "-a", "./none", "--control", "--rounds", "1", "--scenarios", "pub"}, 1, "start server"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := benchRunOf(t, test.args...)
			if code != test.code || !strings.Contains(stdout+stderr, test.want) {
				t.Errorf("got %d, want %d with %q\nstdout: %s\nstderr: %s", code, test.code, test.want, stdout, stderr)
			}
		})
	}
}

func TestBenchHelpKeepsSecrets(t *testing.T) {
	t.Setenv("NATS_URL", "nats://me:hush1@host")
	t.Setenv("NATS_PASSWORD", "hush2")
	if _, stdout, stderr := benchRunOf(t, "--help"); strings.Contains(stdout+stderr, "hush") {
		t.Errorf("a secret stands in the help:\n%s", stderr)
	}
}

func TestBenchConnectionFlags(t *testing.T) {
	t.Setenv("NATS_URL", "nats://elsewhere:9")
	t.Setenv("NATS_PASSWORD", "from the environment")
	var c benchConnection
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	c.register(flags)
	if err := flags.Parse([]string{"--user", "me", "--tlsfirst"}); err != nil {
		t.Fatal(err)
	}
	want := bench.Connection{User: "me", Password: "from the environment", TLSFirst: true}
	if c.url != "nats://elsewhere:9" || c.Connection != want {
		t.Errorf("got URL %q, %+v, want %+v", c.url, c.Connection, want)
	}
}

func TestParseMixed(t *testing.T) {
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	number := flags.Int("n", 0, "")
	words, err := parseMixed(flags, []string{"a", "-n", "1", "b", "--n=2", "c"})
	if err != nil || *number != 2 || !slices.Equal(words, []string{"a", "b", "c"}) {
		t.Errorf("got %q, n %d, %v, want a b c, 2", words, *number, err)
	}
}

func TestParseCount(t *testing.T) {
	tests := []struct {
		text string
		want int64 // 0: an error
	}{
		{"1", 1},
		{"100k", 100_000},
		{"2M", 2_000_000},
		{"1.5m", 1_500_000},
		{"3G", 3_000_000_000},
		{"0.4", 1},
		{"0", 0},
		{"-1", 0},
		{"", 0},
		{"k", 0},
		{"1kk", 0},
		{"NaN", 0},
		{"Inf", 0},
		{"1e300", 0},
		{"9999999999G", 0},
	}
	for _, test := range tests {
		if got, err := parseCount(test.text); got != test.want || (err == nil) != (test.want > 0) {
			t.Errorf("%q: got %d, %v, want %d", test.text, got, err, test.want)
		}
	}
}

func TestParseSizes(t *testing.T) {
	tests := []struct {
		text string
		want []int // nil: an error
	}{
		{"16", []int{16}},
		{"128, 1k,32KiB", []int{128, 1 << 10, 32 << 10}},
		{"8kb,1M,10 B", []int{8 << 10, 1 << 20, 10}},
		{"64MiB", []int{64 << 20}},
		{"65MiB", nil},
		{"0", nil},
		{"-16", nil},
		{"", nil},
		{"16,", nil},
		{"1.5k", nil},
		{"9999999999999999999k", nil},
	}
	for _, test := range tests {
		if got, err := parseSizes(test.text); !slices.Equal(got, test.want) || (err == nil) != (test.want != nil) {
			t.Errorf("%q: got %v, %v, want %v", test.text, got, err, test.want)
		}
	}
}

func TestCompareVerdict(t *testing.T) {
	good := bench.Compared{Summary: []bench.CaseSummary{{
		Case: "flow", Metrics: []bench.MetricRatio{{Metric: "cpu_us_per_message", Ratio: bench.Ratio{Median: 0.5}}},
	}}}
	failed := good
	failed.Singles = []bench.Single{{Result: bench.Result{Error: "x"}}}
	partial := good
	partial.Partial = true
	tests := []struct {
		name     string
		gate     float64
		compared bench.Compared
		want     int
	}{
		{"no gate", 0, good, 0},
		{"below the gate", 0.6, good, 0},
		{"above the gate", 0.4, good, benchAboveGate},
		{"failed", 0.4, failed, benchFailed},
		{"interrupted", 0, partial, benchInterrupted},
	}
	for _, test := range tests {
		c := compareFlags{gate: test.gate}
		var stderr bytes.Buffer
		if got := c.verdict(&test.compared, &stderr); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestCompareWritesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.json")
	c := compareFlags{jsonFile: path}
	c.load.format = bench.CSV
	var stdout bytes.Buffer
	if err := c.write(&stdout, &bench.Compared{A: "x", Singles: []bench.Single{{Round: 1}}}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var back bench.Compared
	if err := json.Unmarshal(data, &back); err != nil || back.A != "x" || len(back.Singles) != 1 {
		t.Errorf("got %+v, %v", back, err)
	}
	if !strings.HasPrefix(stdout.String(), "case,metric,") {
		t.Errorf("stdout: got %q, want CSV", stdout.String())
	}
	c.jsonFile = filepath.Join(path, "impossible")
	if err := c.write(io.Discard, &bench.Compared{}); err == nil {
		t.Error("a file that cannot be made: no error")
	}
}
