package system_test

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"runnel/cluster/survey"
	"runnel/server/monitor"
	"runnel/server/system"
	"runnel/subjects"
)

// epoch is the moment at which a synctest bubble begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// message is what went over the bus to clients.
type message struct {
	account, subject string
	header, payload  []byte
}

// fakeBus delivers requests to the services and keeps what they publish.
type fakeBus struct {
	mu   sync.Mutex
	subs []*subscription
	sent []message
	fail string // pattern that cannot be subscribed

	local     []string                    // patterns that other servers know nothing of
	elsewhere func(subject, reply string) // has other servers answer what this one asks
}

type subscription struct {
	account, pattern string
	handler          func(system.Request)
	cancelled        bool
}

func (b *fakeBus) Publish(account, subject, reply string, header, payload []byte) {
	b.mu.Lock()
	b.sent = append(b.sent, message{account, subject, header, payload})
	elsewhere := b.elsewhere
	b.mu.Unlock()
	if elsewhere != nil && reply != "" {
		b.request(account, system.Request{Subject: subject, Reply: reply, Payload: payload})
		elsewhere(subject, reply)
	} else if strings.HasPrefix(subject, "$SYS._INBOX.") {
		b.request(account, system.Request{Subject: subject, Payload: payload})
	}
}

// SubscribeLocal implements system.Bus.
func (b *fakeBus) SubscribeLocal(account, pattern string, handler func(system.Request)) (func(), error) {
	cancel, err := b.Subscribe(account, pattern, handler)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.local = append(b.local, pattern)
	return cancel, err
}

func (b *fakeBus) Subscribe(account, pattern string, handler func(system.Request)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if pattern == b.fail {
		return nil, errors.New("no room")
	}
	sub := &subscription{account: account, pattern: pattern, handler: handler}
	b.subs = append(b.subs, sub)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		sub.cancelled = true
	}, nil
}

// request is a client publishing; it returns how many services took the message.
func (b *fakeBus) request(account string, r system.Request) int {
	b.mu.Lock()
	var takers []*subscription
	for _, s := range b.subs {
		if !s.cancelled && (s.account == account || s.account == system.EveryAccount) && subjects.Match(s.pattern, r.Subject) {
			takers = append(takers, s)
		}
	}
	b.mu.Unlock()
	r.Account = account
	for _, s := range takers {
		s.handler(r)
	}
	return len(takers)
}

// take returns what was published since the last time.
func (b *fakeBus) take() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	sent := b.sent
	b.sent = nil
	return sent
}

// active counts the subscriptions that are not cancelled.
func (b *fakeBus) active() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, s := range b.subs {
		if !s.cancelled {
			n++
		}
	}
	return n
}

// fakeSource is a server of two accounts, A with two connections and B with none.
type fakeSource struct {
	mu       sync.Mutex
	identity monitor.Identity
	accounts []monitor.Account

	jetStream []monitor.JetStreamAccount
	routes    []monitor.Route // to other servers
	remotes   int             // how many of these there are
}

func newSource() *fakeSource {
	return &fakeSource{
		identity: monitor.Identity{
			ID: "NABC", Name: "srv1", Host: "0.0.0.0", Version: "2.15.2", Cluster: "east", Domain: "hub",
			Tags: []string{"az:1", "x"}, Metadata: map[string]string{"k": "v"}, SystemAccount: "SYS",
		},
		accounts: []monitor.Account{
			{Name: "A", NameTag: "team a", Connections: 2, TotalConnections: 2, Subscriptions: 3},
			{Name: "B", NameTag: "B"},
			{Name: "SYS", NameTag: "SYS", Connections: 1, TotalConnections: 1},
		},
	}
}

func (s *fakeSource) Identity() monitor.Identity { return s.identity }

func (s *fakeSource) servers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remotes
}

func (s *fakeSource) Server() monitor.ServerSnapshot {
	return monitor.ServerSnapshot{
		Identity: s.identity, Start: epoch.Add(-time.Hour), ConfigLoadTime: epoch,
		Counters: monitor.Counters{Remotes: s.servers(), Connections: 3, TotalConnections: 4, Subscriptions: 3, InMsgs: 5, OutMsgs: 6},
	}
}

