package meta

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"
)

// form takes the server into a cluster, however long that takes.
func (m *Meta) form() {
	ticker := time.NewTicker(formEvery)
	defer ticker.Stop()
	said := m.begun
	for {
		s := m.step()
		if m.isFormed() {
			return
		}
		m.mu.Lock()
		changed := m.reason != s.why
		m.reason = s.why
		m.mu.Unlock()
		if since := time.Since(said); s.why != "" && (changed && s.verb == refused || since > 10*time.Second) {
			said = time.Now()
			m.logger.Warn("the cluster is not formed yet", "reason", s.why)
		}
		select {
		case <-ticker.C:
		case <-m.ctx.Done():
			return
		}
	}
}

// step asks the others and does what comes next.
func (m *Meta) step() step {
	answers := m.ask(m.cfg.Connected())
	me := m.hello()
	s := decide(me, answers, func() string { return draw(16) })
	var err error
	switch s.verb {
	case promise:
		err = m.settle(s.plan, false)
	case form:
		err = m.settle(s.plan, true)
	case join:
		if s.why = m.askToJoin(s.ask, s.plan.ClusterID); s.why == "" {
			err = m.settle(s.plan, true)
		}
	}
	if err != nil {
		m.halt(err)
	}
	return s
}

// settle makes it durable that the server has promised a plan or belongs to its cluster; then it takes part.
func (m *Meta) settle(p *plan, formed bool) error {
	m.mu.Lock()
	f := m.formation
	m.mu.Unlock()
	f.Plan, f.Formed = p, formed
	if err := f.save(m.cfg.FS, m.cfg.Dir); err != nil {
		return err
	}
	m.mu.Lock()
	m.formation = f
	m.mu.Unlock()
	if !formed {
		return nil
	}
	m.logger.Info("the server belongs to a cluster", "cluster_id", p.ClusterID)
	return m.start()
}

// hello is what this server has to say.
func (m *Meta) hello() *hello {
	sees := append(m.cfg.Connected(), m.self)
	slices.Sort(sees)
	leader, _, _ := m.leader.get()
	h := &hello{Size: m.cfg.Expected(), Sees: slices.Compact(sees), Leader: leader}
	m.mu.Lock()
	defer m.mu.Unlock()
	h.Member, h.Plan, h.Formed = m.describe, m.formation.Plan, m.formation.Formed
	return h
}

// ask says hello to others, and returns what they say.
func (m *Meta) ask(nodes []string) map[string]*hello {
	mine, err := json.Marshal(m.hello())
	if err != nil {
		m.logger.Error("encode what this server is", "error", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(m.ctx, callTimeout)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	answers := make(map[string]*hello)
	for _, node := range nodes {
		asked.Go(func() {
			b, err := m.cfg.Calls.Call(ctx, node, serviceForm, mine)
			var h hello
			if err != nil || json.Unmarshal(b, &h) != nil || h.Member.Node != node {
				return // asked again soon
			}
			mu.Lock()
			defer mu.Unlock()
			answers[node] = &h
		})
	}
	asked.Wait()
	return answers
}

// serveHello answers ask. What the other says of itself is not used: this server asks for itself.
func (m *Meta) serveHello(_ context.Context, from string, _ []byte) ([]byte, error) {
	h := m.hello()
	h.Removed = m.View().Removed(from)
	return json.Marshal(h)
}

// errRemoved is why a server halts that does not belong to the cluster any more.
var errRemoved = errors.New("this server was removed from the cluster; to join again it needs an empty JetStream directory")

// lookForOthers complains of servers that belong to another cluster, and finds out whether this one was removed: raft does not tell.
func (m *Meta) lookForOthers() {
	view, id := m.View(), m.clusterID()
	if view.Removed(m.self) && !m.Leads() {
		m.halt(errRemoved)
		return
	}
	leader, _, _ := m.leader.get()
	others := m.cfg.Connected()
	if leader != "" {
		others = slices.DeleteFunc(others, func(node string) bool { return view.Member(node) != nil })
	}
	for node, h := range m.ask(others) {
		switch {
		case h.Plan == nil || !h.Formed:
		case h.Plan.ClusterID != id:
			m.logger.Error("a server belongs to another cluster: both have to keep apart, or one of them has to join with an empty directory",
				"server", h.Member.Name, "node", node, "its_cluster", h.Plan.ClusterID, "cluster", id)
		case h.Removed:
			m.halt(errRemoved)
		}
	}
}
