package bench_test

import (
	"strings"
	"testing"
	"time"

	"runnel/bench"
)

// names lists the names of cases.
func names(cases []bench.Case) string {
	var list []string
	for _, c := range cases {
		list = append(list, c.Name)
	}
	return strings.Join(list, " ")
}

func TestSelect(t *testing.T) {
	tests := []struct {
		name string
		ask  []string
		over bench.Overrides
		want string
	}{
		{"a scenario", []string{"pubsub"}, bench.Overrides{}, "pubsub-16 pubsub-128 pubsub-1k pubsub-8k pubsub-32k"},
		{"a case", []string{"pubsub-1k"}, bench.Overrides{}, "pubsub-1k"},
		{"a prefix", []string{"fan*"}, bench.Overrides{}, "fanout10-128 fanout10-1k fanout100-128 fanin10-128"},
		{"several, each once", []string{"queue", "pairs", "queue8-128"}, bench.Overrides{}, "queue8-128 pairs8-128"},
		{"one size for all", []string{"pubsub"}, bench.Overrides{Sizes: []int{256}}, "pubsub-256"},
		{"two sizes", []string{"headers"}, bench.Overrides{Sizes: []int{16, 2048}}, "headers-16 headers-2k"},
		{"subscribers", []string{"fanout"}, bench.Overrides{Params: bench.Params{Subscribers: 3}}, "fanout3-128 fanout3-1k"},
		{"in flight", []string{"request"}, bench.Overrides{Params: bench.Params{Inflight: 7}}, "request7-128"},
		{"connections", []string{"connections"}, bench.Overrides{Params: bench.Params{Connections: 5}}, "connections5"},
		{"connections scaled", []string{"connections"}, bench.Overrides{Scale: 0.1}, "connections100"},
		{"no size for connections", []string{"connections"}, bench.Overrides{Sizes: []int{16, 32}}, "connections1000"},
		{"tenants by name only", []string{"tenants"}, bench.Overrides{}, "tenants-16 tenants-128 tenants-1k tenants-8k tenants-32k"},
		{"sub by name only", []string{"sub"}, bench.Overrides{}, "sub"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cases, err := bench.Core().Select(test.ask, test.over)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(cases); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSelectAll(t *testing.T) {
	cases, err := bench.Core().Select([]string{"all"}, bench.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	got := " " + names(cases) + " "
	for _, s := range bench.Core().Scenarios() {
		for _, name := range s.CaseNames() {
			// sub needs a publisher elsewhere, tenants a configuration.
			if has, want := strings.Contains(got, " "+name+" "), name != "sub" && s.Name != "tenants"; has != want {
				t.Errorf("all has %s: got %v, want %v", name, has, want)
			}
		}
	}
}

func TestSelectUnknown(t *testing.T) {
	for _, name := range []string{"", "pubsubs", "zzz*", "pubsub-17"} {
		if cases, err := bench.Core().Select([]string{"pub", name}, bench.Overrides{}); err == nil {
			t.Errorf("%q: got %q, want an error", name, names(cases))
		}
	}
}

func TestMessageCounts(t *testing.T) {
	tests := []struct {
		name string
		over bench.Overrides
		want int64
	}{
		{"pubsub-16", bench.Overrides{}, 1_000_000},
		{"pubsub-32k", bench.Overrides{}, 32_767},
		{"fanout10-128", bench.Overrides{}, 200_000},
		{"fanout100-128", bench.Overrides{}, 20_000},
		{"paced1-128", bench.Overrides{}, 60_000},
		{"paced1-128", bench.Overrides{Params: bench.Params{Rate: 100}}, 300},
		{"pubsub-16", bench.Overrides{Scale: 0.5}, 500_000},
		{"pubsub-16", bench.Overrides{Params: bench.Params{Messages: 7}, Scale: 0.5}, 7},
		{"pubsub-16", bench.Overrides{Params: bench.Params{Duration: time.Second}}, 0},
		{"pubsub-16", bench.Overrides{Params: bench.Params{Duration: time.Second, Messages: 9}}, 9},
		{"request1-128", bench.Overrides{}, 20_000},
		{"connections1000", bench.Overrides{Params: bench.Params{Messages: 9}}, 0},
	}
	for _, test := range tests {
		cases, err := bench.Core().Select([]string{test.name}, test.over)
		if err != nil {
			t.Fatal(err)
		}
		if got := cases[0].Params.Messages; got != test.want {
			t.Errorf("%s with %+v: got %d messages, want %d", test.name, test.over, got, test.want)
		}
	}
}

func TestEveryScenarioIsExplained(t *testing.T) {
	for _, s := range bench.Core().Scenarios() {
		if s.Explanation == "" || len(s.Variants) == 0 {
			t.Errorf("%s: explanation %q, %d variants", s.Name, s.Explanation, len(s.Variants))
		}
	}
}
