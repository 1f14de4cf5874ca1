package jetstream

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/directory"
	"runnel/server/jetstream/relay"
)

// cluster is what a service has besides when it is one of several. A server alone has none.
type cluster struct {
	clustered.Cluster
	service   *Service
	asker     clustered.Asker
	directory directory.Directory
	waiting   clustered.Waiting[*request]
	relay     *relay.Relay
	counts    clustered.Counts
	fence     atomic.Uint32 // what others sent before it was for who led the meta group before

	mu       sync.Mutex // guards everything below
	replicas map[uint64]*replica
}

// tendEvery is how often the replicas are looked after.
const tendEvery = time.Second

// newCluster returns the part of a service that joins it to others.
func newCluster(s *Service, view clustered.Cluster) *cluster {
	c := &cluster{Cluster: view, service: s, replicas: make(map[uint64]*replica)}
	c.asker = clustered.Asker{Cluster: view, Local: c.reply}
	c.counts = clustered.Counts{Asker: &c.asker, Quotas: s.quotas, Accounts: s.servedNames}
	c.directory = directory.Directory{
		Context: s.ctx, Cluster: view, Asker: &c.asker, ServerName: s.cfg.ServerName, ServerID: s.cfg.ServerID, Domain: s.cfg.Domain,
		Tell: s.events.System,
	}
	c.relay = relay.New(relay.Config{View: view, Domain: s.cfg.Domain, Publish: s.cfg.Engine.Publish})
	c.waiting.Judge = func(r *request, late bool) clustered.Verdict {
		v, _ := c.judge(r, late)
		return v
	}
	c.waiting.Done = c.waited
	c.waiting.Gone = func(node string) bool { return !view.Online(node) }
	c.waiting.Orphan = func(r *request) { r.orphaned = true }
	c.waiting.Harmless = func(r *request) bool { return !r.call.Endpoint.Mutates() }
	c.waiting.Most = func() int { return s.allowed.Load().MaxRequests }
	return c
}

// Answer answers a question that another server of the cluster has put by its Call.
func (s *Service) Answer(ctx context.Context, question []byte) ([]byte, error) {
	if s.cluster == nil {
		return nil, fmt.Errorf("answer a question: this server belongs to no cluster")
	}
	return s.cluster.asker.Answer(ctx, question)
}

// Witness is [engine.RouteConfig.Witness] of a server that belongs to a cluster.
func (s *Service) Witness(a *accounts.Account, subject string) func(*engine.Message) {
	if s.cluster == nil {
		return nil
	}
	return s.cluster.relay.Witness(a, subject)
}

// Reached tells whether another server, by its node, can be reached; only changes are told. It does not wait.
func (s *Service) Reached(node string, is bool) {
	s.cfg.Engine.PeerSilent(node, !is)
	if !is {
		s.Lost(node)
	}
}

// Lost tells that a link to another server has ended, and with it perhaps what was on its way there. It does not wait.
func (s *Service) Lost(node string) { s.cluster.relay.Lost(node) }

// judge says what this server does with a request, and who answers if it is silent, see clustered.Judge. That an account has no
// JetStream its client's own server says: others need not even know the account.
func (c *cluster) judge(r *request, late bool) (verdict clustered.Verdict, by string) {
	if r.account.limits.Load() == nil && !(r.account.isSystem() && r.call.Endpoint.System()) {
		if r.local {
			return clustered.Answer, ""
		}
		return clustered.Silent, ""
	}
	led := r.account.stream(r.call.Stream).leads()
	verdict, by = clustered.Judge(c, clustered.Case{
		Endpoint: r.call.Endpoint, Account: r.account.account.Name(), Stream: r.call.Stream, Led: led, Late: late,
		Taken: r.taken, Orphaned: r.orphaned, Outdated: r.outdated,
	})
	r.taken = r.taken || led && verdict == clustered.Wait
	return verdict, by
}

// concerns tells whether this server has to do something with a request now. One that another server answers is kept for a moment,
// unless nobody wants the answer, or it is one that clients repeat by themselves.
func (c *cluster) concerns(r *request, m *engine.Message) bool {
	if r.here {
		return true
	}
	v, by := c.judge(r, false)
	if v == clustered.Answer && r.call.Endpoint.Mutates() {
		fence := c.fence.Load()
		if t := r.account.stream(r.call.Stream); t.leads() && !clustered.ByMeta(r.call.Endpoint) {
			fence = t.fence
		}
		r.outdated = !m.Since(fence)
	}
	if v == clustered.Silent && r.call.Endpoint == api.CallConsumerNext && len(m.Reply) > 0 {
		c.service.ingest.RefuseSoon(r.account.account, m.Reply) // nobody else has it
	}
	if v == clustered.Silent && by != "" && len(m.Reply) > 0 && r.call.Endpoint.Type() != "" {
		r.message = m.Clone()
		c.waiting.Keep(r, by, r.Bytes())
	}
	return v != clustered.Silent
}

