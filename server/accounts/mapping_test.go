package accounts_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"runnel/server/accounts"
)

type (
	mappingConfig = accounts.MappingConfig
	destination   = accounts.MappingDestination
)

// mapped returns the crossings of an account with these mappings.
func mapped(t testing.TB, mappings ...mappingConfig) *accounts.Crossings {
	t.Helper()
	p := compile(t, accounts.Config{Mappings: mappings})
	return p.Global().Crossings()
}

// TestMappingOrder checks which of several mappings a subject gets.
func TestMappingOrder(t *testing.T) {
	all := func(source, to string) mappingConfig {
		return mappingConfig{Source: source, Destinations: []destination{{Subject: to, Weight: 100}}}
	}
	x := mapped(t, all("a.*", "star.$1"), all("a.>", "tail.>"), all("a.1", "one"), all("*.*", "last.$2"), all("lit.*", "x.$1"))
	tests := []struct{ subject, source, want string }{
		{"a.1", "a.1", "one"},
		{"a.2", "a.*", "star.2"},
		{"a.2.3", "a.>", "tail.2.3"},
		{"b.2", "*.*", "last.2"},
		{"lit.5", "*.*", "last.5"},
		{"a", "", ""},
		{"", "", ""},
		{"a..b", "", ""},
		// Signs of wildcards are letters in what is published.
		{"a.*", "a.*", "star.*"},
		{"a.>", "a.*", "star.>"},
	}
	for _, tt := range tests {
		t.Run(tt.subject, func(t *testing.T) {
			m := x.Mapping(tt.subject)
			if tt.source == "" {
				if m != nil {
					t.Fatalf("got the mapping of %q, want none", m.Source())
				}
				return
			}
			if m == nil || m.Source() != tt.source {
				t.Fatalf("got mapping %v, want that of %q", m, tt.source)
			}
			if got, ok := m.Fixed(tt.subject); !ok || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, ok, tt.want)
			}
			if got, ok := m.Choose(tt.subject, nil); !ok || got != tt.want {
				t.Errorf("chose %q, %v; want %q", got, ok, tt.want)
			}
		})
	}
}

// TestMappingWeights counts where the messages of all chances go.
func TestMappingWeights(t *testing.T) {
	const lost = "(lost)"
	tests := []struct {
		name, source, subject string
		to                    []destination
		want                  map[string]int // of 100
		fixed                 bool
	}{
		{"all", "a", "a", []destination{{"b", 100}}, map[string]int{"b": 100}, true},
		{"shares", "a", "a", []destination{{"b", 20}, {"c", 30}, {"d", 50}}, map[string]int{"b": 20, "c": 30, "d": 50}, false},
		{"a missing share stays", "a", "a", []destination{{"b", 20}}, map[string]int{"b": 20, "a": 80}, false},
		{"of a wildcard too", "a.*", "a.7", []destination{{"b.$1", 1}}, map[string]int{"b.7": 1, "a.7": 99}, false},
		{"lost", "a", "a", []destination{{"a", 50}}, map[string]int{"a": 50, lost: 50}, false},
		{"lost beside others", "a", "a", []destination{{"b", 10}, {"a", 50}}, map[string]int{"b": 10, "a": 50, lost: 40}, false},
		{"lost by a wildcard", "a.>", "a.b.c", []destination{{"a.>", 25}}, map[string]int{"a.b.c": 25, lost: 75}, false},
		{"lost by a star", "a.*", "a.b", []destination{{"a.*", 25}}, map[string]int{"a.b": 25, lost: 75}, false},
		{"the same in other words is another destination", "a.*", "a.b", []destination{{"a.$1", 25}}, map[string]int{"a.b": 100}, false},
		{"nothing", "a", "a", []destination{{"b", 0}}, map[string]int{"a": 100}, true},
		{"nothing first", "a", "a", []destination{{"b", 0}, {"c", 100}}, map[string]int{"c": 100}, true},
		{"no destination", "a", "a", nil, map[string]int{"a": 100}, true},
		{"only the source", "a", "a", []destination{{"a", 100}}, map[string]int{"a": 100}, true},
		{"all are lost", "a", "a", []destination{{"a", 0}}, map[string]int{lost: 100}, false},
		{"partition", "a.*", "a.x", []destination{{"p.{{partition(1,1)}}.$1", 100}}, map[string]int{"p.0.x": 100}, true},
		{"random", "a.*", "a.x", []destination{{"p.{{random(4)}}", 100}}, map[string]int{"p.0": 25, "p.1": 25, "p.2": 25, "p.3": 25}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := mapped(t, mappingConfig{Source: tt.source, Destinations: tt.to}).Mapping(tt.subject)
			got := make(map[string]int)
			for i := range 100 {
				to, ok := m.Choose(tt.subject, func(n int) int { return i % n })
				if !ok {
					to = lost
				}
				got[to]++
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if to, ok := m.Fixed(tt.subject); ok != tt.fixed || ok && tt.want[to] != 100 {
				t.Errorf("fixed: %q, %v", to, ok)
			}
		})
	}
}

