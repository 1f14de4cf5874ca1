package survey_test

import (
	"fmt"
	"strings"
	"testing"

	"runnel/cluster/survey"
)

// servers returns servers a, b, c and so on, all well and voters.
func servers(n int) []survey.Server {
	var list []survey.Server
	for i := range n {
		name := string(rune('a' + i))
		list = append(list, survey.Server{Node: "node-" + name, Name: name, Online: true, Voter: true, Current: true})
	}
	return list
}

// stream returns a stream that is led by the first of its servers. A letter is followed by ! for one that is offline, by ~
// for one that lags, by ? for one without a vote.
func stream(name, where string) survey.Stream {
	s := survey.Stream{Account: "A", Name: name}
	for _, c := range where {
		last := len(s.Replicas) - 1
		switch c {
		case '!':
			s.Replicas[last].Offline, s.Replicas[last].Current = true, false
		case '~':
			s.Replicas[last].Current, s.Replicas[last].Lag = false, 5000
		case '?':
			s.Replicas[last].Voter, s.Replicas[last].Current = false, false
		default:
			s.Replicas = append(s.Replicas, survey.Replica{Node: "node-" + string(c), Name: string(c), Voter: true, Current: true})
		}
	}
	s.Leader = s.Replicas[0].Name
	return s
}

// TestJudge checks which servers can be stopped, and what is said of streams.
func TestJudge(t *testing.T) {
	leaderless := stream("S", "ab!c!")
	leaderless.Leader = ""
	between := stream("S", "abc")
	between.Leader = ""
	moving := stream("S", "abc")
	moving.Moving = true
	for _, tt := range []struct {
		name     string
		offline  string // servers
		streams  []survey.Stream
		safe     string // servers that can be stopped
		whyNot   string // of a
		troubled string // of the first stream
	}{
		{name: "nothing to lose", safe: "abc"},
		{name: "all well", streams: []survey.Stream{stream("S", "abc"), stream("T", "bca")}, safe: "abc"},
		{
			name: "one is down", offline: "c", streams: []survey.Stream{stream("S", "abc!")},
			whyNot: "the meta group would lose its majority: no stream could be made or changed", troubled: "replica on c cannot be reached",
		},
		{
			name: "one lags", streams: []survey.Stream{stream("S", "abc~"), stream("T", "abc")}, safe: "c",
			whyNot: `stream "S" of account "A" would lose its majority`, troubled: "replica on c lacks 5000 entries",
		},
		{
			name: "two lag on one", streams: []survey.Stream{stream("T", "abc~"), stream("S", "bac~")}, safe: "c",
			whyNot: `2 streams would lose their majority, among them "S" of account "A"`, troubled: "replica on c lacks 5000 entries",
		},
		{
			name: "one is being filled", streams: []survey.Stream{stream("S", "abc?")}, safe: "c",
			whyNot: `stream "S" of account "A" would lose its majority`, troubled: "replica on c is being filled",
		},
		{name: "a server has one alone", streams: []survey.Stream{stream("S", "a")}, safe: "abc"},
		{name: "between leaders", streams: []survey.Stream{between}, safe: "abc", troubled: "no leader"},
		{
			name: "no majority", streams: []survey.Stream{leaderless}, whyNot: `stream "S" of account "A" would lose its majority`,
			troubled: "no majority: it cannot be written or read until servers that have it are back",
		},
		{name: "it moves", streams: []survey.Stream{moving}, safe: "abc", troubled: "moving"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &survey.Report{Servers: servers(3), Voters: 3, Quorum: 2}
			for i := range r.Servers {
				for _, c := range tt.offline {
					r.Servers[i].Online = r.Servers[i].Online && r.Servers[i].Name != string(c)
				}
			}
			survey.Judge(r, tt.streams)
			var safe strings.Builder
			for _, s := range r.Servers {
				if s.SafeToStop {
					safe.WriteString(s.Name)
				}
			}
			if safe.String() != tt.safe || r.Servers[0].WhyNot != tt.whyNot {
				t.Errorf("safe %q, a: %q\nwant %q, %q", safe.String(), r.Servers[0].WhyNot, tt.safe, tt.whyNot)
			}
			got := ""
			if len(r.Troubled) > 0 {
				if got = r.Troubled[0].Trouble; r.Troubled[0].Moving {
					got = "moving"
				}
			}
			if got != tt.troubled {
				t.Errorf("trouble %q, want %q", got, tt.troubled)
			}
		})
	}
}

