package fault_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/chaos/fault"
	"runnel/chaos/process"
)

// TestTakes: a minority leaves a quorum, a majority does not, and both together are never more than all.
func TestTakes(t *testing.T) {
	tests := []struct {
		servers                                    int
		one, two, three, minority, majority, every int
	}{
		{1, 1, 2, 3, 1, 1, 1},
		{2, 1, 2, 3, 1, 2, 2},
		{3, 1, 2, 3, 1, 2, 3},
		{4, 1, 2, 3, 1, 3, 4},
		{5, 1, 2, 3, 2, 3, 5},
		{7, 1, 2, 3, 3, 4, 7},
	}
	for _, test := range tests {
		got := [...]int{
			fault.One.Of(test.servers), fault.Two.Of(test.servers), fault.Three.Of(test.servers),
			fault.Minority.Of(test.servers), fault.Majority.Of(test.servers), fault.All.Of(test.servers),
		}
		if want := [...]int{test.one, test.two, test.three, test.minority, test.majority, test.every}; got != want {
			t.Errorf("of %d servers: got %v, want %v", test.servers, got, want)
		}
	}
	for n := 3; n < 20; n++ {
		quorum := n/2 + 1
		if left := n - fault.Minority.Of(n); left < quorum {
			t.Errorf("a minority of %d leaves %d, and a quorum is %d", n, left, quorum)
		}
		if left := n - fault.Majority.Of(n); left >= quorum {
			t.Errorf("a majority of %d leaves %d, which is a quorum", n, left)
		}
	}
	if got := fault.Takes(0).Of(5); got != 0 {
		t.Errorf("what takes nothing takes %d", got)
	}
}

// TestLeast: no kind takes more servers than there are where it can be done.
func TestLeast(t *testing.T) {
	for _, k := range fault.Kinds() {
		for n := max(k.Least, 1); n <= 7; n++ {
			if got := k.Takes.Of(n); got < 1 || got > n {
				t.Errorf("%s is done to %d of %d servers", k.Name, got, n)
			}
		}
	}
}

// TestMissing: a cluster that is too small for a fault is told so, with how many servers there are.
func TestMissing(t *testing.T) {
	for _, servers := range []int{1, 3, 5} {
		r := runnerOf(t, servers, process.Runnel)
		for _, k := range fault.Kinds() {
			if servers >= k.Least {
				continue // then it is up to the machine
			}
			want := fmt.Sprintf("it needs %d servers, and there are %d", k.Least, servers)
			if err := k.Missing(r); err == nil || err.Error() != want {
				t.Errorf("%s: got %v, want %s", k.Name, err, want)
			}
		}
	}
	r := runnerOf(t, 1, process.Runnel)
	for _, name := range []string{"kill", "pause", "restart", "rolling-restart", "cut", "slow", "reset"} {
		kinds, err := fault.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := kinds[0].Missing(r); err != nil {
			t.Errorf("%s of one server: got %v, want that it can be done", name, err)
		}
	}
}

// TestNames: what Names returns is what Find understands.
func TestNames(t *testing.T) {
	all := fault.Names(fault.Kinds())
	found, err := fault.Find(strings.Split(all, ", ")...)
	if err != nil || fault.Names(found) != all {
		t.Errorf("got %s, %v, want %s", fault.Names(found), err, all)
	}
	if got := fault.Names(nil); got != "" {
		t.Errorf("names of nothing: %q", got)
	}
	if found, err := fault.Find(); err != nil || len(found) != 0 {
		t.Errorf("found %d kinds with no names, %v", len(found), err)
	}
	for _, names := range [][]string{{"kill", ""}, {"kick", "all"}} {
		if _, err := fault.Find(names...); err == nil {
			t.Errorf("%q: got no error", names)
		}
	}
}

// TestServersOf: places are counted around, so that a plan for more servers than there are can be carried out.
func TestServersOf(t *testing.T) {
	r := runnerOf(t, 3, process.Runnel)
	all := r.Cluster.Servers()
	for _, test := range []struct{ places, want []int }{
		{nil, nil},
		{[]int{1}, []int{1}},
		{[]int{2, 0}, []int{2, 0}},
		{[]int{3, 7}, []int{0, 1}},
	} {
		var want []*process.Server
		for _, i := range test.want {
			want = append(want, all[i])
		}
		if got := r.ServersOf(fault.Step{Servers: test.places}); !reflect.DeepEqual(got, want) {
			t.Errorf("places %v: got %d servers, want those at %v", test.places, len(got), test.want)
		}
	}
}

// TestChoicesOfAStep: the same step makes the same choices, wherever it stands in a plan, and two steps make different ones.
func TestChoicesOfAStep(t *testing.T) {
	choices := func(s fault.Step) (all [8]uint64) {
		random := s.Random()
		for i := range all {
			all[i] = random.Uint64()
		}
		return all
	}
	a := fault.Step{Kind: "damage-wal", At: 3 * time.Second, For: time.Second}
	copied, later, longer := a, a, a
	later.At++
	longer.For++
	if choices(a) != choices(copied) {
		t.Error("one step chooses twice, and not the same")
	}
	if choices(a) == choices(later) || choices(a) == choices(longer) {
		t.Error("two steps make the same choices")
	}
}

// TestStepAsJSON: a plan that was written down is the same when it is read.
func TestStepAsJSON(t *testing.T) {
	plan := append(fault.Plan(settings(1, 5))[:10], fault.Step{Kind: "damage-wal", Form: "flip", Servers: []int{4}})
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	var got []fault.Step
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, plan) {
		t.Errorf("got %+v, %v, want %+v", got, err, plan)
	}
	if n := strings.Count(string(text), `"form"`); n != 1 {
		t.Errorf("%d steps have a form in %s, want 1", n, text)
	}
}

// TestLogsOfDamage: a server may tell of its own disk, and others of the replica that they miss, but neither may fail in another way.
func TestLogsOfDamage(t *testing.T) {
	tests := []struct {
		line          string
		harmed, other bool
	}{
		{"a block of the log is damaged", true, true},
		{"Checksum mismatch in block 3", true, false},
		{"write: no space left on device", true, false},
		{"sync: input/output error", true, false},
		{"open x: Read-only file system", true, false},
		{"the disk is full", true, false},
		{"Error recovering stream", true, false},
		{"a replica has to catch up", false, true},
		{"stream catchup stalled", false, true},
		{"data race", false, false},
		{"goroutine stack exceeds the limit", false, false},
		{"two leaders in one term", false, false},
	}
	for _, test := range tests {
		if got := fault.HarmedMaySay(test.line); got != test.harmed {
			t.Errorf("the harmed one: %q is all right: %v, want %v", test.line, got, test.harmed)
		}
		if got := fault.OtherMaySay(test.line); got != test.other {
			t.Errorf("another one: %q is all right: %v, want %v", test.line, got, test.other)
		}
	}
}
