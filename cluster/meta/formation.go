package meta

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"runnel/cluster/meta/state"
	"runnel/jetlog/vfs"
)

// formationFile has a formation.
const formationFile = "formation"

// formation is how far a server is on its way into a cluster. It is durable before others hear of it.
type formation struct {
	Version int `json:"version"`
	// Node and Instance are those of the server that the directory belongs to.
	Node     string `json:"node"`
	Instance string `json:"instance"`
	// Plan is the cluster that the server has promised to found, or belongs to; nil for none.
	Plan *plan `json:"plan,omitempty"`
	// Formed says that it belongs to it, for ever.
	Formed bool `json:"formed,omitempty"`
	// Started says that its log has been begun. From then on an empty log means that it was lost.
	Started bool `json:"started,omitempty"`
}

// plan is a cluster to be.
type plan struct {
	ClusterID string `json:"cluster_id"`
	// Founders are its first members, by node id; nobody for a server that has joined later.
	Founders []state.Member `json:"founders,omitempty"`
}

// founder returns the founder of a node id, nil for none. A plan that is nil has none.
func (p *plan) founder(node string) *state.Member {
	if p == nil {
		return nil
	}
	for i := range p.Founders {
		if p.Founders[i].Node == node {
			return &p.Founders[i]
		}
	}
	return nil
}

// is tells whether both are the same plan.
func (p *plan) is(o *plan) bool { return p != nil && o != nil && p.ClusterID == o.ClusterID }

// hello is what a server tells others before it is in a cluster, and what it answers in any case.
type hello struct {
	Member state.Member `json:"member"`
	// Size is how many servers it expects, Sees the nodes that it sees, itself included, in order.
	Size int      `json:"size"`
	Sees []string `json:"sees,omitempty"`
	// Plan and Formed are those of its formation.
	Plan   *plan `json:"plan,omitempty"`
	Formed bool  `json:"formed,omitempty"`
	// Leader is the node that leads the cluster, if it is formed and knows.
	Leader string `json:"leader,omitempty"`
	// Removed says that the one who is answered was a member and is not any more.
	Removed bool `json:"removed,omitempty"`
}

// verb is what a server that is not in a cluster does next.
type verb int

const (
	wait    verb = iota // ask again later
	promise             // write the plan down
	form                // all have promised it: belong to it
	join                // ask the leader of it to be let in
	refused             // something is wrong that people have to mend
)

// step is a verb with what it is about.
type step struct {
	verb verb
	plan *plan
	// ask is the node that knows the cluster to join.
	ask string
	// why is for people.
	why string
}

// decide tells what a server that is not in a cluster does next, given what the others have answered. fresh draws a cluster id.
func decide(me *hello, answers map[string]*hello, fresh func() string) step {
	for node, a := range answers {
		if a.Member.Name == me.Member.Name {
			return step{verb: refused, why: fmt.Sprintf("the servers %s and %s have the same name %q: names have to differ", me.Member.Node, node, a.Member.Name)}
		}
	}
	if s, ok := followFormed(me, answers); ok {
		return s
	}
	if me.Plan != nil && promisedByAll(me, answers) {
		return step{verb: form, plan: me.Plan}
	}
	if why := unequal(me, answers); why != "" {
		return step{why: why}
	}
	first := me.Sees[0]
	if first == me.Member.Node {
		if next := newPlan(me, answers, ""); me.Plan.sameFounders(next) {
			return step{why: "not all servers have promised the plan yet"}
		}
		return step{verb: promise, plan: newPlan(me, answers, fresh())}
	}
	theirs := answers[first].Plan
	switch {
	case !theirs.sameFounders(newPlan(me, answers, "")):
		return step{why: "the server " + answers[first].Member.Name + " has not made a plan yet"}
	case theirs.is(me.Plan):
		return step{why: "not all servers have promised the plan yet"}
	}
	return step{verb: promise, plan: theirs}
}

