package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram in the environment makes the test binary behave as runnel.
const asProgram = "RUNNEL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command runs runnel in this process.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// writeFile makes a file in a folder of the test.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"-v"}, {"--version"}, {"version"}, {"-p", "1", "-v"}} {
		code, stdout, stderr := command(t, args...)
		if want := "runnel: v0.1.0 (NATS 2.15.2 compatible)\n"; code != 0 || stdout != want || stderr != "" {
			t.Errorf("%v: got %d, %q, %q, want %q", args, code, stdout, stderr, want)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"--help"}, {"help"}, {"-c", "missing.conf", "-h"}} {
		code, stdout, stderr := command(t, args...)
		if code != 0 || stdout != helpText || stderr != "" {
			t.Errorf("%v: got %d, %q, %q, want the help", args, code, stdout, stderr)
		}
	}
	if code, stdout, _ := command(t, "--help_tls"); code != 0 || stdout != helpTLSText {
		t.Errorf("help on TLS: got %d, %q", code, stdout)
	}
}

// The help says something about every flag, in lines that fit a terminal.
func TestHelpIsComplete(t *testing.T) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	new(commandLine).register(flags)
	words := strings.FieldsFunc(helpText, func(r rune) bool { return strings.ContainsRune(" ,\n", r) })
	known := make(map[string]bool)
	for _, word := range words {
		known[word] = true
	}
	flags.VisitAll(func(f *flag.Flag) {
		if !known["-"+f.Name] && !known["--"+f.Name] {
			// The help shows the short name of a pair and the long ones.
			t.Errorf("flag %s is not in the help", f.Name)
		}
	})
	for line := range strings.Lines(helpText + helpTLSText + welcomeText) {
		if n := len(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"unknown flag", []string{"--nope"}, "flag provided but not defined: -nope\n"},
		{"unknown word", []string{"serve"}, "runnel: unrecognized command: \"serve\"\n"},
		{"word behind flags", []string{"-p", "4222", "x"}, "runnel: unrecognized command: \"x\"\n"},
		{"port is no number", []string{"-p", "abc"}, "invalid value \"abc\" for flag -p: not a whole number\n"},
		{"port is negative", []string{"-p", "-2"}, "invalid value \"-2\" for flag -p: less than -1\n"},
		{"switch with a word", []string{"-D=maybe"}, "invalid boolean value \"maybe\" for -D: neither true nor false\n"},
		{"route without a host", []string{"--routes", "nats://a:1,b"}, "invalid value \"nats://a:1,b\" for flag -routes: not a URL of the form nats://host:port\n"},
		{"cluster is no URL", []string{"--cluster", ":"}, "invalid value \":\" for flag -cluster: not a URL\n"},
		{"value is missing", []string{"-c"}, "flag needs an argument: -c\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := command(t, tt.args...)
			if want := tt.want + usageText; code != 1 || stderr != want || stdout != "" {
				t.Errorf("got %d, %q, want 1, %q", code, stderr, want)
			}
		})
	}
}
