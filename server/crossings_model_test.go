package server_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"runnel/conf"
	"runnel/server"
	"runnel/server/servertest"
)

// The test below has accounts that share at random, clients that subscribe, ask and publish at random, and reloads. It
// compares what arrives with what a naive reading of the configuration says: what must arrive does, once, and nothing
// else does anywhere.

// modelAccounts are the names of the accounts, modelClients how many clients each has.
const (
	modelAccounts = "ABCD"
	modelClients  = 2
	modelSteps    = 300
)

// crossing is an import: what is published or asked on from in one account goes to the other on to. Both are patterns of
// the same wildcards in the same order.
type crossing struct {
	service  bool
	from, to string // the patterns where messages leave and where they arrive
	leaves   byte   // the account where they leave
	arrives  byte
}

// rewriting is a mapping of one account.
type rewriting struct {
	account  byte
	from, to string
}

// world is a configuration, as the model reads it.
type world struct {
	crossings []crossing
	mappings  []rewriting
}

// text is the configuration file.
func (w *world) text() string {
	var b strings.Builder
	b.WriteString("accounts {\n")
	for i := range modelAccounts {
		name := modelAccounts[i]
		fmt.Fprintf(&b, "  %c { users [{user: %c, password: %c}]\n    exports [", name, name, name)
		exported := map[string]bool{}
		for _, x := range w.crossings {
			kind, account, subject := x.export()
			if key := kind + subject; account == name && !exported[key] {
				exported[key] = true
				fmt.Fprintf(&b, " {%s: %q},", kind, subject)
			}
		}
		b.WriteString(" ]\n    imports [")
		for _, x := range w.crossings {
			kind, account, subject := x.export()
			local, importer := x.to, x.arrives
			if x.service {
				local, importer = x.from, x.leaves
			}
			if importer == name {
				fmt.Fprintf(&b, " {%s: {account: %c, subject: %q}, to: %q},", kind, account, subject, numbered(local))
			}
		}
		b.WriteString(" ]\n    mappings {")
		for _, m := range w.mappings {
			if m.account == name {
				fmt.Fprintf(&b, " %q: %q,", m.from, numbered(m.to))
			}
		}
		b.WriteString(" } }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// export is the account that must export for x, and what.
func (x *crossing) export() (kind string, account byte, subject string) {
	if x.service {
		return "service", x.arrives, x.to
	}
	return "stream", x.leaves, x.from
}

// numbered writes the wildcards of a pattern as $1, $2.
func numbered(pattern string) string {
	tokens := strings.Split(pattern, ".")
	n := 0
	for i := range tokens {
		if tokens[i] == "*" {
			n++
			tokens[i] = "$" + strconv.Itoa(n)
		}
	}
	return strings.Join(tokens, ".")
}

// rewrite is what from, a pattern, makes of subject when to is written for it; not ok when it does not match.
func rewrite(from, to, subject string) (string, bool) {
	f, t, s := strings.Split(from, "."), strings.Split(to, "."), strings.Split(subject, ".")
	var wild []string
	for i := range f {
		switch {
		case f[i] == ">" && i < len(s):
			wild = append(wild, strings.Join(s[i:], "."))
			s = f
		case i >= len(s) || f[i] != "*" && f[i] != s[i]:
			return "", false
		case f[i] == "*":
			wild = append(wild, s[i])
		}
	}
	if len(s) != len(f) {
		return "", false
	}
	for i := range t {
		if t[i] == "*" || t[i] == ">" {
			t[i], wild = wild[0], wild[1:]
		}
	}
	return strings.Join(t, "."), true
}

// subscribed tells whether pattern covers subject.
func subscribed(pattern, subject string) bool {
	_, ok := rewrite(pattern, pattern, subject)
	return ok
}

// modelClient is a client and what it subscribed to, by sid.
type modelClient struct {
	*servertest.Client
	account byte
	subs    map[int][2]string // pattern and queue
}

// delivery is a message that arrived, or must.
type delivery struct {
	client  *modelClient
	sid     int
	subject string
	reply   string // "_R_" for one that leads to another account
	payload string
}

// due is what must come of one message: all of each, and one of each group.
type due struct {
	each   []delivery
	groups [][]delivery
}

// model is a server with its clients.
type model struct {
	t       *testing.T
	random  *rand.Rand
	server  *server.Server
	world   *world
	clients []*modelClient
	sid     int
	count   int // of payloads
}

// pick returns one of the values.
func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// pattern is a random one with that many `*` if stars is not negative; two tokens or a tail.
func (m *model) pattern(shape string) string {
	token := func() string { return pick(m.random, "a", "b", "c") }
	switch shape {
	case "*":
		return pick(m.random, token()+".*", "*."+token())
	case "**":
		return "*.*"
	case ">":
		return pick(m.random, token()+".>", token()+"."+token()+".>")
	}
	return token() + "." + token()
}

// literal is a random subject that pattern covers.
func (m *model) literal(pattern string) string {
	tokens := strings.Split(pattern, ".")
	for i := range tokens {
		if tokens[i] == "*" || tokens[i] == ">" {
			tokens[i] = pick(m.random, "a", "b", "c")
		}
	}
	return strings.Join(tokens, ".")
}

// reload changes who shares what: it begins anew, or leaves out something, and adds what the server accepts.
func (m *model) reload() {
	w, more := &world{}, 16
	if n := len(m.world.crossings); n > 0 && m.random.IntN(3) > 0 {
		i := m.random.IntN(n)
		w, more = &world{slices.Delete(slices.Clone(m.world.crossings), i, i+1), m.world.mappings}, 4
	}
	if !m.accepted(w) {
		m.t.Fatalf("refused is %s", w.text())
	}
	for range m.random.IntN(more) {
		next := &world{slices.Clone(w.crossings), slices.Clone(w.mappings)}
		leaves, arrives := pick(m.random, []byte(modelAccounts)...), pick(m.random, []byte(modelAccounts)...)
		if m.random.IntN(5) == 0 {
			shape := pick(m.random, "", "*", ">")
			r := rewriting{leaves, m.pattern(shape), m.pattern(shape)}
			if slices.ContainsFunc(w.mappings, func(o rewriting) bool { return o.account == r.account && o.from == r.from }) {
				continue
			}
			next.mappings = append(next.mappings, r)
		} else {
			shape := pick(m.random, "", "*", "**", ">")
			x := crossing{m.random.IntN(2) == 0, m.pattern(shape), m.pattern(shape), leaves, arrives}
			if m.random.IntN(3) == 0 {
				x.to = x.from
			}
			if n := len(w.crossings); n > 0 && m.random.IntN(2) == 0 { // what arrives goes on
				before := w.crossings[m.random.IntN(n)]
				x.leaves, leaves = before.arrives, before.arrives
				x.from, x.to = before.to, before.to
			}
			next.crossings = append(next.crossings, x)
		}
		if leaves != arrives && m.accepted(next) {
			w = next
		}
	}
	m.world = w
}

// accepted has the server take over a configuration, if it is in order.
func (m *model) accepted(w *world) bool {
	o, err := conf.Parse("model.conf", []byte(w.text()))
	if err != nil {
		return false
	}
	o.Host, o.Port = "127.0.0.1", -1
	_, err = m.server.Reload(o)
	return err == nil
}

// connect makes the clients.
func (m *model) connect() {
	for i := range modelAccounts {
		for range modelClients {
			name := string(modelAccounts[i])
			c := &modelClient{Client: dialAs(m.t, m.server, name, name), account: modelAccounts[i], subs: map[int][2]string{}}
			m.subscribe(c, fmt.Sprint("inbox.", len(m.clients), ".>"), "")
			m.clients = append(m.clients, c)
			for range 2 {
				m.subscribe(c, m.pattern(pick(m.random, "", "*", "**", ">")), pick(m.random, "", "", "", "q", "r"))
			}
		}
	}
}

func (m *model) subscribe(c *modelClient, pattern, queue string) {
	m.sid++
	c.subs[m.sid] = [2]string{pattern, queue}
	c.Send("SUB %s %s %d\r\n", pattern, queue, m.sid)
	c.Flush()
}

// mapped is the subject that a client's message has in the end.
func (w *world) mapped(account byte, subject string) string {
	best := ""
	for _, literal := range []bool{true, false} {
		for _, r := range w.mappings {
			if best == "" && r.account == account && literal == !strings.ContainsAny(r.from, "*>") {
				best, _ = rewrite(r.from, r.to, subject)
			}
		}
	}
	if best == "" {
		return subject
	}
	return best
}

// way is how a message has come into an account.
type way int

const (
	published way = iota // by a client of it
	streamed             // by the import of a stream: it enters no service
	asked                // by the import of a service: it is in no stream
)

// publish finds out what must come of a message on subject in account.
func (m *model) publish(d *due, account byte, subject, reply, payload string, by way) {
	groups := map[string][]delivery{}
	for _, c := range m.clients {
		for sid, s := range c.subs {
			if c.account != account || !subscribed(s[0], subject) {
				continue
			}
			x := delivery{c, sid, subject, reply, payload}
			if s[1] == "" {
				d.each = append(d.each, x)
			} else {
				groups[s[1]] = append(groups[s[1]], x)
			}
		}
	}
	for _, g := range groups {
		d.groups = append(d.groups, g)
	}
	for _, x := range m.world.crossings {
		if x.leaves != account || x.service && by == streamed || !x.service && by == asked {
			continue
		}
		to, ok := rewrite(x.from, x.to, subject)
		switch {
		case !ok:
		case !x.service:
			m.publish(d, x.arrives, to, reply, payload, streamed)
		case reply != "":
			m.publish(d, x.arrives, to, "_R_", payload, asked)
		default:
			m.publish(d, x.arrives, to, "", payload, asked)
		}
	}
}

// collect reads what has arrived at all clients; who has published sent a PING before.
func (m *model) collect(publisher *modelClient) []delivery {
	var all []delivery
	for _, c := range append([]*modelClient{publisher}, m.clients...) {
		c.Send("PING\r\n")
		for {
			line := c.Line()
			if line == "PONG" {
				break
			}
			if line == "PING" {
				c.Send("PONG\r\n")
				continue
			}
			words := strings.Fields(line)
			if words[0] != "MSG" && words[0] != "HMSG" {
				m.t.Fatalf("client of %c got %q", c.account, line)
			}
			d := delivery{client: c, subject: words[1]}
			d.sid, _ = strconv.Atoi(words[2])
			rest := words[3:]
			bytes := m.body(c, rest[len(rest)-1])
			if rest = rest[:len(rest)-1]; words[0] == "HMSG" {
				header, _ := strconv.Atoi(rest[len(rest)-1])
				bytes = strings.SplitN(bytes[:header], "\r\n", 2)[0][len("NATS/1.0"):] + bytes[header:]
				rest = rest[:len(rest)-1]
			}
			if d.payload = bytes; len(rest) > 0 {
				d.reply = rest[0]
			}
			all = append(all, d)
		}
	}
	return all
}

// body reads the rest of a message: lines, since all that the test sends ends in one.
func (m *model) body(c *modelClient, size string) string {
	n, err := strconv.Atoi(size)
	if err != nil {
		m.t.Fatal(err)
	}
	text := ""
	for len(text) < n+2 {
		text += c.Line() + "\r\n"
	}
	return text[:n]
}

// check compares what has arrived with what must have.
func (m *model) check(what string, d *due, got []delivery) {
	m.t.Helper()
	left := slices.Clone(got)
	take := func(want delivery) bool {
		for i, g := range left {
			if want.reply == "_R_" && strings.HasPrefix(g.reply, "_R_.") {
				g.reply = "_R_"
			}
			if g == want {
				left = slices.Delete(left, i, i+1)
				return true
			}
		}
		return false
	}
	for _, want := range d.each {
		if !take(want) {
			m.fail(what, "missing", want)
		}
	}
	for _, group := range d.groups {
		if !slices.ContainsFunc(group, take) {
			m.fail(what, "missing for a group of which one is", group[0])
		}
	}
	for _, g := range left {
		m.fail(what, "too much", g)
	}
	if m.t.Failed() {
		m.t.Fatalf("with %s", m.world.text())
	}
}

func (m *model) fail(what, wrong string, d delivery) {
	m.t.Helper()
	m.t.Errorf("%s: %s: in account %c sid %d (%v): %s, reply %q, %q", what, wrong, d.client.account, d.sid, d.client.subs[d.sid], d.subject, d.reply, d.payload)
}

// message has a client publish something, and who is asked answer.
func (m *model) message() {
	c := pick(m.random, m.clients...)
	subject := m.pattern("") + pick(m.random, "", "", ".x", ".a.b")
	if n := len(m.world.crossings); n > 0 && m.random.IntN(3) > 0 {
		x := m.world.crossings[m.random.IntN(n)]
		subject = m.literal(x.from)
		for c.account != x.leaves {
			c = pick(m.random, m.clients...)
		}
	}
	m.count++
	payload, reply := fmt.Sprint("p", m.count), ""
	if m.random.IntN(3) > 0 {
		reply = fmt.Sprint("inbox.", slices.Index(m.clients, c), ".", m.count)
	}
	c.Send("PUB %s %s %d\r\n%s\r\n", subject, reply, len(payload), payload)
	var d due
	mapped := m.world.mapped(c.account, subject)
	m.publish(&d, c.account, mapped, reply, payload, published)
	if len(d.each)+len(d.groups) == 0 && reply != "" {
		m.publish(&d, c.account, reply, "", " 503", published)
	}
	got := m.collect(c)
	m.check(fmt.Sprintf("%c publishes on %s (%s)", c.account, subject, mapped), &d, got)
	m.answer(c, mapped, reply, got)
}

// answer has one client for each question answer it, perhaps after a reload. What one has answered nobody answers once
// more.
func (m *model) answer(asker *modelClient, subject, reply string, got []delivery) {
	questions := questions(got)
	if len(questions) == 0 {
		return
	}
	before := m.world
	if m.random.IntN(4) == 0 {
		m.reload()
	}
	for k, q := range questions {
		m.count++
		payload := fmt.Sprint("answer", m.count)
		for i := range 2 {
			q.client.Send("PUB %s %d\r\n%s\r\n", q.reply, len(payload), payload)
			answers := m.collect(q.client)
			must := m.world == before || m.allStand(before)
			may := must || m.someWay(asker.account, subject, q, 0)
			if k > 0 && before.chained() {
				must = false // the one in between may have given its only answer
			}
			var d due
			if i == 0 && (must || may && len(answers) > 0) {
				m.publish(&d, asker.account, reply, "", payload, published)
			}
			m.check(fmt.Sprintf("answer %d to %s on %s of %c", i+1, subject, q.subject, asker.account), &d, answers)
		}
	}
}

// questions are the requests among what arrived, one of each.
func questions(got []delivery) (questions []delivery) {
	for _, g := range got {
		known := func(q delivery) bool { return q.reply == g.reply }
		if strings.HasPrefix(g.reply, "_R_.") && !slices.ContainsFunc(questions, known) {
			questions = append(questions, g)
		}
	}
	return questions
}

// chained tells whether the service that one import leads to may be an import.
func (w *world) chained() bool {
	for _, x := range w.crossings {
		for _, y := range w.crossings {
			if x.service && y.service && x.arrives == y.leaves {
				return true
			}
		}
	}
	return false
}

// allStand tells whether all imports of a former configuration are there still.
func (m *model) allStand(before *world) bool {
	for _, x := range before.crossings {
		if x.service && !slices.Contains(m.world.crossings, x) {
			return false
		}
	}
	return true
}

// someWay tells whether imports of services lead from account to where q came to.
func (m *model) someWay(account byte, subject string, q delivery, chain int) bool {
	if account == q.client.account && subject == q.subject && chain > 0 {
		return true
	}
	for _, x := range m.world.crossings {
		if to, ok := rewrite(x.from, x.to, subject); ok && x.service && x.leaves == account && m.someWay(x.arrives, to, q, chain+1) {
			return true
		}
	}
	return false
}

// step does something at random.
func (m *model) step() {
	c := pick(m.random, m.clients...)
	switch n := m.random.IntN(20); {
	case n < 3:
		m.subscribe(c, m.pattern(pick(m.random, "", "*", "**", ">")), pick(m.random, "", "", "", "q", "r"))
	case n < 5:
		for sid, s := range c.subs {
			if !strings.HasPrefix(s[0], "inbox") {
				delete(c.subs, sid)
				c.Send("UNSUB %d\r\n", sid)
				c.Flush()
				break
			}
		}
	case n < 6:
		m.reload()
	default:
		m.message()
	}
}

// TestCrossingsAgainstModel: no sequence of subscribing, publishing, asking and reloading lets a message into another
// account without an export and an import, and every message gets to all that are to have it, once.
func TestCrossingsAgainstModel(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := &model{t: t, random: rand.New(rand.NewPCG(seed, 5)), world: &world{}}
			m.server = servertest.Start(t, m.world.text())
			m.connect()
			for range modelSteps {
				m.step()
			}
		})
	}
}
