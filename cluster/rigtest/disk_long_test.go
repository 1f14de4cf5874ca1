//go:build linux && long

package rigtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"runnel/cluster/rigtest"
)

// trace has the system calls of a running server fail as strace injects it, until the server ends or the function is called
// that is returned. Where nobody may trace the test is skipped.
func trace(t *testing.T, n *rigtest.Node, calls, fault string) (stop func()) {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skipf("not runnable here: %v", err)
	}
	cmd := exec.Command(path, "-f", "-q", "-o", "/dev/null", "-e", "trace="+calls, "-e", "inject="+calls+":"+fault, "-p", strconv.Itoa(n.PID()))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Skipf("not runnable here: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is ended by a signal
	}()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-ended
	}
	t.Cleanup(stop)
	rigtest.Eventually(t, n.Name+" to be traced", func() error {
		select {
		case <-ended:
			t.Skipf("not runnable here: %s", said.String())
		default:
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
		if err == nil && strings.Contains(string(status), "\nTracerPid:\t0\n") {
			err = fmt.Errorf("it is not: %s", said.String())
		}
		return err
	})
	return stop
}

// TestDiskFails: a server whose disk fails ends, and says why; the others go on. What it has acknowledged is there when it is
// back, and nothing that it could not keep.
func TestDiskFails(t *testing.T) {
	tests := []struct {
		name         string
		calls, fault string
		leads        bool
		log          string // matches what the server says
	}{
		{"sync, leader", "fsync,fdatasync", "error=EIO", true, `(?i)sync.*input/output error`},
		{"sync, follower", "fsync,fdatasync", "error=EIO", false, `(?i)sync.*input/output error`},
		{"one sync", "fsync,fdatasync", "error=EIO:when=1", true, `(?i)sync.*input/output error`},
		{"write, leader", "pwrite64", "error=EIO", true, `input/output error`},
		{"write, follower", "pwrite64", "error=EIO", false, `input/output error`},
		{"silence, leader", "fsync,fdatasync", "delay_enter=25000000", true, `the disk has not answered for`},
		{"silence, follower", "fsync,fdatasync", "delay_enter=25000000", false, `the disk has not answered for`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, nil)
			n := w.Leader(w.nc, stream)
			if !tt.leads {
				n = w.Others(n)[0]
			}
			n.Doom()
			before := len(n.Log())
			stop := trace(t, n, tt.calls, tt.fault)
			w.writers.Progress(50)
			code := n.WaitEnd()
			stop()
			said := n.Log()[before:]
			t.Logf("%s has ended with code %d, and said:\n%s", n.Name, code, said)
			if code != 1 {
				t.Errorf("%s has ended with code %d, want 1", n.Name, code)
			}
			if !regexp.MustCompile(tt.log).MatchString(said) {
				t.Errorf("%s says nothing like %s", n.Name, tt.log)
			}
			w.writers.Progress(50)
			n.Start()
			w.whole()
			w.verify()
		})
	}
}

// mount has a folder of a server be a file system of its own, as far as that is allowed here, until the function is called that is
// returned.
func mount(t *testing.T, dir, kind string, flags uintptr, options string) (undo func()) {
	t.Helper()
	source := "rig"
	if flags&syscall.MS_BIND != 0 {
		source = dir
	}
	if err := syscall.Mount(source, dir, kind, flags, options); err != nil {
		t.Skipf("not runnable here: mount %s: %v", dir, err)
	}
	undo = sync.OnceFunc(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	t.Cleanup(undo)
	return undo
}

// room has a file system in memory have so many bytes from now on.
func room(t *testing.T, dir string, bytes int) {
	t.Helper()
	if err := syscall.Mount("rig", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Fatalf("resize %s: %v", dir, err)
	}
}

// TestDiskFull: a server whose disk is full acknowledges nothing that it cannot keep, whether it led or not; the others go on.
// When there is room again it has what they have.
func TestDiskFull(t *testing.T) {
	for _, leads := range []bool{true, false} {
		t.Run(fmt.Sprintf("leader %v", leads), func(t *testing.T) {
			t.Parallel()
			c := rigtest.New(t, rigtest.Config{JetStream: true})
			for _, n := range c.Nodes {
				if err := os.Mkdir(n.StoreDir(), 0o700); err != nil {
					t.Fatal(err)
				}
				mount(t, n.StoreDir(), "tmpfs", 0, "size=1g")
				n.Start()
			}
			c.WaitReady()
			w := inhabit(t, c, nil)
			n := w.Leader(w.nc, stream)
			if !leads {
				n = w.Others(n)[0]
			}
			before := len(n.Log())
			room(t, n.StoreDir(), 128<<20)
			large := rigtest.StartWriters(t, w.Connect(), w.ledger, rigtest.WriterConfig{Stream: stream, Prefix: "large", Count: 8, Bytes: 256 << 10})
			large.Progress(800)
			large.Stop()
			w.writers.Progress(50)
			said := n.Log()[before:]
			t.Logf("%s has said:\n%s", n.Name, said)
			if want := "the disk is full"; !strings.Contains(said, want) {
				t.Errorf("%s does not say that %s", n.Name, want)
			}
			if now := w.Leader(w.nc, stream); now == n {
				t.Errorf("%s leads, though its disk is full", n.Name)
			}
			room(t, n.StoreDir(), 1<<30)
			w.verify()
		})
	}
}

// TestDiskReadOnly: a server that can make no more files, since its file system has become read-only, ends, and so does one that
// is started there. Both say why. With the file system as it was all is well.
func TestDiskReadOnly(t *testing.T) {
	w := newWorld(t, nil)
	n := w.Leader(w.nc, stream)
	before := len(n.Log())
	n.Doom()
	undo := readOnly(t, n.StoreDir())
	large := rigtest.StartWriters(t, w.Connect(), w.ledger, rigtest.WriterConfig{Stream: stream, Prefix: "large", Count: 8, Bytes: 256 << 10})
	large.Progress(400)
	large.Stop()
	for start := range 2 {
		if start > 0 {
			n.Start()
			n.Doom()
		}
		code := n.WaitEnd()
		said := n.Log()[before:]
		t.Logf("%s has ended with code %d, and said:\n%s", n.Name, code, said)
		if want := "read-only file system"; code != 1 || !strings.Contains(said, want) {
			t.Errorf("%s has ended with code %d, want 1 and a word of the %s", n.Name, code, want)
		}
		before = len(n.Log())
	}
	undo()
	w.writers.Progress(50)
	n.Start()
	w.verify()
}

// readOnly has nobody make or open for writing a file below a folder, until the function is called that is returned. Those that
// are open stay so.
func readOnly(t *testing.T, dir string) (undo func()) {
	t.Helper()
	undo = mount(t, dir, "", syscall.MS_BIND, "")
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("not runnable here: %v", err)
	}
	return undo
}
