package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/engine/peers"
	"runnel/subjects"
)

// tapped is a client whose deliveries are read by a goroutine.
type tapped struct {
	*client
	node    int
	account string
	subs    map[string]subscribed // by sid
	next    int

	pongs chan struct{}
	mu    sync.Mutex
	got   []message
}

type subscribed struct{ subject, queue string }

func tap(c *client, node int, account string) *tapped {
	x := &tapped{client: c, node: node, account: account, subs: map[string]subscribed{}, pongs: make(chan struct{}, 1000)}
	go x.run()
	return x
}

func (x *tapped) run() {
	for {
		line, err := x.readLine()
		if err != nil {
			return
		}
		if line == "PONG\r\n" {
			x.pongs <- struct{}{}
			continue
		}
		m, err := x.body(line)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.got = append(x.got, m)
		x.mu.Unlock()
	}
}

// pinged has all that was sent carried out.
func (x *tapped) pinged() {
	x.t.Helper()
	x.send("PING\r\n")
	<-x.pongs
}

// take returns what has come since the last time, as "sid subject payload" each.
func (x *tapped) take() (all []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range x.got {
		text := m.sid + " " + m.subject + " " + m.payload
		if strings.HasPrefix(m.header, "NATS/1.0 503") {
			text = "unheard"
		}
		all = append(all, text)
	}
	x.got = nil
	return all
}

// converge waits until each server knows what the others want.
func converge(t testing.TB, all []*node) {
	t.Helper()
	set := func(entries []peers.Entry) map[peers.Entry]bool {
		m := make(map[peers.Entry]bool)
		for _, e := range entries {
			m[e] = true
		}
		return m
	}
	for _, from := range all {
		for _, to := range all {
			if from == to {
				continue
			}
			until(t, fmt.Sprintf("%s knows what %s wants", to.mesh.Self().Name, from.mesh.Self().Name), func() bool {
				var known []peers.Entry
				for _, r := range to.engine.Routes() {
					if r.Link.Peer.Name == from.mesh.Self().Name {
						known = append(known, to.engine.RouteSubscriptions(r.ID)...)
					}
				}
				want := from.engine.Demand()
				return len(known) == len(want) && maps.Equal(set(known), set(want))
			})
		}
	}
}

// modelConfig has account A export a stream and a service, and B import both.
func modelConfig() accounts.Config {
	return sharing(
		accounts.AccountConfig{Name: "A", Exports: exports{exportStream("s.>"), exportService("req.*")}},
		accounts.AccountConfig{Name: "B", Imports: imports{importStream("A", "s.*", "t.*"), importService("A", "req.*", "")}},
	)
}

// rival is a queue group of one account, as the model knows it.
type rival struct{ account, queue string }

// modelled is what a message should come to: who gets it in any case, and who competes for it.
type modelled struct {
	sure   map[string]int               // "client sid subject": times
	groups map[rival]map[string]*tapped // likewise
}

// expectation works out who gets a message.
func expectation(all []*tapped, account, subject string) modelled {
	m := modelled{map[string]int{}, map[rival]map[string]*tapped{}}
	add := func(in, local string) {
		for i, c := range all {
			if c.account != in {
				continue
			}
			for sid, s := range c.subs {
				if !subjects.Match(s.subject, local) {
					continue
				}
				key := fmt.Sprintf("%d %s %s", i, sid, local)
				if s.queue == "" {
					m.sure[key]++
					continue
				}
				g := rival{in, s.queue}
				if m.groups[g] == nil {
					m.groups[g] = map[string]*tapped{}
				}
				m.groups[g][key] = c
			}
		}
	}
	add(account, subject)
	if rest, ok := strings.CutPrefix(subject, "s."); ok && account == "A" && !strings.Contains(rest, ".") {
		add("B", "t."+rest)
	}
	if account == "B" && strings.HasPrefix(subject, "req.") {
		add("A", subject)
	}
	return m
}

// check compares what clients got with the model. node is the publisher's.
func (m *modelled) check(node int, got map[string]int) error {
	for key, times := range m.sure {
		if got[key] != times {
			return fmt.Errorf("%s came %d times, want %d", key, got[key], times)
		}
		delete(got, key)
	}
	for g, members := range m.groups {
		near := slices.ContainsFunc(slices.Collect(maps.Values(members)), func(c *tapped) bool { return c.node == node })
		sum := 0
		for key, c := range members {
			sum += got[key]
			if got[key] > 0 && near && c.node != node {
				return fmt.Errorf("group %v: %s got it although there is a member nearer", g, key)
			}
			delete(got, key)
		}
		if sum != 1 {
			return fmt.Errorf("group %v got it %d times", g, sum)
		}
	}
	if len(got) > 0 {
		return fmt.Errorf("%v came and should not", got)
	}
	return nil
}