func TestMappingErrors(t *testing.T) {
	tests := []struct {
		name   string
		config mappingConfig
		want   string
	}{
		{"source", mappingConfig{Source: "a..b"}, `mappings[1]: the source "a..b" is not a valid subject`},
		{"no source", mappingConfig{}, `the source "" is not a valid subject`},
		{"empty destination", mappingConfig{Source: "a", Destinations: []destination{{"", 100}}}, "a destination is empty"},
		{"the same twice", mappingConfig{Source: "a", Destinations: []destination{{"b", 1}, {"b", 1}}}, `the destination "b" is there twice`},
		{"too much", mappingConfig{Source: "a", Destinations: []destination{{"b", 60}, {"c", 41}}}, "the weights add up to more than 100"},
		{"negative", mappingConfig{Source: "a", Destinations: []destination{{"b", -1}}}, "below 0"},
		{"overflow", mappingConfig{Source: "a", Destinations: []destination{{"b", 50}, {"c", int(^uint(0) >> 1)}}}, "more than 100"},
		{"wildcard that is not there", mappingConfig{Source: "a.*", Destinations: []destination{{"b.$2", 100}}}, "wildcard 2 does not exist"},
		{"function", mappingConfig{Source: "a.*", Destinations: []destination{{"b.{{frobnicate(1)}}", 100}}}, `unknown function "frobnicate"`},
		{"no tail", mappingConfig{Source: "a.>", Destinations: []destination{{"b", 100}}}, "must both end with `>`"},
		{"star of another", mappingConfig{Source: "a.*", Destinations: []destination{{"b.*", 100}}}, "wildcards and white space are not allowed"},
		{"source twice", mappingConfig{Source: "first"}, `there is another mapping of the source "first"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mappings := []mappingConfig{{Source: "first"}, tt.config}
			_, err := accounts.NewRegistry().Compile(accounts.Config{Mappings: mappings})
			want := `account "$G": mappings[1]: `
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			// One that comes alone is left out, the rest holds.
			a, errs := accounts.NewRegistry().Put(accounts.AccountConfig{Name: "A", Mappings: mappings})
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.want) {
				t.Errorf("Put: got %v, want one error with %q", errs, tt.want)
			}
			if a.Crossings().Mapping("first") == nil || a.Crossings().Mapping("a.b") != nil {
				t.Error("Put: what was right does not hold, or what was wrong does")
			}
		})
	}
}

// TestMappingModel compares mappings made by chance with a search of the list.
func TestMappingModel(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var list []mappingConfig
		seen := make(map[string]bool)
		for range random.IntN(12) {
			source := randomPattern(random)
			if seen[source] {
				continue
			}
			seen[source] = true
			list = append(list, mappingConfig{Source: source, Destinations: []destination{{source, random.IntN(101)}}})
		}
		x := mapped(t, list...)
		if (x == nil) != (len(list) == 0) {
			t.Fatalf("seed %d: crossings %v of %d mappings", seed, x, len(list))
		}
		for range 100 {
			subject := randomSubject(random)
			want := ""
			for _, m := range list {
				switch {
				case m.Source == subject:
					want = subject
				case want == "" && naiveMatch(m.Source, subject):
					want = m.Source
				}
			}
			got := ""
			if x != nil {
				if m := x.Mapping(subject); m != nil {
					got = m.Source()
				}
			}
			if got != want {
				t.Fatalf("seed %d: %q of %v: got %q, want %q", seed, subject, list, got, want)
			}
		}
	}
}

func BenchmarkMapping(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("mappings=%d", n), func(b *testing.B) {
			list := make([]mappingConfig, n)
			for i := range list {
				list[i] = mappingConfig{
					Source:       fmt.Sprintf("orders.%d.*", i),
					Destinations: []destination{{fmt.Sprintf("shop.%d.$1", i), 100}},
				}
			}
			x := mapped(b, list...)
			subject := fmt.Sprintf("orders.%d.created", n/2)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := x.Mapping(subject).Fixed(subject); !ok {
					b.Fatal("not mapped")
				}
			}
		})
	}
}
