//go:build unix

package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"runnel/chaos/process"
)

// soon ends when a test has waited too long.
func soon(t *testing.T) context.Context { return within(t, time.Minute) }

// shortly ends while a test waits for what does not come.
func shortly(t *testing.T) context.Context { return within(t, 100*time.Millisecond) }

// within ends after a time.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// rig is a fake server, and the ends of it that were told.
type rig struct {
	*process.Server
	ends chan *process.End
}

// newRig makes a fake server that has orders.
func newRig(t *testing.T, orders ...string) rig {
	t.Helper()
	var kept process.Ports
	ports, err := kept.Take(3)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	at := func(i int) string { return process.Loopback(ports[i]) }
	cfg := process.Config{
		Name: "n1", Client: at(0), Monitor: at(1), Peer: at(2), Cluster: "fake", StoreDir: filepath.Join(dir, "streams"),
		Extra: order(orders...),
	}
	program := process.Program{Path: link(t, "runnel")}
	r := rig{ends: make(chan *process.End, 10)}
	r.Server, err = process.New(dir, cfg, program, func(e *process.End) { r.ends <- e })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Kill(); kept.Close() })
	return r
}

// order is what a fake server does.
func order(orders ...string) string {
	var text strings.Builder
	for _, o := range orders {
		text.WriteString("# fake " + o + "\n")
	}
	return text.String()
}

