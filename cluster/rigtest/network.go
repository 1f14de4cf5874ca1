package rigtest

import "time"

// numbers are those of two servers in the network between them.
func (c *Cluster) numbers(a, b *Node) (i, j int) {
	return c.number(a), c.number(b)
}

// number is that of a server in the network.
func (c *Cluster) number(n *Node) int {
	c.t.Helper()
	i := c.servers.Number(n.server)
	if i < 0 {
		c.t.Fatalf("%s is not of this cluster", n.Name)
	}
	return i
}

// CutFrom stops what one server sends to another. The other direction works, for connections that there are.
func (c *Cluster) CutFrom(a, b *Node) { c.servers.Mesh().CutFrom(c.numbers(a, b)) }

// Cut stops all between two servers, without a word to either.
func (c *Cluster) Cut(a, b *Node) { c.servers.Mesh().Cut(c.numbers(a, b)) }

// Isolate cuts one server from all others.
func (c *Cluster) Isolate(n *Node) { c.Part(n) }

// Part cuts some servers from all others. They reach one another, and so do the others.
func (c *Cluster) Part(nodes ...*Node) {
	var group []int
	for _, n := range nodes {
		group = append(group, c.number(n))
	}
	c.servers.Mesh().Part(group...)
}

// Delay slows down all between two servers, in each direction.
func (c *Cluster) Delay(a, b *Node, d time.Duration) {
	i, j := c.numbers(a, b)
	c.servers.Mesh().Delay(i, j, d)
}

// Reset breaks the connections between two servers, which may connect again at once.
func (c *Cluster) Reset(a, b *Node) { c.servers.Mesh().Reset(c.numbers(a, b)) }

// ResetAll breaks the connections between one server and all others.
func (c *Cluster) ResetAll(n *Node) {
	for _, other := range c.Others(n) {
		c.Reset(n, other)
	}
}

// Heal undoes what was done to the network.
func (c *Cluster) Heal() {
	if m := c.servers.Mesh(); m != nil {
		m.Heal()
	}
}