func (s *fakeSource) Connections(open, _ bool) []monitor.Connection {
	if !open {
		return nil
	}
	return []monitor.Connection{
		{CID: 7, Account: "A", User: "ann", Start: epoch},
		{CID: 8, Account: "A", User: "al", Start: epoch},
		{CID: 9, Account: "SYS", User: "sys", Start: epoch},
	}
}

func (s *fakeSource) ConnectionSubscriptions(cid uint64) []monitor.Subscription {
	return slices.DeleteFunc(slices.Collect(s.Subscriptions("")), func(sub monitor.Subscription) bool { return sub.CID != cid })
}

func (s *fakeSource) Importing(string, string) iter.Seq[monitor.Subscription] {
	return func(func(monitor.Subscription) bool) {}
}

func (s *fakeSource) Subscriptions(account string) iter.Seq[monitor.Subscription] {
	return func(yield func(monitor.Subscription) bool) {
		for _, sub := range []monitor.Subscription{
			{Account: "A", Subject: "foo.*", Queue: "q1", SID: "1", CID: 7},
			{Account: "A", Subject: "foo.>", SID: "2", CID: 8},
			{Account: "SYS", Subject: "$SYS.>", SID: "1", CID: 9},
		} {
			if (account == "" || account == sub.Account) && !yield(sub) {
				return
			}
		}
	}
}

func (s *fakeSource) Routes(bool) []monitor.Route {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.routes)
}

func (s *fakeSource) RoutePermissions() (imports, exports *monitor.Rules) { return nil, nil }

func (s *fakeSource) SubscriptionStats(string) monitor.SubscriptionStats {
	return monitor.SubscriptionStats{NumSubscriptions: 3}
}

func (s *fakeSource) Accounts() []monitor.Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.accounts)
}

func (s *fakeSource) Account(name string) (monitor.Account, bool) {
	for _, a := range s.Accounts() {
		if a.Name == name {
			return a, true
		}
	}
	return monitor.Account{}, false
}

func (s *fakeSource) AccountDetail(name string) (monitor.AccountDetail, bool) {
	_, ok := s.Account(name)
	return monitor.AccountDetail{Name: name, Complete: true}, ok
}

func (s *fakeSource) Queues() map[string]monitor.Queue {
	return map[string]monitor.Queue{"idle": {}, "busy": {Pending: 1}}
}

func (s *fakeSource) Health() error { return nil }

// JetStream is on once there are accounts that use it.
func (s *fakeSource) JetStream() (monitor.JetStream, bool) {
	n := len(s.JetStreamAccounts())
	return monitor.JetStream{Streams: n, Stats: monitor.JetStreamStats{Accounts: n}}, n > 0
}

func (s *fakeSource) JetStreamAccounts() []monitor.JetStreamAccount {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.jetStream)
}

func (*fakeSource) Survey() (*survey.Report, error) { return nil, nil }

func (*fakeSource) RaftGroups() []monitor.RaftGroup { return nil }

func (s *fakeSource) JetStreamStreams(account string, _ monitor.StreamQuery) iter.Seq[monitor.StreamDetail] {
	return slices.Values([]monitor.StreamDetail{{Name: "ORDERS-" + account}})
}

// fakeActions remembers what was asked of the server.
type fakeActions struct {
	mu    sync.Mutex
	calls []string
	err   error
	// changes and err are what a reload returns.
	changes []string
	gate    chan struct{} // where not nil, Reload waits for it
}

func (a *fakeActions) note(call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
}

func (a *fakeActions) Reload() ([]string, error) {
	if a.gate != nil {
		<-a.gate
	}
	a.note("reload")
	return a.changes, a.err
}

func (a *fakeActions) Kick(cid uint64) bool {
	a.note("kick")
	return cid == 7
}

func (a *fakeActions) SendLameDuck(cid uint64) bool {
	a.note("ldm")
	return cid == 7
}

func (a *fakeActions) all() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.calls, " ")
}
