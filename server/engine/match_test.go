package engine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
	"weak"

	"runnel/server/accounts"
	"runnel/subjects"
)

// matchConfig has users with different permissions in one account, and one of another account.
func matchConfig() accounts.Config {
	user := func(name string, p *accounts.Permissions) accounts.UserConfig {
		return accounts.UserConfig{Username: name, Password: name, Permissions: p}
	}
	return accounts.Config{Accounts: []accounts.AccountConfig{
		{Name: "A", Users: []accounts.UserConfig{
			user("free", nil),
			user("reader", &accounts.Permissions{Publish: accounts.Rules{Deny: []string{">"}}}),
			user("half", &accounts.Permissions{Publish: accounts.Rules{Allow: []string{"x.good", "y.*"}, Deny: []string{"y.bad"}}}),
			user("filtered", &accounts.Permissions{Subscribe: accounts.Rules{Deny: []string{"foo.secret", "bar.*", "baz.* staff"}}}),
			user("answers", &accounts.Permissions{Responses: &accounts.ResponsePermission{}}),
		}},
		{Name: "B", Users: []accounts.UserConfig{user("other", nil)}},
	}}
}

// who names the targets of e: "id/sid" of plain ones in order, then each queue group in brackets.
func who(e *entry) string {
	names := func(targets []target) []string {
		var all []string
		for _, t := range targets {
			all = append(all, fmt.Sprintf("%d/%s", t.conn.ID(), t.sub.SID))
		}
		slices.Sort(all)
		return all
	}
	groups := make([]string, 0, len(e.queues))
	for _, g := range e.queues {
		groups = append(groups, g[0].sub.Queue+"["+strings.Join(names(g), " ")+"]")
	}
	slices.Sort(groups)
	return strings.Join(append(names(e.plain), groups...), " ")
}

// lookups asks for a subject three times, since the answers come from a prefix entry, from a new entry and from
// a remembered one; all must be alike.
func lookups(t *testing.T, m *matchCache, p *accounts.Profile, subject string) (denied bool, targets string) {
	t.Helper()
	for i := range 3 {
		e := m.lookup(p, []byte(subject), fromClient)
		d, w := e.flags&entryDenied != 0, who(e)
		if i > 0 && (d != denied || w != targets) {
			t.Fatalf("%s: look-up %d says %t %q, those before %t %q", subject, i, d, w, denied, targets)
		}
		denied, targets = d, w
	}
	return denied, targets
}

func TestMatchProfiles(t *testing.T) {
	x := newFixture(t, matchConfig())
	conns := map[string]*Conn{}
	for _, name := range []string{"free", "reader", "half", "filtered", "other"} {
		conns[name] = x.connect(&discarding{}, name)
	}
	name := func(user, sid string) string { return fmt.Sprintf("%d/%s", conns[user].ID(), sid) }
	x.subscribe(conns["free"], "x.*", "", "1")
	x.subscribe(conns["free"], "foo.*", "", "2")
	x.subscribe(conns["filtered"], "foo.*", "", "1")
	x.subscribe(conns["filtered"], "foo.>", "q", "2")
	x.subscribe(conns["filtered"], "*.*", "", "3")
	x.subscribe(conns["filtered"], "baz.>", "staff", "4")
	x.subscribe(conns["filtered"], "baz.>", "guest", "5")
	x.subscribe(conns["other"], ">", "", "1")
	m := newMatchCache(64)
	tests := []struct {
		user, subject string
		denied        bool
		want          string
	}{
		{"free", "x.good", false, name("free", "1") + " " + name("filtered", "3")},
		{"reader", "x.good", true, name("free", "1") + " " + name("filtered", "3")},
		{"half", "x.good", false, name("free", "1") + " " + name("filtered", "3")},
		{"half", "x.bad", true, name("free", "1") + " " + name("filtered", "3")},
		{"half", "y.good", false, name("filtered", "3")},
		{"half", "y.bad", true, name("filtered", "3")},
		{"half", "z", true, ""},
		{"other", "x.good", false, name("other", "1")},
		{"free", "foo.open", false, name("free", "2") + " " + name("filtered", "1") + " " + name("filtered", "3") + " q[" + name("filtered", "2") + "]"},
		{"free", "foo.secret", false, name("free", "2")},
		{"free", "bar.x", false, ""},
		{"free", "baz.x", false, name("filtered", "3") + " guest[" + name("filtered", "5") + "]"},
		{"free", "_GR_.x", true, name("filtered", "3")},
		{"free", "$NRG.x", true, name("filtered", "3")},
		{"free", "x..y", false, ""},
		{"free", ".x", false, ""},
		{"free", "x.", false, ""},
	}
	for range 2 { // the second time from what the first one left behind
		for _, tt := range tests {
			words := strings.Fields(tt.want)
			slices.SortStableFunc(words, func(a, b string) int { return strings.Compare(plainFirst(a), plainFirst(b)) })
			denied, got := lookups(t, &m, conns[tt.user].profile.Load(), tt.subject)
			if want := strings.Join(words, " "); denied != tt.denied || got != want {
				t.Errorf("%s to %s: denied %t, targets %q, want %t, %q", tt.user, tt.subject, denied, got, tt.denied, want)
			}
		}
	}
}

