//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// daemon is a runnel in a process of its own.
type daemon struct {
	t   *testing.T
	cmd *exec.Cmd
	dir string // has the ports file

	lines chan string // of its log
	log   []string    // lines that were read
}

// startDaemon starts runnel on free ports of the loopback address. It is
// killed with the test if it has not ended.
func startDaemon(t *testing.T, env []string, args ...string) *daemon {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, dir: t.TempDir(), lines: make(chan string, 1000)}
	d.cmd = exec.Command(self, append([]string{"-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", d.dir}, args...)...)
	d.cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var read sync.WaitGroup
	read.Go(func() {
		defer close(d.lines)
		for scan := bufio.NewScanner(stderr); scan.Scan(); {
			d.lines <- scan.Text()
		}
	})
	t.Cleanup(func() {
		d.cmd.Process.Kill()
		d.cmd.Wait()
		read.Wait()
	})
	return d
}

// waitLine reads the log up to a line with the text.
func (d *daemon) waitLine(text string) string {
	d.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-d.lines:
			if !ok {
				d.t.Fatalf("log ended before %q:\n%s", text, strings.Join(d.log, "\n"))
			}
			d.log = append(d.log, line)
			if strings.Contains(line, text) {
				return line
			}
		case <-timeout:
			d.t.Fatalf("no line with %q:\n%s", text, strings.Join(d.log, "\n"))
		}
	}
}

// signal sends a signal.
func (d *daemon) signal(s os.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

// wantExit reads the rest of the log and wants an exit code.
func (d *daemon) wantExit(want int) {
	d.t.Helper()
	timeout := time.After(patience)
	for open := true; open; {
		select {
		case line, ok := <-d.lines:
			if open = ok; ok {
				d.log = append(d.log, line)
			}
		case <-timeout:
			d.t.Fatalf("still running:\n%s", strings.Join(d.log, "\n"))
		}
	}
	d.cmd.Wait()
	if got := d.cmd.ProcessState.ExitCode(); got != want {
		d.t.Errorf("got exit code %d, want %d:\n%s", got, want, strings.Join(d.log, "\n"))
	}
}

// url returns where the ports file says that a service listens.
func (d *daemon) url(service string) *url.URL {
	d.t.Helper()
	path := filepath.Join(d.dir, fmt.Sprintf("%s_%d.ports", filepath.Base(d.cmd.Path), d.cmd.Process.Pid))
	text, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	var ports map[string][]string
	if err := json.Unmarshal(text, &ports); err != nil || len(ports[service]) == 0 {
		d.t.Fatalf("ports file has %s, %v, want a %s", text, err, service)
	}
	u, err := url.Parse(ports[service][0])
	if err != nil {
		d.t.Fatal(err)
	}
	return u
}

// info connects as a client and returns the INFO line.
func (d *daemon) info() string {
	d.t.Helper()
	conn, err := net.Dial("tcp", d.url("nats").Host)
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		d.t.Fatal(err)
	}
	return line
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !condition() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("still not: %s", what)
		}
	}
}

func TestServeUntilTerminated(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "run.pid")
			d := startDaemon(t, nil, "-P", pidFile, "-m", "-1")
			d.waitLine("[INF] Starting runnel")
			d.waitLine("[INF] Listening for client connections on 127.0.0.1:")
			d.waitLine("[INF] Server is ready")
			wantFile(t, pidFile, fmt.Sprint(d.cmd.Process.Pid))
			if info := d.info(); !strings.HasPrefix(info, "INFO {") || !strings.Contains(info, `"version":"2.15.2"`) {
				t.Errorf("got %q", info)
			}
			if code, _, stderr := command(t, "healthcheck", "--url", d.url("monitoring").JoinPath("healthz").String()); code != 0 {
				t.Errorf("healthcheck: got %d, %s", code, stderr)
			}
			d.signal(s)
			d.waitLine("Initiating Shutdown")
			d.wantExit(0)
			wantNames(t, d.dir)
			if _, err := os.Stat(pidFile); !os.IsNotExist(err) {
				t.Errorf("pid file: got %v, want it removed", err)
			}
		})
	}
}