// settle does what there is to do with a request unless it is to be carried out here; it is false if so.
func (c *cluster) settle(out Outlet, r *request) bool {
	v, _ := c.judge(r, r.late)
	switch v {
	case clustered.Answer:
		return false
	case clustered.Silent:
	case clustered.Wait:
		if !c.waiting.Add(r, r.came) {
			c.service.dropped.Add(1)
			c.service.overload.Note()
		}
	default:
		c.service.refuse(out, r, v)
	}
	return true
}

// waited goes on with a request that has waited.
func (c *cluster) waited(r *request, v clustered.Verdict) {
	if v == clustered.Silent {
		return
	}
	r.late = v != clustered.Answer
	c.service.offer(r)
}

// spread replaces, among an account's subscriptions, those that must not be there on every server of a cluster.
func (a *account) spread(h map[string]func(*engine.Message)) {
	for _, prefix := range api.Prefixes(a.service.cfg.Domain) {
		delete(h, prefix+">")
	}
	for _, subject := range api.SharedSubjects(a.service.cfg.Domain, a.isSystem()) {
		h[subject] = a.takeRequest
	}
	delete(h, api.AckPrefix+">")
	delete(h, api.FlowControlPrefix+">")
}

// shares subscribes to what one server of the cluster, no matter which, passes on: the buckets that are named by the domain.
func (a *account) shares() []*engine.Internal {
	s := a.service
	if s.cluster == nil || s.cfg.Domain == "" {
		return nil
	}
	var list []*engine.Internal
	for _, bucket := range []string{"$KV.>", "$OBJ.>", "$O.>"} {
		list = append(list, s.cfg.Engine.SubscribeMember(a.account, api.DomainPrefix(s.cfg.Domain)+bucket, memberQueue, a.takeRequest))
	}
	return list
}

// memberQueue is the queue group of servers that share a work.
const memberQueue = "_runnel"

// isSystem tells whether the account is the one of the server's operators.
func (a *account) isSystem() bool {
	system := a.service.cfg.System
	return system != nil && system() == a.account
}

// Opened tells that this server has a replica of a stream, or all of one that no other server has. It is not led here until
// Lead is called. Nothing is told to a service without a Cluster.
func (s *Service) Opened(log *store.Stream) {
	c := s.cluster
	r := &replica{cluster: c, log: log, gone: make(chan struct{})}
	c.mu.Lock()
	c.replicas[log.ID()] = r
	c.mu.Unlock()
	r.want(func() {})
}

// Lead tells that a stream is led by this server from here on. Like Follow and Closed it is quick; what is to be done is done
// by a goroutine, for each stream in the order of the calls.
func (s *Service) Lead(id, term uint64) {
	if r := s.cluster.replica(id); r != nil {
		r.want(func() { r.term = term })
	}
}

// Follow tells that a stream is not led by this server any more.
func (s *Service) Follow(id uint64) {
	if r := s.cluster.replica(id); r != nil {
		r.rest()
		r.want(func() { r.term = 0 })
	}
}

// Closed tells that this server does not have a stream any more, or not for now. It returns when nothing here uses it.
func (s *Service) Closed(id uint64) {
	c := s.cluster
	r := c.replica(id)
	if r == nil {
		return
	}
	r.want(func() { r.term, r.closed = 0, true })
	r.settle()
	if r.deleted() {
		c.service.quotas.Account(r.log.Account()).Remove(id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replicas[id] == r {
		delete(c.replicas, id)
		close(r.gone)
	}
}

// replica returns the replica of a stream, nil if this server has none.
func (c *cluster) replica(id uint64) *replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replicas[id]
}

// revive lets the replicas of an account that is served from here on be streams of it.
func (c *cluster) revive(a *account) {
	for _, r := range c.all() {
		if r.log.Account() == a.account.Name() {
			r.want(func() {})
		}
	}
}

// all returns all replicas, in no order.
func (c *cluster) all() []*replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*replica, 0, len(c.replicas))
	for _, r := range c.replicas {
		list = append(list, r)
	}
	return list
}

// settleAll waits until all replicas are what they are to be.
func (c *cluster) settleAll() {
	for _, r := range c.all() {
		r.settle()
	}
}

// run looks after the replicas until the service ends.
func (c *cluster) run() {
	defer c.relay.Close()
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, r := range c.all() {
				r.tend()
			}
			c.service.running.Go(func() { c.counts.Hear(c.service.ctx) })
		case <-c.service.ctx.Done():
			return
		}
	}
}