// plainFirst sorts queue groups, in brackets, behind plain targets.
func plainFirst(name string) string {
	if strings.Contains(name, "[") {
		return "~" + name
	}
	return name
}

// TestMatchPrefix: subjects that come once share an entry, and none that could differ does.
func TestMatchPrefix(t *testing.T) {
	x := newFixture(t, matchConfig())
	c := x.connect(&discarding{}, "free")
	p := c.profile.Load()
	x.subscribe(c, "_INBOX.me.*", "", "1")
	m := newMatchCache(64)
	first := m.lookup(p, []byte("_INBOX.me.1"), fromClient)
	if again := m.lookup(p, []byte("_INBOX.me.2"), fromClient); again != first {
		t.Error("two subjects of one prefix have two entries")
	}
	if first.plain[0].prefix != nil {
		t.Error("an entry for many subjects has the text of one")
	}
	if own := m.lookup(p, []byte("_INBOX.me.2"), fromClient); own == first || string(own.plain[0].prefix) != "HMSG _INBOX.me.2 1 " {
		t.Error("a subject that comes again has no entry of its own")
	}
	// A literal subscription concerns one of them only.
	x.subscribe(c, "_INBOX.me.3", "", "2")
	if got := who(m.lookup(p, []byte("_INBOX.me.3"), fromClient)); !strings.Contains(got, "/2") {
		t.Errorf("targets %q, want the literal subscription too", got)
	}
	if got := who(m.lookup(p, []byte("_INBOX.me.4"), fromClient)); strings.Contains(got, "/2") {
		t.Errorf("targets %q, want the other subscription only", got)
	}
	// So does a pattern that names the last token.
	x.subscribe(c, "_INBOX.*.5", "", "3")
	for subject, want := range map[string]bool{"_INBOX.me.5": true, "_INBOX.me.6": false} {
		if _, got := lookups(t, &m, p, subject); strings.Contains(got, "/3") != want {
			t.Errorf("%s: targets %q", subject, got)
		}
	}
}

// TestMatchAcks: the acknowledgements of a consumer share an entry, unless somebody tells them apart.
func TestMatchAcks(t *testing.T) {
	x := newFixture(t, matchConfig())
	c := x.connect(&discarding{}, "free")
	p := c.profile.Load()
	x.subscribe(c, "$JS.ACK.>", "", "all")
	m := newMatchCache(64)
	first := m.lookup(p, []byte("$JS.ACK.S.C.1.2.3.4.5"), fromClient)
	for _, subject := range []string{"$JS.ACK.S.C.1.3.4.5.6", "$JS.ACK.S.C.x"} {
		if m.lookup(p, []byte(subject), fromClient) != first {
			t.Errorf("%s has an entry of its own", subject)
		}
	}
	if m.lookup(p, []byte("$JS.ACK.S.D.1.2.3.4.5"), fromClient) == first {
		t.Error("two consumers have one entry")
	}
	for subject, want := range map[string]string{
		"$JS.ACK.S.C": "all", "$JS.ACK.S": "all", "$JS.ACK.": "", "$JS.ACK": "", "$JS.ACK.S.C.": "", "$JS.ACK.S.C..1": "",
		"$JS.ACK.S.C.1..2": "", "$JS.ACK..C.1": "", "$JS.ACK.S..1": "", "$JS.ACK.S.C.1.": "",
	} {
		if _, got := lookups(t, &m, p, subject); strings.Contains(got, want) != true || want == "" && got != "" {
			t.Errorf("%s: targets %q, want %q", subject, got, want)
		}
	}
	x.subscribe(c, "$JS.ACK.S.C.*.7.>", "", "some")
	x.subscribe(c, "$JS.ACK.S.D.1", "", "one")
	for subject, want := range map[string]bool{
		"$JS.ACK.S.C.1.7.1.1.1": true, "$JS.ACK.S.C.1.8.1.1.1": false, "$JS.ACK.S.D.1": true, "$JS.ACK.S.D.2": false,
	} {
		if _, got := lookups(t, &m, p, subject); strings.Contains(got, " ") != want {
			t.Errorf("%s: targets %q, want two %t", subject, got, want)
		}
	}
}

