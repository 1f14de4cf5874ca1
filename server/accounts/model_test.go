package accounts_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"runnel/server/accounts"
	"runnel/subjects"
)

// model is accounts by name, asked without any care for speed: every question goes through all imports.
type model map[string]accountConfig

// allows reports whether an import is in force.
func (m model) allows(importer string, i importConfig) bool {
	exporter, ok := m[i.Account]
	if !ok {
		return false
	}
	var exact, wide []exportConfig
	for _, e := range exporter.Exports {
		switch {
		case e.Service != i.Service:
		case e.Subject == i.Subject:
			exact = append(exact, e)
		case subjects.Subset(i.Subject, e.Subject):
			wide = append(wide, e)
		}
	}
	if exact == nil {
		exact = wide
	}
	return slices.ContainsFunc(exact, func(e exportConfig) bool {
		if n := e.AccountTokenPosition; n > 0 && strings.Split(i.Subject, ".")[n-1] != importer {
			return false
		}
		return !e.Private && e.Accounts == nil || i.Approved || slices.Contains(e.Accounts, importer)
	})
}

// local returns what a subject that an import matches becomes.
func local(i importConfig, subject string) string {
	if i.To == "" {
		return subject
	}
	var stars, out []string
	tail := ""
	tokens := strings.Split(subject, ".")
	for n, want := range strings.Split(i.Subject, ".") {
		switch want {
		case "*":
			stars = append(stars, tokens[n])
		case ">":
			tail = strings.Join(tokens[n:], ".")
		}
	}
	for token := range strings.SplitSeq(i.To, ".") {
		var n int
		if _, err := fmt.Sscanf(token, "$%d", &n); err == nil {
			token = stars[n-1]
		}
		if token == ">" {
			token = tail
		}
		out = append(out, token)
	}
	return strings.Join(out, ".")
}

// streams returns where what is published in an account arrives, as "account subject".
func (m model) streams(account, subject string) (list []string) {
	for name, a := range m {
		for _, i := range a.Imports {
			if !i.Service && i.Account == account && naiveMatch(i.Subject, subject) && m.allows(name, i) {
				list = append(list, name+" "+local(i, subject))
			}
		}
	}
	slices.Sort(list)
	return list
}

// services returns where a request in an account arrives, as "account subject". all are the subjects that there are.
func (m model) services(account, subject string, all []string) (list []string) {
	for _, i := range m[account].Imports {
		if !i.Service || !m.allows(account, i) {
			continue
		}
		for _, remote := range all {
			if naiveMatch(i.Subject, remote) && local(i, remote) == subject {
				list = append(list, i.Account+" "+remote)
			}
		}
	}
	slices.Sort(list)
	return list
}

// mapping returns the source of the mapping of a subject, or nothing.
func (m model) mapping(account, subject string) (source string) {
	for _, c := range m[account].Mappings {
		if c.Source == subject {
			return c.Source
		}
		if source == "" && naiveMatch(c.Source, subject) {
			source = c.Source
		}
	}
	return source
}

// names of accounts are tokens of subjects, too: see AccountTokenPosition.
var names = []string{"a", "b", "c", "d"}

// everySubject has the subjects of up to three tokens.
func everySubject() (all []string) {
	level := []string{""}
	for range 3 {
		var next []string
		for _, prefix := range level {
			for _, token := range names {
				next = append(next, strings.TrimPrefix(prefix+"."+token, "."))
			}
		}
		all = append(all, next...)
		level = next
	}
	return all
}

// randomAccount returns an account that imports from those before it in names.
func randomAccount(random *rand.Rand, name string) accountConfig {
	a := accountConfig{Name: name}
	for range random.IntN(4) {
		e := exportConfig{Service: random.IntN(2) == 0, Subject: randomPattern(random), Private: random.IntN(6) == 0}
		if random.IntN(5) == 0 {
			e.Accounts = []string{names[random.IntN(len(names))]}
		}
		if n := slices.Index(strings.Split(e.Subject, "."), "*"); n >= 0 && random.IntN(4) == 0 {
			e.AccountTokenPosition = n + 1
		}
		a.Exports = append(a.Exports, e)
	}
	seen := make(map[string]bool)
	for range random.IntN(4) {
		before := slices.Index(names, name)
		if before == 0 {
			break
		}
		i := importConfig{Service: random.IntN(2) == 0, Account: names[random.IntN(before)], Subject: randomPattern(random), Approved: random.IntN(4) == 0}
		if random.IntN(2) == 0 {
			i.To = randomLocal(random, i.Subject)
		}
		pattern := i.Subject
		if i.To != "" {
			pattern = stars(i.To)
		}
		if key := fmt.Sprint(i.Service, i.Account, pattern); !seen[key] {
			seen[key] = true
			a.Imports = append(a.Imports, i)
		}
	}
	sources := make(map[string]bool)
	for range random.IntN(3) {
		source := randomPattern(random)
		if !sources[source] {
			sources[source] = true
			a.Mappings = append(a.Mappings, mappingConfig{Source: source, Destinations: []destination{{source, 50}}})
		}
	}
	return a
}

