package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Choice decides what a power cut leaves: it picks one of n states, where 0 is what was safe and n-1
// is what every reader saw. Those in between are older or torn states.
type Choice func(n int) int

// Lose is the power cut that takes everything that was not safe.
func Lose(int) int { return 0 }

// Keep is the power cut that finds everything written back.
func Keep(n int) int { return n - 1 }

// Random returns a power cut that takes and leaves by chance. How much it takes, and how much of it in
// half, differs from seed to seed; the same seed does the same to the same file system.
func Random(seed uint64) Choice {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	lose, keep := r.Float64(), r.Float64()
	if lose+keep > 1 {
		lose, keep = 1-lose, 1-keep
	}
	return func(n int) int {
		switch x := r.Float64(); {
		case x < lose:
			return 0
		case x < lose+keep:
			return n - 1
		default:
			return r.IntN(n)
		}
	}
}

// PowerCut returns the file system as it may be found after the power went now. Each page of a file,
// each file's size and each change of names that was not synced is there, not there or in an older
// state, as choose picks. A page may also be torn: at any byte, or some of its sectors old and some new.
// Whatever is found is safe. The original goes on as if nothing had happened; its handles stay with it.
func (m *Memory) PowerCut(choose Choice) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &cut{choose: choose, done: map[*change]bool{}, nodes: map[*node]*node{}}
	return &Memory{root: c.node(m.root), locks: map[*node]bool{}}
}

// cut makes the copy that PowerCut returns.
type cut struct {
	choose Choice
	done   map[*change]bool // whether a change of names survives, once that is decided
	nodes  map[*node]*node  // the copy of each node: after half a rename a node has two names
}

func (c *cut) node(n *node) *node {
	if found := c.nodes[n]; found != nil {
		return found
	}
	if !n.dir {
		found := &node{content: c.content(&n.content)}
		c.nodes[n] = found
		return found
	}
	found := newDir()
	c.nodes[n] = found
	names := maps.Clone(n.safe)
	for _, p := range n.pending {
		if _, known := c.done[p.of]; !known {
			c.done[p.of] = c.choose(2) == 1
		}
		switch {
		case !c.done[p.of]:
		case p.node == nil:
			delete(names, p.name)
		default:
			names[p.name] = p.node
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		found.names[name] = c.node(names[name])
	}
	found.safe = maps.Clone(found.names)
	return found
}

func (c *cut) content(of *content) content {
	found := content{sizes: []int64{pick(c.choose, of.sizes)}, pages: make([]page, len(of.pages))}
	for i := range of.pages {
		if data := c.page(of.pages[i].versions); data != nil {
			found.pages[i].versions = []pageData{data}
		}
	}
	found.cutTail()
	return found
}

// cutTail makes what lies behind the end of the file zeros, as it is in a file that was never longer.
func (c *content) cutTail() {
	size := c.size()
	whole := int(min((size+pageBytes-1)/pageBytes, int64(len(c.pages))))
	c.pages = c.pages[:whole]
	if at := int(size % pageBytes); at > 0 && whole > 0 && int64(whole) == size/pageBytes+1 {
		if data := c.pages[whole-1].last(); data != nil {
			cut := *data
			clear(cut[at:])
			c.pages[whole-1].versions = []pageData{&cut}
		}
	}
}

func pick[T any](choose Choice, from []T) T {
	if len(from) == 1 {
		return from[0]
	}
	return from[choose(len(from))]
}

// page picks a version of a page, and whether all of it had been written back.
func (c *cut) page(versions []pageData) pageData {
	switch len(versions) {
	case 0:
		return nil
	case 1:
		return versions[0]
	}
	at := c.choose(len(versions))
	if at == 0 {
		return versions[0]
	}
	before, after := valueOf(versions[at-1]), valueOf(versions[at])
	if before == after {
		return versions[at]
	}
	if c.choose(2) == 0 {
		return c.sectors(before, after)
	}
	first, last := differing(&before, &after)
	torn := before
	copy(torn[:], after[:first+c.choose(last-first+2)])
	return &torn
}

// sectors takes each sector that differs from the one or the other.
func (c *cut) sectors(before, after [pageBytes]byte) pageData {
	for i := 0; i < pageBytes; i += sectorBytes {
		old, now := before[i:i+sectorBytes], after[i:i+sectorBytes]
		if !slices.Equal(old, now) && c.choose(2) == 1 {
			copy(old, now)
		}
	}
	return &before
}

func valueOf(p pageData) [pageBytes]byte {
	if p == nil {
		return [pageBytes]byte{}
	}
	return *p
}

// differing returns the first and the last byte in which two pages differ.
func differing(a, b *[pageBytes]byte) (first, last int) {
	for a[first] == b[first] {
		first++
	}
	for last = pageBytes - 1; a[last] == b[last]; {
		last--
	}
	return first, last
}

// Kill returns the file system as the next process finds it when this one ends now and the power stays
// on: all that was written is there, and no safer than before. The original goes on as if nothing had
// happened; its handles stay with it.
func (m *Memory) Kill() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	nodes := map[*node]*node{}
	return &Memory{root: m.root.copy(nodes), locks: map[*node]bool{}}
}

// copy returns a copy of a node and of all that it refers to; nodes has those that were made already.
func (n *node) copy(nodes map[*node]*node) *node {
	if n == nil || nodes[n] != nil {
		return nodes[n]
	}
	found := &node{dir: n.dir, content: n.content.copy()}
	nodes[n] = found
	if !n.dir {
		return found
	}
	names := func(of map[string]*node) map[string]*node {
		copied := make(map[string]*node, len(of))
		for name, n := range of {
			copied[name] = n.copy(nodes)
		}
		return copied
	}
	found.names, found.safe = names(n.names), names(n.safe)
	for _, p := range n.pending {
		found.pending = append(found.pending, naming{of: p.of, name: p.name, node: p.node.copy(nodes)})
	}
	return found
}

func (c *content) copy() content {
	pages := slices.Clone(c.pages)
	for i := range pages {
		pages[i].versions = slices.Clone(pages[i].versions)
	}
	return content{pages: pages, dirty: slices.Clone(c.dirty), sizes: slices.Clone(c.sizes), sizeDirty: c.sizeDirty}
}