// TestMatchStale: what was remembered does not outlive a change, whichever way it was remembered.
func TestMatchStale(t *testing.T) {
	x := newFixture(t, matchConfig())
	c := x.connect(&discarding{}, "free")
	p := c.profile.Load()
	m := newMatchCache(64)
	for _, pattern := range []string{"a.b", "a.*", "*.b", ">", "a.>", "*.*"} {
		for round := range 3 {
			if _, got := lookups(t, &m, p, "a.b"); got != "" {
				t.Fatalf("%s round %d: targets %q before anybody subscribed", pattern, round, got)
			}
			sub := x.subscribe(c, pattern, "", "1")
			if _, got := lookups(t, &m, p, "a.b"); got != fmt.Sprintf("%d/1", c.ID()) {
				t.Fatalf("%s round %d: targets %q after SUB", pattern, round, got)
			}
			c.removeSubscription(sub)
		}
	}
}

// TestMatchModel compares look-ups with a walk through all subscriptions, while these come and go.
func TestMatchModel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	x := newFixture(t, matchConfig())
	users := []string{"free", "free", "filtered", "other"}
	var conns []*Conn
	for _, u := range users {
		conns = append(conns, x.connect(&discarding{}, u))
	}
	tokens := []string{"a", "b", "foo", "secret", "*"}
	pattern := func() string {
		n := 1 + random.IntN(3)
		all := make([]string, n)
		for i := range all {
			all[i] = tokens[random.IntN(len(tokens))]
		}
		if random.IntN(4) == 0 {
			all[n-1] = ">"
		}
		return strings.Join(all, ".")
	}
	subject := func() string { return strings.NewReplacer("*", "c", ">", "d").Replace(pattern()) }
	m := newMatchCache(16) // so small that much is replaced
	m.most = 64
	for step := range 3000 {
		c := conns[random.IntN(len(conns))]
		if subs := c.Subscriptions(); len(subs) > 5 {
			c.removeSubscription(subs[random.IntN(len(subs))])
		} else if random.IntN(2) == 0 {
			queue := []string{"", "", "q1", "q2"}[random.IntN(4)]
			x.subscribe(c, pattern(), queue, fmt.Sprint(step))
		}
		if random.IntN(20) == 0 {
			m.sweep()
		}
		for range 3 {
			publisher, s := conns[random.IntN(len(conns))], subject()
			if got, want := who(m.lookup(publisher.profile.Load(), []byte(s), fromClient)), naive(conns, publisher, s); got != want {
				t.Fatalf("step %d: %s has targets %q, want %q", step, s, got, want)
			}
		}
	}
	if n := ways * len(m.exact); n != m.most {
		t.Errorf("the cache has %d places, want %d in the end", n, m.most)
	}
}

// TestMatchGrows: a cache that serves more than it has places for gets more, and keeps what it knows.
func TestMatchGrows(t *testing.T) {
	x := newFixture(t, matchConfig())
	c := x.connect(&discarding{}, "free")
	p := c.profile.Load()
	x.subscribe(c, ">", "", "all")
	for i := range 1000 {
		x.subscribe(c, fmt.Sprint("few.", i), "", fmt.Sprint(i))
	}
	for name, subject := range map[string]func(i int) string{
		"subjects": func(i int) string { return fmt.Sprint("few.", i) },
		"prefixes": func(i int) string { return fmt.Sprint("many.", i, ".x") },
	} {
		m := newMatchCache(64)
		m.most = 4096
		for range 5 {
			for i := range 1000 {
				m.lookup(p, []byte(subject(i)), fromClient)
			}
		}
		if n := ways * len(m.exact); n < 1024 || n > 4096 || len(m.prefixes) != n/8 {
			t.Errorf("%s: %d and %d places for 1000", name, n, len(m.prefixes))
		}
		places := ways * len(m.exact)
		m.grow() // not due
		if ways*len(m.exact) != places {
			t.Errorf("%s: the cache grows without need", name)
		}
		bytes := 0
		for i := range m.exact {
			for _, e := range m.exact[i].entries {
				if e != nil {
					bytes += int(e.bytes)
				}
			}
		}
		for _, e := range m.prefixes {
			if e != nil {
				bytes += int(e.bytes)
			}
		}
		if bytes != m.bytes {
			t.Errorf("%s: entries of %d bytes are counted as %d", name, bytes, m.bytes)
		}
	}
}