func TestReload(t *testing.T) {
	file := writeFile(t, "x.conf", "max_payload: 1000\nserver_name: before\n")
	socket, notices := notifySocketOrNone(t)
	d := startDaemon(t, []string{"NOTIFY_SOCKET=" + socket}, "-c", file, "-T=false")
	d.waitLine("Using configuration file: " + file + " (sha256:")
	d.waitLine("Server is ready")
	notices("READY=1")

	rewrite := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d.signal(syscall.SIGHUP)
	}
	rewrite("max_payload: 2000\nserver_name: before\ndebug: true\nport: 1\n") // the flag -p wins
	d.waitLine("Reloaded server configuration")
	notices("RELOADING=1\nMONOTONIC_USEC=[0-9]+")
	notices("READY=1")
	if info := d.info(); !strings.Contains(info, `"max_payload":2000`) {
		t.Errorf("after a reload: got %s", info)
	}
	if _, _, stderr := command(t, "--signal", fmt.Sprintf("reload=%d", d.cmd.Process.Pid)); stderr != "" {
		t.Error(stderr)
	}
	d.waitLine("Reloaded server configuration")
	notices("RELOADING=1\nMONOTONIC_USEC=[0-9]+")
	notices("READY=1")

	rewrite("max_payload: 3000\nserver_name: after\n") // the name needs a restart
	d.waitLine("[ERR] reload: config reload not supported for server_name")
	notices("RELOADING=1\nMONOTONIC_USEC=[0-9]+")
	notices("READY=1")
	rewrite("max_payload: nonsense\n")
	d.waitLine("[ERR] reload: " + file + ":1:14: ")
	notices("RELOADING=1\nMONOTONIC_USEC=[0-9]+")
	notices("READY=1")
	if info := d.info(); !strings.Contains(info, `"max_payload":3000`) || !strings.Contains(info, `"server_name":"before"`) {
		t.Errorf("after reloads that could not be applied whole: got %s", info)
	}
	d.signal(syscall.SIGTERM)
	notices("STOPPING=1")
	d.wantExit(0)
}

// notifySocketOrNone gives a socket of a service manager where there is one,
// which is Linux, and a function that wants the next notice.
func notifySocketOrNone(t *testing.T) (path string, notice func(pattern string)) {
	if runtime.GOOS != "linux" {
		return "", func(string) {}
	}
	path, conn := notifySocket(t)
	return path, func(pattern string) {
		t.Helper()
		wantNotice(t, conn, pattern)
	}
}

func TestReloadWithoutFile(t *testing.T) {
	d := startDaemon(t, nil)
	d.waitLine("Server is ready")
	d.signal(syscall.SIGHUP)
	d.waitLine("[ERR] reload: the server was started without a config file")
	d.signal(syscall.SIGTERM)
	d.wantExit(0)
}

// The log follows a reload to another file and other levels.
func TestReloadMovesLog(t *testing.T) {
	file := writeFile(t, "x.conf", "server_name: a\n")
	d := startDaemon(t, nil, "-c", file)
	d.waitLine("Server is ready")
	log := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(file, fmt.Appendf(nil, "server_name: a\nlog_file: %q\n", log), 0o600); err != nil {
		t.Fatal(err)
	}
	d.signal(syscall.SIGHUP)
	eventually(t, "a line in the new log", fileHas(log, "Reloaded server configuration"))
	d.signal(syscall.SIGTERM)
	d.wantExit(0)
	if !fileHas(log, "Server Exiting..")() {
		t.Error("the new log has not the end")
	}
}

// fileHas is whether a file has a text.
func fileHas(path, text string) func() bool {
	return func() bool {
		b, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(b), text)
	}
}

func TestReopenLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	d := startDaemon(t, nil, "-l", path)
	eventually(t, "ready", fileHas(path, "Server is ready"))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	d.signal(syscall.SIGUSR1)
	eventually(t, "a new file", func() bool { _, err := os.Stat(path); return err == nil })
	d.signal(syscall.SIGTERM)
	d.wantExit(0)
	if !fileHas(path+".1", `Trapped "user defined signal 1" signal`)() || fileHas(path+".1", "Exiting")() {
		t.Error("the old file has not what came before")
	}
	if !fileHas(path, "Server Exiting..")() || fileHas(path, "Starting")() {
		t.Error("the new file has not what came after")
	}
	if len(d.log) > 0 {
		t.Errorf("standard error has %q, want nothing", d.log)
	}
}

func TestLameDuck(t *testing.T) {
	file := writeFile(t, "x.conf", "lame_duck_grace_period: \"200ms\"\nlame_duck_duration: \"30s\"\n")
	d := startDaemon(t, nil, "-c", file)
	d.waitLine("Server is ready")
	client, err := net.Dial("tcp", d.url("nats").Host)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := bufio.NewReader(client).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	d.signal(syscall.SIGUSR2)
	d.waitLine("Entering lame duck mode")
	d.signal(syscall.SIGTERM) // waits for it
	d.waitLine(`Trapped "terminated" signal`)
	d.waitLine("Closing existing clients")
	d.waitLine("Server Exiting..")
	d.wantExit(0)
}

