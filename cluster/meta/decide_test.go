package meta

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

// told is what a server says of itself, in few words.
type told struct {
	node    string
	sees    string
	size    int
	plan    string // its cluster id, and who founds it: "X:abc"
	formed  bool
	leader  string
	another bool // it has lost what it had
}

// hello makes a hello of it. Instances are those of the nodes.
func (d told) hello() *hello {
	h := &hello{Member: founder(d.node), Size: d.size, Formed: d.formed, Leader: d.leader}
	if d.another {
		h.Member.Instance += " anew"
	}
	for _, node := range d.sees {
		h.Sees = append(h.Sees, string(node))
	}
	if id, founders, ok := strings.Cut(d.plan, ":"); ok {
		h.Plan = &plan{ClusterID: id}
		for _, node := range founders {
			h.Plan.Founders = append(h.Plan.Founders, founder(string(node)))
		}
	}
	return h
}

func founder(node string) state.Member {
	return state.Member{Node: node, Name: "name-" + node, Instance: "instance " + node}
}

func TestDecide(t *testing.T) {
	fresh := func(node string) told { return told{node: node, sees: "abc", size: 3} }
	with := func(d told, change func(*told)) told {
		change(&d)
		return d
	}
	promised := func(node, plan string) told { return with(fresh(node), func(d *told) { d.plan = plan }) }
	formed := func(node, plan string) told {
		return with(fresh(node), func(d *told) { d.plan, d.formed = plan, true })
	}
	for _, test := range []struct {
		name   string
		me     told
		others []told
		want   verb
		plan   string // its cluster id and founders
		why    string // is in the reason
	}{
		{"alone of one", told{node: "a", sees: "a", size: 1}, nil, promise, "new:a", ""},
		{"alone of one, promised", told{node: "a", sees: "a", size: 1, plan: "X:a"}, nil, form, "X:a", ""},
		{"alone of three", told{node: "a", sees: "a", size: 3}, nil, wait, "", "1 servers see one another (name-a), 3 are expected"},
		{"size not known", told{node: "a", sees: "ab"}, []told{fresh("b")}, wait, "", "cluster.size"},
		{"equal views, first", fresh("a"), []told{fresh("b"), fresh("c")}, promise, "new:abc", ""},
		{"equal views, not first", fresh("b"), []told{fresh("a"), fresh("c")}, wait, "", "name-a has not made a plan"},
		{"no answer yet", fresh("a"), []told{fresh("b")}, wait, "", "c has not answered"},
		{"views differ", fresh("a"), []told{fresh("b"), with(fresh("c"), func(d *told) { d.sees = "bc" })}, wait, "", "does not see the same"},
		{"sizes differ", fresh("a"), []told{fresh("b"), with(fresh("c"), func(d *told) { d.size = 5 })}, wait, "", "expects 5 servers, this one 3"},
		{"the first has a plan", fresh("b"), []told{promised("a", "X:abc"), fresh("c")}, promise, "X:abc", ""},
		{"the first has an older plan", fresh("b"), []told{promised("a", "X:abd"), fresh("c")}, wait, "", "has not made a plan"},
		{"the first has a plan with one who has lost it", with(fresh("b"), func(d *told) { d.another = true }), []told{promised("a", "X:abc"), fresh("c")}, wait, "", "has not made a plan"},
		{"my plan has one who has lost it", promised("a", "X:abc"), []told{with(fresh("b"), func(d *told) { d.another = true }), fresh("c")}, promise, "new:abc", ""},
		{"not all have promised", promised("a", "X:abc"), []told{promised("b", "X:abc"), fresh("c")}, wait, "", "not all servers have promised"},
		{"not all have promised, as another one sees it", promised("b", "X:abc"), []told{promised("a", "X:abc"), fresh("c")}, wait, "", "not all servers have promised"},
		{"all have promised", promised("b", "X:abc"), []told{promised("a", "X:abc"), promised("c", "X:abc")}, form, "X:abc", ""},
		{
			"all have promised, and do not see one another any more", with(promised("b", "X:abc"), func(d *told) { d.sees = "ab" }),
			[]told{promised("a", "X:abc"), with(promised("c", "X:abc"), func(d *told) { d.sees = "c" })},
			form, "X:abc", "",
		},
		{"one has promised another plan", promised("a", "X:abc"), []told{promised("b", "X:abc"), promised("c", "Y:cde")}, wait, "", "not all servers"},
		{"a server was replaced", promised("a", "X:abd"), []told{promised("b", "X:abd"), fresh("c")}, promise, "new:abc", ""},
		{"a server was replaced, as another one sees it", promised("b", "X:abd"), []told{promised("a", "Z:abc"), fresh("c")}, promise, "Z:abc", ""},
		{"somebody has formed what I have promised", promised("a", "X:abc"), []told{formed("c", "X:abc")}, form, "X:abc", ""},
		{"somebody who has joined it later", promised("a", "X:abc"), []told{formed("d", "X:")}, form, "X:abc", ""},
		{"somebody has formed without me", fresh("d"), []told{formed("a", "X:abc")}, join, "X:", ""},
		{"somebody has formed without me who was to be in mine", promised("d", "Y:ade"), []told{formed("a", "X:abc")}, join, "X:", ""},
		{"somebody has formed without me while I have promised others", promised("d", "Y:def"), []told{formed("a", "X:abc")}, wait, "", "promised to found another"},
		{"somebody has formed what I have given up, and was to be in mine", promised("c", "Y:acd"), []told{formed("a", "X:abc")}, form, "X:abc", ""},
		{"I have formed it and lost that", with(fresh("c"), func(d *told) { d.another = true }), []told{formed("a", "X:abc")}, refused, "", "has lost what it had"},
		{"two clusters", fresh("c"), []told{formed("a", "X:a"), formed("b", "Y:b")}, refused, "", "different clusters"},
	} {
		t.Run(test.name, func(t *testing.T) {
			answers := map[string]*hello{}
			for _, o := range test.others {
				answers[o.node] = o.hello()
			}
			s := decide(test.me.hello(), answers, func() string { return "new" })
			got := ""
			if s.plan != nil {
				got = s.plan.ClusterID + ":" + strings.Join(s.plan.nodes(), "")
			}
			if s.verb != test.want || got != test.plan || !strings.Contains(s.why, test.why) || test.why == "" && s.why != "" {
				t.Errorf("got verb %d, plan %q, reason %q; want %d, %q, %q", s.verb, got, s.why, test.want, test.plan, test.why)
			}
		})
	}
}

