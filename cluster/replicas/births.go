package replicas

import (
	"strings"
	"sync"

	"runnel/cluster/group"
)

// birthsMost bounds what births keeps.
const birthsMost = 256

// births are the places at which groups begin, by their members: a cluster has few different ones, and thousands of groups.
type births struct {
	mu    sync.Mutex // guards known
	known map[string]group.Place
}

// of is the place at which a group of some nodes begins.
func (b *births) of(nodes []string) group.Place {
	key := strings.Join(nodes, " ")
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.known[key]
	if !ok {
		if len(b.known) >= birthsMost || b.known == nil {
			b.known = make(map[string]group.Place)
		}
		p = group.Birth(nodes)
		b.known[key] = p
	}
	return p
}
