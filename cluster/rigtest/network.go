package rigtest

import (
	"iter"
	"slices"
	"time"
)

// between yields all proxies.
func (c *Cluster) between() iter.Seq[*Proxy] {
	return func(yield func(*Proxy) bool) {
		for _, row := range c.proxies {
			for _, p := range row {
				if p != nil && !yield(p) {
					return
				}
			}
		}
	}
}

// index is the place of a server in the cluster.
func (c *Cluster) index(n *Node) int {
	for i, other := range c.Nodes {
		if other == n {
			return i
		}
	}
	c.t.Fatalf("%s is not of this cluster", n.Name)
	return -1
}

// pair is the two proxies between two servers: where a dials b, and where b dials a.
func (c *Cluster) pair(a, b *Node) (dialled, dialling *Proxy) {
	i, j := c.index(a), c.index(b)
	return c.proxies[i][j], c.proxies[j][i]
}

// CutFrom stops what one server sends to another. The other direction works, for connections that there are.
func (c *Cluster) CutFrom(a, b *Node) {
	out, in := c.pair(a, b)
	out.Hold(Forward)
	in.Hold(Backward)
}

// Cut stops all between two servers, without a word to either.
func (c *Cluster) Cut(a, b *Node) {
	c.CutFrom(a, b)
	c.CutFrom(b, a)
}

// Isolate cuts one server from all others.
func (c *Cluster) Isolate(n *Node) { c.Part(n) }

// Part cuts some servers from all others. They reach one another, and so do the others.
func (c *Cluster) Part(nodes ...*Node) {
	for _, n := range nodes {
		for _, other := range c.Nodes {
			if !slices.Contains(nodes, other) {
				c.Cut(n, other)
			}
		}
	}
}

// Delay slows down all between two servers, in each direction.
func (c *Cluster) Delay(a, b *Node, d time.Duration) {
	out, in := c.pair(a, b)
	out.Delay(d)
	in.Delay(d)
}

// Reset breaks the connections between two servers, which may connect again at once.
func (c *Cluster) Reset(a, b *Node) {
	out, in := c.pair(a, b)
	out.Reset()
	in.Reset()
}

// ResetAll breaks the connections between one server and all others.
func (c *Cluster) ResetAll(n *Node) {
	for _, other := range c.Others(n) {
		c.Reset(n, other)
	}
}

// Heal undoes what was done to the network.
func (c *Cluster) Heal() {
	for p := range c.between() {
		p.Heal()
	}
}