// naive finds who gets subject by looking at all.
func naive(conns []*Conn, publisher *Conn, subject string) string {
	var plain []string
	groups := map[string][]string{}
	for _, c := range conns {
		for _, sub := range c.Subscriptions() {
			if c.Account() != publisher.Account() || !subjects.Match(sub.Subject, subject) || !c.profile.Load().CanReceive(subject, sub.Queue) {
				continue
			}
			name := fmt.Sprintf("%d/%s", c.ID(), sub.SID)
			if sub.Queue == "" {
				plain = append(plain, name)
			} else {
				groups[sub.Queue] = append(groups[sub.Queue], name)
			}
		}
	}
	slices.Sort(plain)
	for _, q := range []string{"q1", "q2"} {
		if g := groups[q]; len(g) > 0 {
			slices.Sort(g)
			plain = append(plain, q+"["+strings.Join(g, " ")+"]")
		}
	}
	return strings.Join(plain, " ")
}

// TestMatchSpecial: what needs more than the fast loop says so.
func TestMatchSpecial(t *testing.T) {
	x := newFixture(t, matchConfig())
	account := x.door.policy.Account("A")
	plain, bare, answers := x.connect(&discarding{}, "free"), x.connect(&discarding{}, "free"), x.connect(&discarding{}, "answers")
	bare.set(flagHeaders, false)
	x.subscribe(plain, "plain.>", "", "1")
	x.subscribe(plain, "plain.x", "q", "2")
	x.subscribe(bare, "bare.*", "", "1")
	x.subscribe(answers, "answers.*", "q", "1")
	internal := x.Subscribe(account, "internal.*", "", func(*Message) {})
	defer internal.Unsubscribe()
	for subject, want := range map[string]bool{"plain.x": false, "bare.x": true, "answers.x": true, "internal.x": true, "nobody.x": false} {
		m := newMatchCache(64)
		for i := range 3 {
			if got := m.lookup(account.Profile(), []byte(subject), fromClient).flags&entrySpecial != 0; got != want {
				t.Errorf("%s look-up %d: special %t, want %t", subject, i, got, want)
			}
		}
	}
}

// TestSweep: a cache does not keep connections that are gone.
func TestSweep(t *testing.T) {
	x := newFixture(t, matchConfig())
	publisher := x.connect(&discarding{}, "free")
	p := publisher.profile.Load()
	m := newMatchCache(64)
	refs := func() []weak.Pointer[Conn] {
		var refs []weak.Pointer[Conn]
		for range 5 {
			c := x.connect(&discarding{}, "free")
			x.subscribe(c, "a.b", "", "1")
			x.subscribe(c, "c.*", "q", "2")
			refs = append(refs, weak.Make(c))
		}
		lookups(t, &m, p, "a.b")
		lookups(t, &m, p, "c.d")
		for _, r := range refs {
			r.Value().line.Ended(ReasonClientClosed)
		}
		return refs
	}()
	m.sweep()
	runtime.GC()
	for i, r := range refs {
		if r.Value() != nil {
			t.Errorf("connection %d of %d is kept alive", i, len(refs))
		}
	}
	runtime.KeepAlive(&m)
}

// TestMatchInTurn: as many subjects as fit, asked for in turn, are all remembered.
func TestMatchInTurn(t *testing.T) {
	x := newFixture(t, matchConfig())
	p := x.connect(&discarding{}, "free").profile.Load()
	m := newMatchCache(64)
	m.exact = m.exact[:1] // so that all share a bucket
	subjects := []string{"a.1", "b.1", "c.1", "d.1"}
	for range 2 {
		for _, s := range subjects {
			m.lookup(p, []byte(s), fromClient)
		}
	}
	for _, s := range subjects {
		if e := m.lookup(p, []byte(s), fromClient); e.subject != s {
			t.Errorf("%s has the entry of %q", s, e.subject)
		}
	}
}

// TestEntrySize: many entries are looked at, one after the other.
func TestEntrySize(t *testing.T) {
	if size := unsafe.Sizeof(entry{}); size > 128 {
		t.Errorf("an entry has %d bytes, want 128", size)
	}
}