// followFormed tells what to do if somebody is in a cluster already.
func followFormed(me *hello, answers map[string]*hello) (step, bool) {
	var known *hello
	for _, node := range slices.Sorted(maps.Keys(answers)) {
		switch a := answers[node]; {
		case !a.Formed || a.Plan == nil:
		case known == nil:
			known = a
		case !known.Plan.is(a.Plan):
			return step{verb: refused, why: fmt.Sprintf("the servers %s and %s belong to different clusters (%s and %s): only one of them can be joined, "+
				"so remove the routes to the other", known.Member.Name, a.Member.Name, known.Plan.ClusterID, a.Plan.ClusterID)}, true
		case known.Leader == "" && a.Leader != "", known.Plan.founder(me.Member.Node) == nil && a.Plan.founder(me.Member.Node) != nil:
			known = a
		}
	}
	if known == nil {
		return step{}, false
	}
	if me.Plan != nil && !me.Plan.is(known.Plan) && me.Plan.founder(known.Member.Node) == nil {
		return step{why: "this server has promised to found another cluster than the one that " + known.Member.Name + " belongs to"}, true
	}
	own := known.Plan.founder(me.Member.Node)
	switch {
	case me.Plan.is(known.Plan):
		return step{verb: form, plan: me.Plan}, true
	case own == nil:
		return step{verb: join, plan: &plan{ClusterID: known.Plan.ClusterID}, ask: cmp.Or(known.Leader, known.Member.Node)}, true
	case own.Instance != me.Member.Instance:
		return step{verb: refused, why: "this server has founded the cluster " + known.Plan.ClusterID + " and has lost what it had of it, but kept its node id: " +
			"remove its whole JetStream directory, so that it can join as a new one"}, true
	}
	return step{verb: form, plan: known.Plan}, true
}

// promisedByAll tells whether all founders of my plan have promised it.
func promisedByAll(me *hello, answers map[string]*hello) bool {
	for i := range me.Plan.Founders {
		f := &me.Plan.Founders[i]
		if f.Node == me.Member.Node {
			continue
		}
		if a := answers[f.Node]; a == nil || !a.Plan.is(me.Plan) || a.Member.Instance != f.Instance {
			return false
		}
	}
	return me.Plan.founder(me.Member.Node) != nil
}

// unequal tells why a cluster cannot be founded yet, empty if all that are expected see just one another.
func unequal(me *hello, answers map[string]*hello) string {
	if me.Size <= 0 {
		return "how many servers the cluster has is not known: give cluster.size, or list all servers in cluster.routes"
	}
	if len(me.Sees) != me.Size {
		return fmt.Sprintf("%d servers see one another (%s), %d are expected", len(me.Sees), names(me, answers), me.Size)
	}
	for _, node := range me.Sees {
		a := answers[node]
		switch {
		case node == me.Member.Node:
		case a == nil:
			return "the server " + node + " has not answered"
		case a.Size != me.Size:
			return fmt.Sprintf("the server %s expects %d servers, this one %d: give all the same cluster.size", a.Member.Name, a.Size, me.Size)
		case !slices.Equal(a.Sees, me.Sees):
			return "the server " + a.Member.Name + " does not see the same servers"
		}
	}
	return ""
}

// names lists the servers that have answered.
func names(me *hello, answers map[string]*hello) string {
	all := []string{me.Member.Name}
	for _, a := range answers {
		all = append(all, a.Member.Name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// sameFounders tells whether two plans have the same founders, none of which has lost what it had.
func (p *plan) sameFounders(o *plan) bool {
	return p != nil && slices.EqualFunc(p.Founders, o.Founders, func(a, b state.Member) bool {
		return a.Node == b.Node && a.Instance == b.Instance
	})
}

// nodes returns the founders' nodes, in order.
func (p *plan) nodes() []string {
	var nodes []string
	for i := range p.Founders {
		nodes = append(nodes, p.Founders[i].Node)
	}
	return nodes
}

// newPlan makes a plan with all that I see.
func newPlan(me *hello, answers map[string]*hello, id string) *plan {
	p := &plan{ClusterID: id}
	for _, node := range me.Sees {
		if node == me.Member.Node {
			p.Founders = append(p.Founders, me.Member)
		} else {
			p.Founders = append(p.Founders, answers[node].Member)
		}
	}
	return p
}

// loadFormation reads how far the server is. A directory that is new gets an instance, which is durable when loadFormation returns.
func loadFormation(disk vfs.FS, dir, node string) (*formation, error) {
	b, err := readFile(disk, filepath.Join(dir, formationFile))
	if errors.Is(err, fs.ErrNotExist) {
		f := &formation{Version: 1, Node: node, Instance: draw(16)}
		return f, f.save(disk, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read how far the cluster is formed: %w", err)
	}
	var f formation
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): the server has to join as a new one, with an empty directory", filepath.Join(dir, formationFile), err)
	}
	switch {
	case f.Version != 1:
		return nil, fmt.Errorf("%s is of version %d, known is 1: it takes a newer program", filepath.Join(dir, formationFile), f.Version)
	case f.Node != node:
		return nil, fmt.Errorf("%s belongs to the node %s, this is %s: parts of two servers' directories were mixed", filepath.Join(dir, formationFile), f.Node, node)
	case f.Formed && f.Plan == nil:
		return nil, fmt.Errorf("%s names no cluster: it is damaged", filepath.Join(dir, formationFile))
	}
	return &f, nil
}

// save makes the formation durable.
func (f *formation) save(disk vfs.FS, dir string) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = writeFile(disk, dir, formationFile, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write down how far the cluster is formed: %w", err)
	}
	return nil
}