// randomLocal returns a subject for an import to appear under.
func randomLocal(random *rand.Rand, subject string) string {
	var tokens []string
	for token := range strings.SplitSeq(subject, ".") {
		if token == "*" {
			tokens = append(tokens, fmt.Sprintf("$%d", len(tokens)+1))
		}
	}
	random.Shuffle(len(tokens), func(i, j int) { tokens[i], tokens[j] = tokens[j], tokens[i] })
	if len(tokens) == 0 || random.IntN(3) == 0 && len(tokens) < 3 {
		tokens = append(tokens, names[random.IntN(len(names))])
	}
	if strings.HasSuffix(subject, ">") {
		tokens = append(tokens, ">")
	}
	return strings.Join(tokens, ".")
}

// stars returns the pattern of the subjects that a destination leads to.
func stars(to string) string {
	tokens := strings.Split(to, ".")
	for i, token := range tokens {
		if strings.HasPrefix(token, "$") {
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens, ".")
}

// answers is all that is to be known of an account: where each subject leads.
func (m model) answers(account string, all []string) map[string]string {
	out := make(map[string]string)
	for _, subject := range all {
		out[subject] = fmt.Sprint(m.streams(account, subject), m.services(account, subject, all), m.mapping(account, subject))
	}
	return out
}

// answers is the same by the crossings of an account.
func answers(t *testing.T, a *accounts.Account, all []string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, subject := range all {
		var services []string
		mapping := ""
		if x := a.Crossings(); x != nil {
			for i := range x.Services(subject) {
				remote, ok := i.Remote(subject)
				if !ok {
					t.Fatalf("%q enters a service that it does not lead to", subject)
				}
				if len(strings.Split(remote, ".")) <= 3 {
					services = append(services, i.Account.Name()+" "+remote)
				}
			}
			slices.Sort(services)
			if m := x.Mapping(subject); m != nil {
				mapping = m.Source()
			}
		}
		out[subject] = fmt.Sprint(reached(a, subject), services, mapping)
	}
	return out
}

// TestCrossingsModel changes accounts by chance, one by one and by reloads, and compares after each change where
// subjects lead with what the configuration says. What has changed must be invalid for those who remember it, and no
// subject may be said to be of no concern when it is.
func TestCrossingsModel(t *testing.T) {
	all := everySubject()
	for seed := range uint64(10) {
		for _, reload := range []bool{false, true} {
			random := rand.New(rand.NewPCG(seed, 2))
			r := accounts.NewRegistry()
			m := make(model)
			before := make(map[string]map[string]string)
			for _, name := range names {
				before[name] = model{}.answers(name, all)
			}
			for step := range 12 {
				where := fmt.Sprintf("seed %d, reload %v, step %d", seed, reload, step)
				name := names[random.IntN(len(names))]
				stamps := make(map[string]subjects.Stamp)
				for _, name := range names {
					if a := r.Account(name); a != nil {
						stamps[name] = a.Interest().Stamp([]byte("a"))
					}
				}
				if random.IntN(5) == 0 {
					delete(m, name)
				} else {
					m[name] = randomAccount(random, name)
				}
				if reload {
					m.reload(t, r)
				} else {
					m.put(r, name)
				}
				for _, name := range names {
					want := m.answers(name, all)
					a := r.Account(name)
					if a == nil {
						if _, there := m[name]; there {
							t.Fatalf("%s: there is no account %q", where, name)
						}
						before[name] = want
						continue
					}
					got := answers(t, a, all)
					for _, subject := range all {
						if got[subject] != want[subject] {
							t.Fatalf("%s: %q of %q: got %s, want %s\nof %+v", where, subject, name, got[subject], want[subject], m)
						}
					}
					if stamp, ok := stamps[name]; ok && !maps.Equal(before[name], want) && stamp.Valid() {
						t.Fatalf("%s: what is remembered of %q is still valid", where, name)
					}
					before[name] = want
					checkConcerns(t, where, a, all, want)
					checkSources(t, where, m, r, a, all)
				}
			}
		}
	}
}

// put makes a registry follow the model in one account.
func (m model) put(r *accounts.Registry, name string) {
	if cfg, ok := m[name]; ok {
		_, _ = r.Put(cfg)
	} else {
		r.Drop(name)
	}
}

// reload makes a registry follow the model by a policy. Imports that are not allowed are no part of it: these are
// taken out of the model as well, after Compile has found each of them.
func (m model) reload(t *testing.T, r *accounts.Registry) {
	t.Helper()
	var list []accountConfig
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		a := m[name]
		for i := range a.Exports {
			for _, other := range a.Exports[i].Accounts {
				if _, ok := m[other]; !ok {
					missing = append(missing, fmt.Sprintf("account %q: exports[%d]: unknown account %q", name, i, other))
				}
			}
		}
		for n, i := range a.Imports {
			if !m.allows(name, i) {
				missing = append(missing, fmt.Sprintf("account %q: imports[%d]: ", name, n))
			}
		}
		list = append(list, a)
	}
	p, err := r.Compile(accounts.Config{Accounts: list})
	if lines := strings.Count(fmt.Sprint(err), "\n") + 1; (err == nil) != (missing == nil) || err != nil && lines != len(missing) {
		t.Fatalf("got %v, want an error for each of %q", err, missing)
	}
	for _, text := range missing {
		if !strings.Contains(err.Error(), text) {
			t.Fatalf("got %v, want %q in it", err, text)
		}
	}
	if err != nil {
		for name, a := range m {
			a.Exports = slices.DeleteFunc(slices.Clone(a.Exports), func(e exportConfig) bool { return e.Accounts != nil })
			m[name] = a
		}
		for name, a := range m {
			a.Imports = slices.DeleteFunc(slices.Clone(a.Imports), func(i importConfig) bool { return !m.allows(name, i) })
			m[name] = a
		}
		m.reload(t, r)
		return
	}
	r.Activate(p)
}

