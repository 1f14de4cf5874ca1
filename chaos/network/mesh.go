package network

import (
	"slices"
	"sync"
	"time"
)

// A Target is where a server really listens, as host:port.
type Target struct {
	Cluster string // for other servers
	Client  string // for clients; empty: there is no proxy for them
}

// A Mesh is the network between servers, which are known by their numbers from 0 on, and to their clients. All its methods may
// be called by several goroutines. A number that no server has is a mistake of the caller's, and panics.
type Mesh struct {
	mu      sync.Mutex // guards what follows
	targets []Target
	pairs   [][]*Proxy // [i][j]: where server i dials server j; nil for itself
	clients []*Proxy   // [i]: where clients dial server i; nil when they have no proxy
}

// NewMesh makes the proxies for some servers. It must be closed.
func NewMesh(targets ...Target) (*Mesh, error) {
	m := new(Mesh)
	for _, t := range targets {
		if _, err := m.Add(t); err != nil {
			m.Close()
			return nil, err
		}
	}
	return m, nil
}

// Add makes the proxies for one more server, and returns its number. What the network suffers from at the moment it does not
// suffer from at the new server.
func (m *Mesh) Add(t Target) (number int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var made []*Proxy
	proxy := func(target string) *Proxy {
		if err != nil {
			return nil
		}
		var p *Proxy
		if p, err = NewProxy(target); err == nil {
			made = append(made, p)
		}
		return p
	}
	var own, others []*Proxy
	for _, other := range m.targets {
		own = append(own, proxy(other.Cluster))
		others = append(others, proxy(t.Cluster))
	}
	var clients *Proxy
	if t.Client != "" {
		clients = proxy(t.Client)
	}
	if err != nil {
		for _, p := range made {
			p.Close()
		}
		return -1, err
	}
	for i := range m.pairs {
		m.pairs[i] = append(m.pairs[i], others[i])
	}
	m.targets, m.clients = append(m.targets, t), append(m.clients, clients)
	m.pairs = append(m.pairs, append(own, nil))
	return len(m.targets) - 1, nil
}

// Retarget has another server take the place of one: all that dialled the old one now dials it. What the network suffers from at
// that place goes on.
func (m *Mesh) Retarget(i int, t Target) {
	for _, p := range m.to(i, t) {
		p.Retarget(t.Cluster)
	}
	if p := m.Clients(i); p != nil {
		p.Retarget(t.Client)
	}
}

// to notes that a server listens elsewhere, and returns the proxies of the others to it.
func (m *Mesh) to(i int, t Target) []*Proxy {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.targets[i] = t
	var all []*Proxy
	for j, row := range m.pairs {
		if j != i {
			all = append(all, row[i])
		}
	}
	return all
}

// Len is how many servers there are.
func (m *Mesh) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.targets)
}

// Between is the proxy by which server i dials server j; nil for i = j.
func (m *Mesh) Between(i, j int) *Proxy {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pairs[i][j]
}

// Clients is the proxy of the clients of a server; nil when they have none.
func (m *Mesh) Clients(i int) *Proxy {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clients[i]
}

// Addr is where server i dials server j, another one, as host:port.
func (m *Mesh) Addr(i, j int) string { return m.Between(i, j).Addr() }

// ClientAddr is where clients dial a server, as host:port; empty when they have no proxy.
func (m *Mesh) ClientAddr(i int) string {
	if p := m.Clients(i); p != nil {
		return p.Addr()
	}
	return ""
}

// CutFrom stops what server i sends to server j. The other direction works, for connections that there are.
func (m *Mesh) CutFrom(i, j int) {
	m.Between(i, j).Hold(Forward)
	m.Between(j, i).Hold(Backward)
}

// Cut stops all between two servers, without a word to either.
func (m *Mesh) Cut(i, j int) {
	m.CutFrom(i, j)
	m.CutFrom(j, i)
}

// Part cuts some servers from all others. They reach one another, and so do the others. Clients reach all.
func (m *Mesh) Part(group ...int) {
	m.part(-1, group)
}

// Bridge cuts a group of servers from all others but one, which reaches all of them, and by which nobody else gets anywhere. The
// bridge belongs to neither side, and is ignored in the group.
func (m *Mesh) Bridge(bridge int, group ...int) {
	m.part(bridge, group)
}

// part cuts a group from the others, but for a server that is cut from nobody.
func (m *Mesh) part(bridge int, group []int) {
	for _, i := range group {
		for j := range m.Len() {
			if i != bridge && j != bridge && !slices.Contains(group, j) {
				m.Cut(i, j)
			}
		}
	}
}

// CutClients stops all between a server and its clients that use its proxy.
func (m *Mesh) CutClients(i int) {
	p := m.Clients(i)
	p.Hold(Forward)
	p.Hold(Backward)
}

// Delay slows down all between two servers, in each direction. Zero ends it.
func (m *Mesh) Delay(i, j int, d time.Duration) {
	m.Between(i, j).Delay(d)
	m.Between(j, i).Delay(d)
}

// Throttle lets so many bytes a second through between two servers, in each direction of what either of them has dialled. Zero
// ends it.
func (m *Mesh) Throttle(i, j, bytesPerSecond int) {
	m.Between(i, j).Throttle(bytesPerSecond)
	m.Between(j, i).Throttle(bytesPerSecond)
}

// Reset breaks the connections between two servers, which may connect again at once.
func (m *Mesh) Reset(i, j int) {
	m.Between(i, j).Reset()
	m.Between(j, i).Reset()
}

// Heal undoes what was done to the network, but for connections that are broken.
func (m *Mesh) Heal() {
	for _, p := range m.all() {
		p.Heal()
	}
}

// Close ends all proxies. It may be called twice.
func (m *Mesh) Close() {
	for _, p := range m.all() {
		p.Close()
	}
}

// all are the proxies between servers and to clients.
func (m *Mesh) all() []*Proxy {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Concat(append(slices.Clone(m.pairs), m.clients)...)
	return slices.DeleteFunc(all, func(p *Proxy) bool { return p == nil })
}