func TestLameDuckInterrupted(t *testing.T) {
	file := writeFile(t, "x.conf", "lame_duck_grace_period: \"20m\"\nlame_duck_duration: \"30m\"\n")
	d := startDaemon(t, nil, "-c", file)
	d.waitLine("Server is ready")
	d.signal(syscall.SIGUSR2)
	d.waitLine("Entering lame duck mode")
	d.signal(syscall.SIGINT)
	d.wantExit(0)
}

func TestStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	d := startDaemon(t, nil, "-p", port)
	d.waitLine("[FTL] cannot start: ")
	d.wantExit(1)

	d = startDaemon(t, nil, "-P", filepath.Join(t.TempDir(), "missing", "x.pid"))
	d.waitLine("[FTL] write ")
	d.wantExit(1)

	d = startDaemon(t, nil, "-l", filepath.Join(t.TempDir(), "missing", "x.log"))
	d.waitLine("runnel: open log: ")
	d.wantExit(1)
}

func TestSignalCommand(t *testing.T) {
	d := startDaemon(t, nil)
	d.waitLine("Server is ready")
	pidFile := writeFile(t, "x.pid", fmt.Sprintf("%d\n", d.cmd.Process.Pid))
	for _, tt := range []struct {
		args []string
		want string // on stderr
	}{
		{[]string{"--signal", "nonsense"}, "runnel: unknown signal \"nonsense\"; known are reload, reopen, ldm, quit, term and stop\n"},
		{[]string{"--signal", "reload=0"}, "runnel: signal reload: 0 is not a process id\n"},
		{[]string{"--signal", "reload=-1"}, "runnel: signal reload: -1 is not a process id\n"},
		{[]string{"--signal", "reload="}, "runnel: signal reload: neither a process id nor a pid file: open : no such file or directory\n"},
		{[]string{"-sl", "reload=" + writeFile(t, "y.pid", "abc")}, "does not hold a number\n"},
		{[]string{"-sl", "term=2147483647"}, "runnel: signal term to process 2147483647: no such process\n"},
	} {
		code, _, stderr := command(t, tt.args...)
		if code != 1 || !strings.HasSuffix(stderr, tt.want) {
			t.Errorf("%v: got %d, %q, want 1, %q", tt.args, code, stderr, tt.want)
		}
	}
	if code, _, stderr := command(t, "--signal", "reopen="+pidFile); code != 0 {
		t.Errorf("got %d, %s", code, stderr)
	}
	d.waitLine(`Trapped "user defined signal 1" signal`)
	if code, _, stderr := command(t, "--signal", "quit="+pidFile); code != 0 {
		t.Errorf("got %d, %s", code, stderr)
	}
	d.wantExit(0)
}

// Without a process id the one server that runs is meant.
func TestSignalFindsServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked for on Linux only")
	}
	// A program of its own name, so that nobody else's is found.
	name := fmt.Sprintf("runnel-test-%d", os.Getpid())
	program := filepath.Join(t.TempDir(), name)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(self, program); err != nil {
		copyProgram(t, self, program)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		return cmd
	}
	if out, err := run("--signal", "term").CombinedOutput(); err == nil || !strings.Contains(string(out), "no other runnel is running") {
		t.Errorf("none: got %q, %v", out, err)
	}
	start := func() (*exec.Cmd, io.Reader) {
		cmd := run("-a", "127.0.0.1", "-p", "-1")
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		for scan := bufio.NewScanner(stderr); scan.Scan() && !strings.Contains(scan.Text(), "Server is ready"); {
		}
		return cmd, stderr
	}
	first, firstLog := start()
	second, secondLog := start()
	if out, err := run("--signal", "term").CombinedOutput(); err == nil || !strings.Contains(string(out), fmt.Sprint(second.Process.Pid)) {
		t.Errorf("two: got %q, %v", out, err)
	}
	second.Process.Kill()
	io.Copy(io.Discard, secondLog)
	second.Wait()
	if out, err := run("--signal", "term").CombinedOutput(); err != nil {
		t.Errorf("one: got %q, %v", out, err)
	}
	io.Copy(io.Discard, firstLog)
	if err := first.Wait(); err != nil {
		t.Errorf("the server: %v", err)
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestRaiseThreads(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	t.Setenv("GOMAXPROCS", "")
	raiseThreads(before)
	if got := runtime.GOMAXPROCS(0); got != before+2 {
		t.Errorf("got %d, want %d", got, before+2)
	}
	raiseThreads(1)
	if got := runtime.GOMAXPROCS(0); got != before+2 {
		t.Errorf("lowered to %d", got)
	}
	t.Setenv("GOMAXPROCS", "1")
	raiseThreads(100)
	if got := runtime.GOMAXPROCS(0); got != before+2 {
		t.Errorf("got %d in spite of the user's own choice", got)
	}
}
