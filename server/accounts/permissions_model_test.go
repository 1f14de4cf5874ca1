package accounts_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"runnel/server/accounts"
	"runnel/subjects"
)

// randomRules returns rules, one in three with a queue name.
func randomRules(random *rand.Rand) string {
	var list []string
	for range random.IntN(5) {
		entry := randomPattern(random)
		if random.IntN(3) == 0 {
			entry += " " + []string{"q", "r", "*", ">", "q.*"}[random.IntN(5)]
		}
		list = append(list, entry)
	}
	return strings.Join(list, "\n")
}

// TestPermissionsModel compares profiles with an evaluation of the rules one by one, for rules and subjects by chance.
func TestPermissionsModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 4))
	for range 3000 {
		allow, deny := randomRules(random), randomRules(random)
		subject := randomSubject(random)
		if random.IntN(2) == 0 {
			subject = randomPattern(random)
		}
		queue := []string{"", "", "q", "r", "q.a", "_sys_"}[random.IntN(6)]
		checkPermissions(t, allow, deny, subject, queue, "a")
		if t.Failed() {
			t.Fatalf("allow %q, deny %q, subject %q, queue %q", allow, deny, subject, queue)
		}
	}
}

// TestNothingDeniedArrives checks the rules together: whoever may subscribe to a pattern gets no message on a subject
// that a deny rule covers, nor one that no subscription allows, whatever else overlaps.
func TestNothingDeniedArrives(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 5))
	for range 3000 {
		var r rules
		for range random.IntN(4) {
			r.Allow = append(r.Allow, randomPattern(random))
		}
		for range random.IntN(4) {
			r.Deny = append(r.Deny, randomPattern(random))
		}
		p := profile(t, accounts.Permissions{Subscribe: r})
		pattern, subject := randomPattern(random), randomSubject(random)
		if !p.CanSubscribe(pattern, "") || !naiveMatch(pattern, subject) || !p.CanReceive(subject, "") {
			continue
		}
		for _, d := range r.Deny {
			if naiveMatch(d, subject) {
				t.Fatalf("%q arrives through %q although %q is denied", subject, pattern, d)
			}
		}
		allowed := len(r.Allow) == 0
		for _, a := range r.Allow {
			allowed = allowed || naiveMatch(a, subject)
		}
		if !allowed {
			t.Fatalf("%q arrives through %q although only %q is allowed", subject, pattern, r.Allow)
		}
	}
}

// TestDenyBySubscription is case C012: a deny rule holds against a wider subscription, whose other messages arrive, and
// against a queue group.
func TestDenyBySubscription(t *testing.T) {
	p := profile(t, accounts.Permissions{Subscribe: rules{Allow: []string{"foo.>"}, Deny: []string{"foo.secret"}}})
	if !p.CanSubscribe("foo.*", "") || !p.FiltersDelivery() || p.CanReceive("foo.secret", "") || !p.CanReceive("foo.open", "") {
		t.Error("a subscription to foo.* does not get foo.open alone")
	}
	for _, queue := range []string{"", "q"} {
		if p.CanSubscribe("foo.secret", queue) {
			t.Errorf("foo.secret may be subscribed to with the queue group %q", queue)
		}
	}
}

// FuzzSharing makes accounts of a text: a line is an export, an import or a mapping. Nothing must go on for ever, what is
// refused alone is refused in a policy too, and what is imported leads there and back.
func FuzzSharing(f *testing.F) {
	f.Add("export A a.*.>\nimport B A a.*.> x.$1.>\nimport C B x.b.>\nmap A in.* a.{{partition(3,1)}}.$1", "a.b.c", true)
	f.Add("export A >\nexport B >\nimport A B q r\nimport B A r q", "q", false)
	f.Add("export A q.*.* 2\nimport B A q.B.* *", "q.B.1", true)
	f.Add("export A a\nimport A A a b\nimport A A b a\nexport A >", "a", false)
	f.Add("import A B\nexport B a..b\nmap A\nmap A > >\nmap A * {{random(7)}}\nexport C * 1\nimport C C * $1", "a", true)
	f.Fuzz(func(t *testing.T, text, subject string, service bool) {
		list := parseSharing(text, service)
		r := accounts.NewRegistry()
		for range 2 { // the second time all accounts are there
			for _, a := range list {
				_, _ = r.Put(a)
			}
		}
		var refused []error
		for _, a := range list {
			account, errs := r.Put(a)
			refused = append(refused, errs...)
			walk(t, account, subject, 0)
			checkReturn(t, account, subject)
		}
		_, err := accounts.NewRegistry().Compile(accounts.Config{Accounts: list})
		if (err != nil) != (len(refused) > 0) {
			t.Errorf("a policy: %v; one by one: %v", err, refused)
		}
	})
}

// parseSharing makes the accounts A, B and C of a text.
func parseSharing(text string, service bool) []accountConfig {
	list := []accountConfig{{Name: "A"}, {Name: "B"}, {Name: "C"}}
	for line := range strings.SplitSeq(text, "\n") {
		words := append(strings.Split(line, " "), "", "", "", "")
		for i := range list {
			a := &list[i]
			if words[1] != a.Name {
				continue
			}
			switch words[0] {
			case "export":
				a.Exports = append(a.Exports, exportConfig{Service: service, Subject: words[2], AccountTokenPosition: len(words[3])})
			case "import":
				a.Imports = append(a.Imports, importConfig{Service: service, Account: words[2], Subject: words[3], To: words[4]})
			case "map":
				a.Mappings = append(a.Mappings, mappingConfig{Source: words[2], Destinations: []destination{{words[3], len(words[4])}}})
			}
		}
	}
	return list
}

// checkReturn follows what subject enters in an account there and back, and maps it.
func checkReturn(t *testing.T, a *accounts.Account, subject string) {
	t.Helper()
	x := a.Crossings()
	if x == nil {
		return
	}
	for i := range x.Services(subject) {
		remote, ok := i.Remote(subject)
		if !ok || subjects.ValidPattern(subject) && !subjects.ValidPattern(remote) {
			t.Errorf("%q enters a service that it does not lead to: %q", subject, remote)
		}
	}
	for i := range x.Streams(subject) {
		local, ok := i.Local(subject)
		if !ok || subjects.ValidPattern(subject) && !subjects.ValidPattern(local) {
			t.Errorf("%q is imported as %q, %v", subject, local, ok)
		}
	}
	if m := x.Mapping(subject); m != nil {
		to, ok := m.Choose(subject, func(int) int { return 0 })
		if fixed, always := m.Fixed(subject); always && (!ok || fixed != to) {
			t.Errorf("%q is always mapped to %q, but this time to %q, %v", subject, fixed, to, ok)
		}
	}
	if i := strings.LastIndexByte(subject, '.'); i > 0 && x.Mapping(subject) != nil && !x.Concerns(subject[:i+1]) {
		t.Errorf("%q is mapped, but its prefix is of no concern", subject)
	}
}