// checkConcerns checks that a prefix is of concern when one of its subjects leads anywhere.
func checkConcerns(t *testing.T, where string, a *accounts.Account, all []string, want map[string]string) {
	t.Helper()
	for _, subject := range all {
		dot := strings.LastIndexByte(subject, '.')
		if dot < 0 || want[subject] == fmt.Sprint([]string(nil), []string(nil), "") {
			continue
		}
		if x := a.Crossings(); x == nil || !x.Concerns(subject[:dot+1]) {
			t.Fatalf("%s: %q of %q leads somewhere, and %q is of no concern", where, subject, a.Name(), subject[:dot+1])
		}
	}
}

// checkSources checks that Sources has all that feeds patterns of an account, and nothing else.
func checkSources(t *testing.T, where string, m model, r *accounts.Registry, a *accounts.Account, all []string) {
	t.Helper()
	x := a.Crossings()
	if x == nil {
		return
	}
	for _, pattern := range []string{">", "*.a", "a.>", "a.b.c", "*"} {
		feeds := make(map[string]bool)
		for i, remote := range x.Sources(pattern) {
			for _, subject := range all {
				if naiveMatch(remote, subject) {
					local, ok := i.Local(subject)
					if !ok || !naiveMatch(pattern, local) {
						t.Fatalf("%s: %q of %q is said to feed %q of %q", where, subject, i.Exporter.Name(), pattern, a.Name())
					}
					feeds[i.Exporter.Name()+" "+subject] = true
				}
			}
		}
		for exporter := range m {
			for _, subject := range all {
				fed := slices.ContainsFunc(m.streams(exporter, subject), func(to string) bool {
					name, local, _ := strings.Cut(to, " ")
					return name == a.Name() && naiveMatch(pattern, local)
				})
				if key := exporter + " " + subject; fed != feeds[key] {
					t.Fatalf("%s: %q feeds %q of %q: %v, want %v", where, key, pattern, a.Name(), feeds[key], fed)
				}
			}
		}
	}
}

// TestNoEndlessWalks makes accounts that import from one another without any order. Wherever a message begins, and
// whichever imports it takes, it comes to an end.
func TestNoEndlessWalks(t *testing.T) {
	all := everySubject()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 3))
		r := accounts.NewRegistry()
		for range 12 {
			name := names[random.IntN(len(names))]
			cfg := accountConfig{Name: name, Exports: []exportConfig{{Subject: ">"}, {Service: true, Subject: ">"}}}
			for range random.IntN(5) {
				i := importConfig{Service: random.IntN(2) == 0, Account: names[random.IntN(len(names))], Subject: randomPattern(random)}
				if random.IntN(2) == 0 {
					i.To = randomLocal(random, i.Subject)
				}
				cfg.Imports = append(cfg.Imports, i)
			}
			_, _ = r.Put(cfg)
		}
		for _, name := range names {
			if a := r.Account(name); a != nil {
				for range 20 {
					walk(t, a, all[random.IntN(len(all))], 0)
				}
			}
		}
	}
}

// walk follows all ways of a message.
func walk(t *testing.T, a *accounts.Account, subject string, depth int) {
	t.Helper()
	if depth > 50 {
		t.Fatalf("%q has come to account %q in %d steps", subject, a.Name(), depth)
	}
	x := a.Crossings()
	if x == nil {
		return
	}
	for i := range x.Streams(subject) {
		local, _ := i.Local(subject)
		walk(t, i.Account, local, depth+1)
	}
	if depth > 0 {
		return
	}
	walkServices(t, a, subject, 0)
}

// walkServices follows all ways of a request.
func walkServices(t *testing.T, a *accounts.Account, subject string, depth int) {
	t.Helper()
	if depth > 50 {
		t.Fatalf("request %q has come to account %q in %d steps", subject, a.Name(), depth)
	}
	if x := a.Crossings(); x != nil {
		for i := range x.Services(subject) {
			remote, _ := i.Remote(subject)
			walkServices(t, i.Account, remote, depth+1)
		}
	}
}
