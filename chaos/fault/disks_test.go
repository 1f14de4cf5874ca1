package fault_test

import (
	"runtime"
	"strings"
	"testing"

	"runnel/chaos/fault"
	"runnel/chaos/process"
)

// diskKinds are the faults of disks, and what each needs of the machine.
var diskKinds = map[string]string{
	"damage-wal": "", "damage-files": "", "damage-meta": "", "damage-any": "", "disk-eio": "strace", "disk-full": "mount", "disk-read-only": "mount",
	"forget": "strace", "forgetful-majority": "strace",
}

// runnerOf is one for a cluster that was never started.
func runnerOf(t *testing.T, servers int, d process.Dialect) *fault.Runner {
	t.Helper()
	c, err := process.NewCluster(t.TempDir(), process.Options{Servers: servers, Program: process.Program{Path: "none", Dialect: d}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &fault.Runner{Cluster: c}
}

// TestDisksMissing: where there are no tools, what needs them is not runnable, and all else is.
func TestDisksMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := runnerOf(t, 3, process.Incumbent)
	for name, tool := range diskKinds {
		kinds, err := fault.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		err = kinds[0].Missing(r)
		if tool == "" && err != nil || tool != "" && err == nil {
			t.Errorf("%s: got %v, want an error: %v", name, err, tool != "")
		}
		if tool == "mount" && runtime.GOOS == "linux" && !strings.Contains(err.Error(), tool) {
			t.Errorf("%s: got %v, want one that names %s", name, err, tool)
		}
		if err := kinds[0].Missing(runnerOf(t, 1, process.Incumbent)); err == nil || !strings.Contains(err.Error(), "it needs 3 servers") {
			t.Errorf("%s of one server: got %v", name, err)
		}
	}
}
