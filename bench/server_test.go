package bench_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/bench"
)

// self is the test binary as a command line calls it.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return "'" + path + "'"
}

func fakeCommand(t *testing.T) string    { return self(t) + " fake-server {port}" }
func failingCommand(t *testing.T) string { return self(t) + " fake-exit" }

func TestServerStartsAndStops(t *testing.T) {
	server, err := bench.StartServer(t.Context(), fakeCommand(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(server.URL(), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if runtime.GOOS == "linux" {
		if usage, err := bench.ReadUsage(server.PID()); err != nil || usage.RSSBytes == 0 {
			t.Errorf("its usage: got %+v, %v", usage, err)
		}
	}
	server.Stop()
	server.Stop()
	if nc, err := nats.Connect(server.URL(), nats.NoReconnect()); err == nil {
		nc.Close()
		t.Error("it still answers")
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	tests := []struct {
		name, command string
		port          int
		want          string
	}{
		{"ends at once", failingCommand(t), 0, "exit status 7; its last output:\nthis server does not feel like it"},
		{"no such program", "./no-such-program {port}", 0, "start server"},
		{"empty", "  ", 0, "empty"},
		{"open quote", "server 'a b", 0, "not closed"},
		{"port in use", fakeCommand(t), busy.Addr().(*net.TCPAddr).Port, "no free port"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server, err := bench.StartServer(t.Context(), test.command, test.port)
			if err == nil {
				server.Stop()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want %q", err, test.want)
			}
		})
	}
}

func TestStartIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// The fake gets a wrong port, so that nobody ever answers on the right one.
	if server, err := bench.StartServer(ctx, self(t)+" fake-server 1{port}", 0); err == nil {
		server.Stop()
		t.Error("it started")
	}
}

func TestSplitCommand(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"", nil},
		{"  a  b\tc ", []string{"a", "b", "c"}},
		{`a "b c" 'd "e'`, []string{"a", "b c", `d "e`}},
		{`--x="1 2"3 ''`, []string{"--x=1 23", ""}},
	}
	for _, test := range tests {
		if got, err := bench.SplitCommand(test.line); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, %v, want %q", test.line, got, err, test.want)
		}
	}
	if got, err := bench.SplitCommand(`a "b`); err == nil {
		t.Errorf("open quote: got %q, want an error", got)
	}
}

func FuzzSplitCommand(f *testing.F) {
	f.Add("server -p {port}")
	f.Add(`a "b c" 'd'`)
	f.Add(`"`)
	f.Fuzz(func(t *testing.T, line string) {
		args, err := bench.SplitCommand(line)
		if err != nil {
			return
		}
		// What was split apart and quoted again splits into the same.
		var quoted []string
		for _, arg := range args {
			if strings.Contains(arg, "'") {
				return
			}
			quoted = append(quoted, "'"+arg+"'")
		}
		again, err := bench.SplitCommand(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(again, args) {
			t.Errorf("%q: got %q, then %q, %v", line, args, again, err)
		}
	})
}

func TestServerOutputIsBounded(t *testing.T) {
	if got := bench.Tail(); got != "" {
		t.Errorf("no output: got %q", got)
	}
	if got, want := bench.Tail("one\n", "two\n"), "; its last output:\none\ntwo"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := strings.Repeat("x", 3000)
	got := bench.Tail(long, long, long+"end")
	if len(got) > 5000 || !strings.HasSuffix(got, "xend") {
		t.Errorf("got %d bytes ending in %q", len(got), got[len(got)-10:])
	}
}

// realServer is the command line of a real server: the binary named by
// RUNNEL_TEST_SERVER, or runnel built from this tree.
func realServer(t *testing.T) string {
	t.Helper()
	binary := os.Getenv("RUNNEL_TEST_SERVER")
	if binary == "" {
		binary = filepath.Join(t.TempDir(), "runnel")
		if out, err := exec.Command("go", "build", "-o", binary, "../cmd/runnel").CombinedOutput(); err != nil {
			t.Fatalf("build the server: %v\n%s", err, out)
		}
	}
	return "'" + binary + "' -a 127.0.0.1 -p {port}"
}

func TestScenariosAgainstRealServer(t *testing.T) {
	server, err := bench.StartServer(t.Context(), realServer(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	cases, err := bench.Core().Select([]string{"all"}, bench.Overrides{Scale: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			r := c.Run(t.Context(), bench.Target{URL: server.URL(), PID: server.PID(), Verify: true})
			if !r.OK() {
				t.Fatalf("got error %q, verdict %s, notes %q", r.Error, r.Verdict, r.Tally.Notes)
			}
			if c.Params.Messages > 0 && r.Messages != c.Params.Messages {
				t.Errorf("got %s messages, want %d", strconv.FormatInt(r.Messages, 10), c.Params.Messages)
			}
			if runtime.GOOS == "linux" && (r.CPUPerMessage == nil || *r.RSSPeak < 1<<20) {
				t.Errorf("usage of the server: got CPU %v, memory %v", r.CPUPerMessage, r.RSSPeak)
			}
		})
	}
}