// clusterModel plays with a cluster.
type clusterModel struct {
	t       *testing.T
	random  *rand.Rand
	all     []*node
	clients []*tapped
	serial  int
}

// TestClusterModel: whatever is subscribed where, and whatever breaks meanwhile, a message gets to whom it should, once each,
// and to one member of each queue group, a near one if there is one; and who asks nobody is told so.
func TestClusterModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			pollers := int(seed % 2)
			x := &clusterModel{t: t, random: rand.New(rand.NewPCG(seed, 3))}
			cfg := clusterConfig{nodes: 3, pollers: pollers, pool: 1 + int(seed%3), accounts: modelConfig()}
			if seed%2 == 1 {
				cfg.pinned = []string{"A"}
			}
			x.all = startCluster(t, cfg)
			for i := range 9 {
				name := "AB"[i%2 : i%2+1]
				x.clients = append(x.clients, tap(x.all[i%3].login(strings.ToLower(name)), i%3, name))
			}
			for range 25 {
				x.step(&cfg)
			}
		})
	}
}

func (x *clusterModel) step(cfg *clusterConfig) {
	for range 1 + x.random.IntN(8) {
		x.change()
	}
	for _, c := range x.clients {
		c.pinged()
	}
	if x.random.IntN(8) == 0 {
		x.cut(cfg)
	}
	converge(x.t, x.all)
	for range 4 {
		x.publish()
	}
}

// change subscribes or unsubscribes somebody.
func (x *clusterModel) change() {
	c := x.clients[x.random.IntN(len(x.clients))]
	if x.random.IntN(3) == 0 && len(c.subs) > 0 {
		sids := slices.Sorted(maps.Keys(c.subs))
		sid := sids[x.random.IntN(len(sids))]
		c.send("UNSUB %s\r\n", sid)
		delete(c.subs, sid)
		return
	}
	patterns := []string{"s.1", "s.*", "s.>", "t.1", "t.*", "req.1", "req.*", ">", "other"}
	s := subscribed{subject: patterns[x.random.IntN(len(patterns))]}
	if x.random.IntN(2) == 0 {
		s.queue = []string{"q", "r"}[x.random.IntN(2)]
	}
	c.next++
	sid := fmt.Sprint(c.next)
	c.subs[sid] = s
	c.send("SUB %s %s %s\r\n", s.subject, s.queue, sid)
}

// cut breaks a route, and waits until there is another.
func (x *clusterModel) cut(cfg *clusterConfig) {
	n := x.all[x.random.IntN(len(x.all))]
	routes := n.engine.Routes()
	old := routes[x.random.IntN(len(routes))]
	if err := old.Link.Close(); err != nil {
		x.t.Fatal(err)
	}
	want := len(routes)
	until(x.t, "there is another route", func() bool {
		now := n.engine.Routes()
		return len(now) == want && !slices.ContainsFunc(now, func(r engine.RouteView) bool { return r.ID == old.ID })
	})
	awaitRoutes(x.t, x.all, (cfg.nodes-1)*(max(1, cfg.pool)+len(cfg.pinned)))
}

// publish sends a message and waits for whoever is to get it.
func (x *clusterModel) publish() {
	from := x.clients[x.random.IntN(len(x.clients))]
	all := []string{"s.1", "s.2", "s.1.2", "t.1", "req.1", "nobody"}
	subject := all[x.random.IntN(len(all))]
	x.serial++
	payload := fmt.Sprint("m", x.serial)
	m := expectation(x.clients, from.account, subject)
	sent := "PUB %s %d\r\n%s\r\n"
	from.send(sent, subject, len(payload), payload)
	total := len(m.groups)
	for _, times := range m.sure {
		total += times
	}
	count := func() (n int) {
		for _, c := range x.clients {
			c.mu.Lock()
			for _, g := range c.got {
				if g.payload == payload {
					n++
				}
			}
			c.mu.Unlock()
		}
		return n
	}
	until(x.t, fmt.Sprintf("%d get %s on %s", total, payload, subject), func() bool { return count() >= total })
	from.pinged()
	got := map[string]int{}
	for i, c := range x.clients {
		for _, text := range c.take() {
			sid, rest, _ := strings.Cut(text, " ")
			local, body, _ := strings.Cut(rest, " ")
			if body != payload {
				x.t.Fatalf("client %d got %q, which is from before", i, text)
			}
			got[fmt.Sprintf("%d %s %s", i, sid, local)]++
		}
	}
	if err := m.check(from.node, got); err != nil {
		x.t.Fatalf("%s published %s at server %d: %v", from.account, subject, from.node, err)
	}
}
