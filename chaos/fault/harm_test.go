//go:build unix

package fault_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runnel/chaos/disk"
	"runnel/chaos/fault"
	"runnel/chaos/history"
	"runnel/chaos/process"
)

// carryOut does some steps to a cluster of three fake servers, and returns what is in the history then.
func carryOut(t *testing.T, extra string, steps ...fault.Step) (*process.Cluster, []history.Operation) {
	t.Helper()
	return carryOutUntil(t, nil, extra, steps...)
}

// carryOutUntil does so until tell, which is told of each step as it begins and ends, ends the run.
func carryOutUntil(t *testing.T, tell func(c *process.Cluster, ended bool, end func()), extra string, steps ...fault.Step) (*process.Cluster, []history.Operation) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c, err := process.NewCluster(filepath.Join(dir, "servers"), process.Options{Program: process.Program{Path: path}, Extra: extra})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	h, err := history.Create(filepath.Join(dir, "history"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := c.StartAll(ctx); err != nil {
		t.Fatal(err)
	}
	r := fault.Runner{Cluster: c, History: h}
	if tell != nil {
		r.Tell = func(_ fault.Step, ended bool, _ error) { tell(c, ended, cancel) }
	}
	if err := r.Run(ctx, steps); err != nil {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); err != nil {
		t.Errorf("a server has ended, and nobody knew of it before: %v", err)
	}
	for _, s := range c.Servers() {
		if _, up := s.PID(); !up {
			t.Errorf("%s is down in the end", s.Name())
		}
		if lines, err := s.LogFaults(); err != nil || len(lines) > 0 {
			t.Errorf("%s: %v, %q", s.Name(), err, lines)
		}
	}
	ops, err := history.ReadFile(filepath.Join(dir, "history"))
	if err != nil {
		t.Fatal(err)
	}
	return c, ops
}

// whole reports whether the files of a fake server are as they were written.
func whole(s *process.Server) bool {
	for _, name := range []string{fakeLog, fakeNode} {
		if text, err := os.ReadFile(filepath.Join(s.StoreDir(), name)); err != nil || !bytes.Equal(text, fakeContent) {
			return false
		}
	}
	return true
}

// step is a short fault of the second server, one of many by number.
func step(kind string, number int) fault.Step {
	return fault.Step{Kind: kind, At: time.Duration(number), For: 20 * time.Millisecond, Servers: []int{1}}
}

// TestDamages: a server that takes no notice of damage keeps it, and one that refuses gets an empty disk. The history has what was done.
func TestDamages(t *testing.T) {
	const wiped = "given an empty disk"
	for _, extra := range []string{"", "# strict\n", "# frail\n"} {
		for kind, file := range map[string]string{"damage-wal": fakeLog, "damage-meta": fakeNode, "damage-any": "runnel"} {
			t.Run(strings.TrimSpace(extra)+" "+kind, func(t *testing.T) {
				t.Parallel()
				c, ops := carryOut(t, extra, step(kind, 1))
				if len(ops) != 1 || ops[0].Kind != history.Fault || ops[0].Node != "n2" || ops[0].Value != kind {
					t.Fatalf("got %v, want one fault of n2", ops)
				}
				o := ops[0]
				if strings.Contains(o.Key, "nothing of it has changed") {
					return // here nothing ever does
				}
				if o.Result != history.OK || !strings.HasPrefix(o.Key, file) || strings.Contains(o.Key, wiped) != (extra != "") {
					t.Errorf("got %v, %q %s, want file %s, and wiped: %v", o.Result, o.Key, o.Error, file, extra != "")
				}
				for i, s := range c.Servers() {
					if got, want := whole(s), i != 1 || extra != ""; got != want {
						t.Errorf("the files of %s are whole: %v, want %v", s.Name(), got, want)
					}
				}
			})
		}
	}
}

// TestNothingToDamage has the log of a server taken away before it is damaged: that is told of also when the run ends meanwhile.
func TestNothingToDamage(t *testing.T) {
	long := step("damage-wal", 1)
	long.For, long.Form = time.Hour, disk.Flip.String()
	_, ops := carryOutUntil(t, func(c *process.Cluster, ended bool, end func()) {
		if ended {
			return
		}
		s := c.Servers()[1]
		if err := os.Remove(filepath.Join(s.StoreDir(), fakeLog)); err != nil {
			t.Error(err)
		}
		pid, _ := s.PID()
		go func() { // the run ends while the fault lasts
			defer end()
			for {
				if now, up := s.PID(); !up || now != pid {
					return
				}
				<-time.After(10 * time.Millisecond)
			}
		}()
	}, "", long)
	if len(ops) != 1 || ops[0].Result != history.Failed || !strings.Contains(ops[0].Error, disk.ErrNothing.Error()) {
		t.Errorf("got %v, want that there was nothing to damage", ops)
	}
}

// TestFormOfDamage has a file damaged in each form that a plan may want.
func TestFormOfDamage(t *testing.T) {
	for form := range disk.Form(disk.Forms) {
		s := step("damage-wal", 1)
		s.Form = form.String()
		_, ops := carryOut(t, "", s)
		if len(ops) != 1 {
			t.Fatalf("%s: got %v, want one fault", form, ops)
		}
		o := ops[0]
		want := map[disk.Form]string{disk.Flip: "bits flipped", disk.Truncate: "cut at byte", disk.Empty: "emptied", disk.Remove: "removed", disk.RollBack: "nothing of it has changed"}[form]
		if o.Result != history.OK || !strings.Contains(o.Key, want) || !strings.Contains(o.Key, "asked to lead") {
			t.Errorf("%s: got %v, %q %s", form, o.Result, o.Key, o.Error)
		}
	}
	s := step("damage-wal", 1)
	s.Form = "kick"
	if _, ops := carryOut(t, "", s); len(ops) != 1 || !strings.Contains(ops[0].Error, `"kick"`) {
		t.Errorf("got %v, want that there is no such form", ops)
	}
}

// A server that has no files of messages yet: another one is damaged.
func TestDamageOfNothing(t *testing.T) {
	c, ops := carryOut(t, "", step("damage-files", 1))
	if len(ops) != 1 || ops[0].Result != history.OK || !strings.HasPrefix(ops[0].Key, "there are no files of messages yet") {
		t.Fatalf("got %v, want one that was done", ops)
	}
	if whole(c.Servers()[1]) && !strings.Contains(ops[0].Key, "nothing of it has changed") {
		t.Errorf("its files are whole after %q", ops[0].Key)
	}
}

// TestDisksFail: what is done to the disk of a server is undone, and it has its files.
func TestDisksFail(t *testing.T) {
	for _, kind := range []string{"disk-eio", "disk-full", "disk-read-only", "forget", "forget-all", "forgetful-majority"} {
		t.Run(kind, func(t *testing.T) {
			kinds, err := fault.Find(kind)
			if err != nil {
				t.Fatal(err)
			}
			if err := kinds[0].Missing(runnerOf(t, 3, process.Incumbent)); err != nil {
				t.Skipf("not runnable here: %v", err)
			}
			c, ops := carryOut(t, "", step(kind, 1))
			if len(ops) != 1 || ops[0].Result != history.OK || ops[0].Node != "n2" {
				t.Errorf("got %v, want one fault of n2", ops)
			}
			if got, want := strings.Contains(ops[0].Key, "2 files are as they were before"), strings.HasPrefix(kind, "forget"); got != want {
				t.Errorf("got %q, want what was forgotten: %v", ops[0].Key, want)
			}
			s := c.Servers()[1]
			if !whole(s) {
				t.Error("its files are not as they were")
			}
			if rest, _ := filepath.Glob(s.StoreDir() + ".*"); len(rest) > 0 {
				t.Errorf("%v is left", rest)
			}
			if err := os.WriteFile(filepath.Join(s.StoreDir(), "new"), nil, 0o600); err != nil {
				t.Errorf("its disk is not as it was: %v", err)
			}
		})
	}
}
