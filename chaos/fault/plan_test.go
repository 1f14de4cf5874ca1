package fault_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/chaos/fault"
)

// settings is an hour of all faults.
func settings(seed uint64, servers int) fault.Settings {
	return fault.Settings{
		Seed: seed, Servers: servers, Kinds: fault.Kinds(), Length: time.Hour, Fault: 20 * time.Second, Quiet: 10 * time.Second,
	}
}

func TestPlanIsRepeatable(t *testing.T) {
	a, b := fault.Plan(settings(7, 3)), fault.Plan(settings(7, 3))
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed gives two plans")
	}
	if reflect.DeepEqual(a, fault.Plan(settings(8, 3))) {
		t.Error("two seeds give the same plan")
	}
}

func TestPlan(t *testing.T) {
	for _, servers := range []int{3, 5} {
		takes := make(map[string]fault.Takes)
		for _, k := range fault.Kinds() {
			takes[k.Name] = k.Takes
		}
		for seed := range uint64(50) {
			plan := fault.Plan(settings(seed, servers))
			counts := make(map[string]int)
			var free time.Duration // when the step before is over
			for i, s := range plan {
				if s.At < free || s.At >= time.Hour {
					t.Fatalf("seed %d: step %d begins at %v, the one before ends at %v", seed, i, s.At, free)
				}
				if free = s.At + s.For; s.For < 10*time.Second || s.For > 30*time.Second {
					t.Errorf("seed %d: step %d lasts %v, want 20 s or half of that more or less", seed, i, s.For)
				}
				counts[s.Kind]++
				checkServers(t, s, servers, takes[s.Kind])
			}
			least, most := slices.Min(slices.Collect(maps.Values(counts))), slices.Max(slices.Collect(maps.Values(counts)))
			if len(counts) != len(takes) || most-least > 1 {
				t.Errorf("seed %d: the kinds come %d to %d times, and %d of %d at all", seed, least, most, len(counts), len(takes))
			}
		}
	}
}

// checkServers checks who a step is done to.
func checkServers(t *testing.T, s fault.Step, servers int, takes fault.Takes) {
	t.Helper()
	want := map[fault.Takes]int{
		fault.One: 1, fault.Two: 2, fault.Three: 3, fault.Minority: (servers - 1) / 2, fault.Majority: servers/2 + 1, fault.All: servers,
	}[takes]
	if len(s.Servers) != want {
		t.Errorf("%s is done to %v, want %d of %d", s.Kind, s.Servers, want, servers)
	}
	for i, n := range s.Servers {
		if n < 0 || n >= servers || slices.Contains(s.Servers[:i], n) {
			t.Errorf("%s is done to %v of %d", s.Kind, s.Servers, servers)
		}
	}
}

func TestPlanOfNothing(t *testing.T) {
	if got := fault.Plan(fault.Settings{Length: time.Hour, Fault: time.Second, Quiet: time.Second}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestFind(t *testing.T) {
	found, err := fault.Find("kill", "cut")
	if err != nil || len(found) != 2 || found[0].Name != "kill" || found[1].Name != "cut" {
		t.Errorf("got %s, %v", fault.Names(found), err)
	}
	if found, err = fault.Find("all"); err != nil || len(found) != len(fault.Kinds()) {
		t.Errorf("all: got %d, %v", len(found), err)
	}
	if _, err = fault.Find("kil"); err == nil || !strings.Contains(err.Error(), "kill-minority") {
		t.Errorf("a misspelt name: got error %v, want one with what there is", err)
	}
	names := make(map[string]bool)
	for _, k := range fault.Kinds() {
		if names[k.Name] || k.Text == "" || strings.ToLower(k.Name) != k.Name {
			t.Errorf("kind %q (%q) is there twice, or has no name or text", k.Name, k.Text)
		}
		names[k.Name] = true
	}
}