func TestDecideNames(t *testing.T) {
	me, twin := told{node: "a", sees: "ab", size: 2}.hello(), told{node: "b", sees: "ab", size: 2}.hello()
	twin.Member.Name = me.Member.Name
	if s := decide(me, map[string]*hello{"b": twin}, nil); s.verb != refused || !strings.Contains(s.why, "same name") {
		t.Errorf("got %+v", s)
	}
}

func TestWhomToAsk(t *testing.T) {
	me := told{node: "z", sees: "abz", size: 3}.hello()
	for _, test := range []struct {
		others []told
		want   string
	}{
		{[]told{{node: "a", plan: "X:ab", formed: true}}, "a"},
		{[]told{{node: "a", plan: "X:ab", formed: true}, {node: "b", plan: "X:ab", formed: true, leader: "b"}}, "b"},
		{[]told{{node: "a", plan: "X:ab", formed: true, leader: "q"}}, "q"},
	} {
		answers := map[string]*hello{}
		for _, o := range test.others {
			answers[o.node] = o.hello()
		}
		if s := decide(me, answers, nil); s.verb != join || s.ask != test.want {
			t.Errorf("got %+v, want to ask %s", s, test.want)
		}
	}
}

func TestVoters(t *testing.T) {
	var got []int
	for members := range 9 {
		got = append(got, votersOf(members))
	}
	if want := []int{0, 1, 2, 3, 3, 5, 5, 5, 5}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p := told{plan: "X:abcdefg"}.hello().Plan
	var voters, others []string
	for _, s := range p.configuration().Servers {
		if s.Suffrage == raft.Voter {
			voters = append(voters, string(s.ID))
		} else {
			others = append(others, string(s.ID))
		}
	}
	if strings.Join(voters, "") != "abcde" || strings.Join(others, "") != "fg" {
		t.Errorf("%q vote, %q do not", voters, others)
	}
}
