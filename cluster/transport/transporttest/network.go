// Package transporttest connects transports in memory, with links that can be cut, delayed and healed, under virtual
// time too.
package transporttest

import (
	"time"

	"runnel/cluster/transport"
)

// Network connects transports, each with each.
type Network struct{}

// New makes a network that nobody has joined yet.
func New() *Network { return &Network{} }

// Join links a transport with all others. A node that had joined before must have left.
func (n *Network) Join(node string, t *transport.Transport) {}

// Leave ends all links of a node, as when its process ends.
func (n *Network) Leave(node string) {}

// Cut breaks the links of two nodes; there are no new ones until Heal.
func (n *Network) Cut(a, b string) {}

// Isolate cuts a node from all others.
func (n *Network) Isolate(node string) {}

// Freeze holds back what from sends to, until Heal; the links stay and neither side is told. Freeze in both directions
// is a network that has gone silent.
func (n *Network) Freeze(from, to string) {}

// Delay makes every byte between two nodes take d, each way.
func (n *Network) Delay(a, b string, d time.Duration) {}

// Heal undoes Cut and Freeze between two nodes.
func (n *Network) Heal(a, b string) {}

// HealAll undoes Cut, Isolate and Freeze everywhere.
func (n *Network) HealAll() {}

// Close ends all links and returns when the network's goroutines have gone.
func (n *Network) Close() {}
