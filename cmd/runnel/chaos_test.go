package main

import (
	"bytes"
	"flag"
	"reflect"
	"strings"
	"testing"

	"runnel/chaos"
)

// TestChaosList: what there is to choose from is listed, and what there is not is refused.
func TestChaosList(t *testing.T) {
	code, stdout, stderr := command(t, "chaos", "-list")
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	wanted := []string{"W1 ", "W11 ", "kill ", "forget-all "}
	for _, c := range chaos.Conditions() {
		wanted = append(wanted, c.Name+" ", c.Text)
	}
	for _, want := range wanted {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	for _, args := range [][]string{{"chaos", "x"}, {"chaos", "-server", "no-such-server"}, {"chaos", "-nonsense"}, {"chaos", "-seed", "x"}} {
		if code, _, _ := command(t, args...); code != 1 {
			t.Errorf("%q: code %d, want 1", args, code)
		}
	}
}

// chaosOptions are the options of a command line.
func chaosOptions(t *testing.T, args []string) (f chaosFlags) {
	t.Helper()
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(&bytes.Buffer{})
	f.register(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	f.options.Program.Path = "/somewhere/" + f.program
	return f
}

// TestChaosCommand: what the report says to type gives the same campaign again.
func TestChaosCommand(t *testing.T) {
	const common = "-server nats-server -workloads W1,W5 -fault 3s -rate 7.5 -clients 3 -seed 17 -liveness 20s -sync-always"
	for _, plan := range []string{"-servers 5 -replicas 3 -length 2m -faults kill,cut -quiet 4s", "-condition damage -rounds 2", "-condition 3"} {
		want := chaosOptions(t, strings.Fields(common+" "+plan))
		line := want.command(want.options)
		again, ok := strings.CutPrefix(line, "runnel chaos ")
		if !ok {
			t.Fatalf("got %q", line)
		}
		if got := chaosOptions(t, strings.Fields(again)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", line, got, want)
		}
	}
}