// link gives the program of the tests a name, which it goes by.
func link(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// start starts a server that comes up.
func (r rig) start(t *testing.T) {
	t.Helper()
	if err := r.Start(soon(t)); err != nil {
		t.Fatal(err)
	}
}

// log is what the server has said.
func (r rig) log(t *testing.T) string {
	t.Helper()
	text, err := r.Log()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestServerLife(t *testing.T) {
	r := newRig(t)
	if text := r.log(t); text != "" || r.Running() {
		t.Fatalf("before the start: running %v, log %q", r.Running(), text)
	}
	ends := []struct {
		name string
		end  func() error
		log  string
	}{
		{"stop", func() error { return r.Stop(soon(t)) }, "ended by terminated"},
		{"lame duck", func() error { return r.LameDuck(soon(t)) }, "ended by user defined signal 2"},
		{"kill", r.Kill, "started"},
	}
	for _, tt := range ends {
		before := len(r.log(t))
		r.start(t)
		if err := r.Start(soon(t)); err == nil || !strings.Contains(err.Error(), "runs already") {
			t.Errorf("a second start: got %v, want that it runs already", err)
		}
		pid, up := r.PID()
		if !up || !r.Running() {
			t.Errorf("%s: got process %d, %v, running %v, want one that runs", tt.name, pid, up, r.Running())
		}
		if err := tt.end(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if _, up := r.PID(); up || r.Running() {
			t.Errorf("%s: it still runs", tt.name)
		}
		if err := tt.end(); err != nil {
			t.Errorf("%s, when it is down: %v", tt.name, err)
		}
		if got := r.log(t)[before:]; !strings.Contains(got, tt.log) {
			t.Errorf("%s: got log %q, want %q", tt.name, got, tt.log)
		}
	}
	if err := r.Err(); err != nil || len(r.ends) > 0 {
		t.Errorf("ends that were asked for are told: %v", err)
	}
}

// An end that nobody has asked for is told, kept and returned by whoever waits.
func TestServerEnd(t *testing.T) {
	r := newRig(t, "exit 3")
	err := r.Start(soon(t))
	var e *process.End
	if !errors.As(err, &e) || e.Code != 3 || e.Server != "n1" || !strings.Contains(e.Log, "panic: as ordered") {
		t.Fatalf("got %v, want an end with code 3 and the panic", err)
	}
	if told := <-r.ends; told != e {
		t.Errorf("got %v told, want %v", told, e)
	}
	if _, up := r.PID(); up || !r.Running() {
		t.Errorf("got running %v, process %v, want a server that should run and has none", r.Running(), up)
	}
	r.Configure(func(cfg *process.Config) { cfg.Extra = "" })
	r.start(t)
	pid, _ := r.PID()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if told := <-r.ends; told.PID != pid || told.Code != -1 || told.How != "signal: killed" {
		t.Errorf("got %v, want process %d killed", told, pid)
	}
	if got := len(r.Ends()); got != 2 {
		t.Errorf("got %d ends kept, want 2", got)
	}
	if err := r.Err(); !errors.As(err, &e) {
		t.Errorf("got %v, want the ends", err)
	}
	if err := r.Ready(soon(t)); !errors.As(err, &e) || e.PID != pid {
		t.Errorf("got %v from who waits, want the last end", err)
	}
}

// An end that is expected is no fault.
func TestServerExpectedEnd(t *testing.T) {
	r := newRig(t)
	if r.ExpectEnd() == nil {
		t.Error("the end of a server that is down can be expected")
	}
	if _, err := r.WaitEnd(soon(t)); err == nil {
		t.Error("somebody has waited for the end of a server that is down")
	}
	r.start(t)
	if _, err := r.WaitEnd(shortly(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v while it runs, want that the time is over", err)
	}
	if err := r.ExpectEnd(); err != nil {
		t.Fatal(err)
	}
	pid, _ := r.PID()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	code, err := r.WaitEnd(soon(t))
	if code != 0 || err != nil || r.Running() {
		t.Errorf("got code %d, %v, running %v, want 0 and down", code, err, r.Running())
	}
	if err := r.Err(); err != nil {
		t.Errorf("got %v, want no fault", err)
	}
}

// The end of a server that is doomed from its start is expected, even if it comes at once.
func TestServerDoomed(t *testing.T) {
	r := newRig(t, "exit 3")
	if err := r.LaunchDoomed(); err != nil {
		t.Fatal(err)
	}
	if code, err := r.WaitEnd(soon(t)); code != 3 || err != nil || r.Err() != nil {
		t.Errorf("got code %d, %v and the faults %v, want 3 and none", code, err, r.Err())
	}
}

// Who does not end when it is asked to is killed.
func TestServerStubborn(t *testing.T) {
	r := newRig(t, "stubborn")
	r.start(t)
	if err := r.Stop(shortly(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the time is over", err)
	}
	if r.Running() || r.Err() != nil {
		t.Errorf("got running %v, %v, want it killed as asked", r.Running(), r.Err())
	}
}

func TestServerPause(t *testing.T) {
	r := newRig(t)
	if r.Pause() == nil {
		t.Error("a server that is down can be paused")
	}
	r.start(t)
	if err := r.Pause(); err != nil || !r.Paused() {
		t.Fatalf("got %v, paused %v", err, r.Paused())
	}
	for { // it stops when the system comes round to it
		if _, err := r.Get(shortly(t), "/healthz"); err != nil {
			break
		}
	}
	if err := r.Resume(); err != nil || r.Paused() {
		t.Fatalf("got %v, paused %v", err, r.Paused())
	}
	if _, err := r.Get(soon(t), "/healthz"); err != nil {
		t.Error(err)
	}
	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(soon(t)); err != nil {
		t.Errorf("stop a paused server: %v", err)
	}
	if got := r.log(t); !strings.Contains(got, "ended by terminated") {
		t.Errorf("got log %q, want that it ended in good order", got)
	}
}

func TestServerReady(t *testing.T) {
	tests := []struct {
		name   string
		orders []string
		others []string
		want   string // in the error
	}{
		{"ready", []string{"linked n3 n2 n2", "leader n2"}, []string{"n2", "n3"}, ""},
		{"ill", []string{"ill", "linked n2", "leader n2"}, []string{"n2"}, "as ordered"},
		{"one is missing", []string{"linked n2", "leader n2"}, []string{"n2", "n3"}, `linked with ["n2"], want ["n2" "n3"]`},
		{"one too many", []string{"linked n2 n3", "leader n2"}, []string{"n2"}, `want ["n2"]`},
		{"no leader", []string{"linked n2"}, []string{"n2"}, "knows no leader"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.orders...)
			if err := r.Ready(soon(t)); err == nil || !strings.Contains(err.Error(), "is down") {
				t.Errorf("got %v, want that it is down", err)
			}
			r.start(t)
			if tt.want == "" {
				if err := r.Ready(soon(t), tt.others...); err != nil {
					t.Error(err)
				}
				return
			}
			if err := process.Unready(soon(t), r.Server, tt.others...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err := r.Ready(shortly(t), tt.others...); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want that the time is over", err)
			}
		})
	}
}

// A port that somebody else has is not taken for the server.
func TestServerStranger(t *testing.T) {
	r := newRig(t, "stranger")
	if err := r.Start(shortly(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that nobody is there in time", err)
	}
	if err := r.WaitListening(shortly(t)); err == nil {
		t.Error("a stranger is taken for the server")
	}
}

func TestServerWipe(t *testing.T) {
	r := newRig(t)
	file := filepath.Join(r.StoreDir(), "x")
	if err := os.MkdirAll(r.StoreDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.start(t)
	if r.Wipe() == nil {
		t.Error("a server that runs can be wiped")
	}
	if err := errors.Join(r.Kill(), r.Wipe(), r.Wipe()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no such file", err)
	}
	r.Configure(func(cfg *process.Config) { cfg.StoreDir = "" })
	if err := r.Wipe(); err != nil {
		t.Errorf("wipe a server without streams: %v", err)
	}
}

// A wrapped server is the same process, and another program is run from the next start on.
func TestServerWrap(t *testing.T) {
	r := newRig(t)
	r.Wrap("env", "FAKE=wrapped")
	r.start(t)
	if got := r.log(t); !strings.Contains(got, "FAKE=wrapped") {
		t.Errorf("got log %q, want what the wrapper has set", got)
	}
	if err := r.Stop(soon(t)); err != nil {
		t.Fatal(err)
	}
	r.Wrap()
	r.Use(process.Program{Path: filepath.Join(t.TempDir(), "none")})
	if err := r.Start(soon(t)); !errors.Is(err, os.ErrNotExist) || r.Running() {
		t.Errorf("got %v, running %v, want no such program", err, r.Running())
	}
}

func TestServerLogFaults(t *testing.T) {
	r := newRig(t, "says route lost")
	if found, err := r.LogFaults(); len(found) > 0 || err != nil {
		t.Errorf("got %q, %v before the start", found, err)
	}
	r.start(t)
	found, err := r.LogFaults()
	if err != nil || len(found) != 1 || !strings.Contains(found[0], "[ERR] route lost\n") {
		t.Errorf("got %q, %v, want the error", found, err)
	}
	r.ExpectLog(regexp.MustCompile(`route \w+`))
	if found, err := r.LogFaults(); len(found) > 0 || err != nil {
		t.Errorf("got %q, %v, want nothing that is not expected", found, err)
	}
	if got := r.LogEnd(1); !strings.Contains(got, "route lost") || strings.Count(got, "\n") != 1 {
		t.Errorf("got end %q, want one line", got)
	}
}

func TestServerFigures(t *testing.T) {
	r := newRig(t)
	if _, err := r.Figures(); err == nil {
		t.Error("a server that is down has figures")
	}
	r.start(t)
	f, err := r.Figures()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || f.Descriptors < 3 || f.ResidentBytes < 1<<20 || f.CPU < 0 {
		t.Errorf("got %+v, %v, want what a process uses", f, err)
	}
}