// TestCounts checks what is counted, that one server alone can be stopped, and that reports are bounded.
func TestCounts(t *testing.T) {
	r := &survey.Report{Servers: servers(3), Voters: 3, Quorum: 2}
	survey.Judge(r, []survey.Stream{stream("S", "abc"), stream("T", "ab"), stream("U", "a")})
	a, b := r.Servers[0], r.Servers[1]
	if a.Streams != 3 || a.Led != 3 || a.Alone != 1 || b.Streams != 2 || b.Led != 0 || b.Alone != 0 || r.Streams != 3 {
		t.Errorf("a = %+v\nb = %+v", a, b)
	}
	if b.SafeToStop {
		t.Error("a server can be stopped although a stream on two needs both")
	}
	alone := &survey.Report{Servers: servers(1), Voters: 1, Quorum: 1}
	survey.Judge(alone, nil)
	if !alone.Servers[0].SafeToStop {
		t.Errorf("the only server: %s", alone.Servers[0].WhyNot)
	}
	var many []survey.Stream
	for i := range survey.Most + 7 {
		many = append(many, stream(fmt.Sprint(i), "abc!"))
	}
	full := &survey.Report{Servers: servers(3), Voters: 3, Quorum: 2}
	survey.Judge(full, many)
	if len(full.Troubled) != survey.Most || full.MoreTroubled != 7 {
		t.Errorf("%d named, %d more", len(full.Troubled), full.MoreTroubled)
	}
}

// TestWell checks what makes somebody look.
func TestWell(t *testing.T) {
	for name, change := range map[string]func(*survey.Report){
		"":                    func(*survey.Report) {},
		"a stream in trouble": func(r *survey.Report) { r.Troubled = []survey.Stream{{Trouble: "no leader"}} },
		"no leader":           func(r *survey.Report) { r.MetaLeader = "" },
		"not formed":          func(r *survey.Report) { r.Waiting = "for c" },
		"a silent server":     func(r *survey.Report) { r.Silent = []string{"b"} },
		"a full disk":         func(r *survey.Report) { r.Servers[1].Full = true },
	} {
		r := &survey.Report{Servers: servers(3), MetaLeader: "a"}
		if change(r); r.Well() != (name == "") {
			t.Errorf("%q: well %v", name, r.Well())
		}
	}
}

// TestPrint checks what people are shown of servers in every state.
func TestPrint(t *testing.T) {
	r := &survey.Report{
		Cluster: "east", By: "a", MetaLeader: "a", Voters: 3, Quorum: 2, Streams: 2, MoreTroubled: 1, FeatureLevel: 7,
		Servers: []survey.Server{
			{Name: "a", Online: true, Leader: true, Voter: true, StoreBytes: 1500, FreeBytes: 3 << 40, SafeToStop: true},
			{Name: "b", Online: true, Full: true},
			{Name: "c", Voter: true, WhyNot: "it cannot be reached"},
		},
		Troubled: []survey.Stream{{Account: "A", Name: "S", Moving: true, Step: "c is being filled"}},
	}
	var out strings.Builder
	survey.Print(&out, r)
	rest := out.String()
	for _, part := range []string{
		"a leads the meta group", "feature level 7\n", "leader              0        0      0          1.465 KiB  3 TiB      yes", "no vote, disk full", "unreachable",
		"no: it cannot be reached", "streams: 2; not as they should be, or moving: 2", "A        S       -       moves to other servers: c is being filled", "and 1 more",
	} {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("%q is missing in\n%s", part, out.String())
		}
		rest = after
	}
}
