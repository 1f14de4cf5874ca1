package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"runnel/chaos/disk"
	"runnel/chaos/fault"
)

// A Condition is one of five that separate a server that keeps what it has acknowledged from one that only says so: a campaign whose plan is
// fixed.
type Condition struct {
	Name string
	Text string
	// Servers and Replicas are what the plan is made for.
	Servers, Replicas int
	Workloads         []string

	round func(n int) []fault.Step // without their times; For is in times of a fault, 1 if it is 0
}

// Conditions are all of them, in their order.
func Conditions() []Condition {
	few := []string{"W1", "W3", "W5"}
	return []Condition{
		{
			Name: "forgetful-majority", Servers: 3, Replicas: 3, Workloads: few, round: forgetfulMajority,
			Text: "one server forgets what it has not synced while another is away, and then these two are the majority",
		},
		{
			Name: "all-forget", Servers: 3, Replicas: 3, Workloads: few, round: allForget,
			Text: "all servers forget what they have not synced at the same instant, under load",
		},
		{
			Name: "damage", Servers: 3, Replicas: 3, Workloads: few, round: eachDamage,
			Text: "a file of one server is damaged, which starts again and is asked to lead: each form, and in three rounds each class of files",
		},
		{
			Name: "membership", Servers: 5, Replicas: 3, Workloads: few, round: membership,
			Text: "one server is replaced for good while another is cut off and a third is killed",
		},
		{
			Name: "disk-fails", Servers: 3, Replicas: 3, Workloads: few, round: diskFails,
			Text: "syncs report an error, the disk is full, or read-only, or new names are not kept",
		},
	}
}

// FindCondition returns the one with a name, or with a number from 1 on. The error names what there is.
func FindCondition(name string) (Condition, error) {
	all := Conditions()
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(all) {
		return all[n-1], nil
	}
	var names []string
	for _, c := range all {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Condition{}, fmt.Errorf("there is no condition %q; there are %d: %s", name, len(all), strings.Join(names, ", "))
}

// conditionQuiet is the time between two faults of a plan. A fault that takes longer to undo delays what follows.
const conditionQuiet = 2 * time.Second

// plan is what is done in some rounds, with faults that last so long.
func (c Condition) plan(rounds int, lasts time.Duration) []fault.Step {
	var all []fault.Step
	at := conditionQuiet
	for n := range rounds {
		// One fault is over, by the plan, before the next begins: that two meet is for a kind of its own to say.
		for _, s := range c.round(n) {
			s.At = at
			s.For = cmp.Or(s.For, 1) * lasts // in parts
			at += s.For + conditionQuiet
			all = append(all, s)
		}
	}
	return all
}

// kindsOf are the faults that a plan has.
func kindsOf(plan []fault.Step) ([]fault.Kind, error) {
	var names []string
	for _, s := range plan {
		if !slices.Contains(names, s.Kind) {
			names = append(names, s.Kind)
		}
	}
	return fault.Find(names...)
}

// servers are the places of count servers, from another one on in each round.
func servers(n, of, count int) []int {
	var places []int
	for i := range count {
		places = append(places, (n+i)%of)
	}
	return places
}

// forgetfulMajority lasts twice as long, since it has two halves: without the one server, and without the rest.
func forgetfulMajority(n int) []fault.Step {
	return []fault.Step{{Kind: "forgetful-majority", Servers: servers(n, 3, 1), For: 2}}
}

// allForget is for all, so rounds are the same.
func allForget(int) []fault.Step {
	return []fault.Step{{Kind: "forget-all", Servers: servers(0, 3, 3)}}
}

// eachDamage has each form in each round, and each class of files with each form in three.
func eachDamage(n int) []fault.Step {
	classes := []string{"damage-wal", "damage-files", "damage-meta"}
	var steps []fault.Step
	for form := range disk.Forms {
		victim, kind := servers(2*n+form, 3, 1), classes[(form+n)%len(classes)]
		if kind == "damage-files" {
			steps = append(steps, fault.Step{Kind: "restart", Servers: victim}) // then there are some
		}
		steps = append(steps, fault.Step{Kind: kind, Form: disk.Form(form).String(), Servers: victim})
	}
	return steps
}

// membership has three parts of one fault: the new server, the one that is cut off and the one that is killed.
func membership(n int) []fault.Step {
	return []fault.Step{{Kind: "replace-cut-kill", Servers: servers(2*n, 5, 3), For: 2}}
}

// diskFails has a new name forgotten too, as only that of a file is synced, if anything.
func diskFails(n int) []fault.Step {
	return []fault.Step{
		{Kind: "disk-eio", Servers: servers(n, 3, 1)},
		{Kind: "disk-full", Servers: servers(n+1, 3, 1)},
		{Kind: "disk-read-only", Servers: servers(n+2, 3, 1)},
		{Kind: "forget", Servers: servers(n, 3, 1)},
	}
}
