package group_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"runnel/cluster/group"
)

// checker watches from outside that a group keeps its promises.
type checker struct {
	t     *testing.T
	disks func() map[string]*disk // of the voters

	mu       sync.Mutex
	leaders  map[uint64]string // by term
	hashes   map[uint64]uint64 // by index
	sequence map[uint64]int    // of acked proposals
	refused  map[uint64]bool   // will never be applied
	unknown  map[uint64]bool
	failures []string
}

func newChecker(t *testing.T) *checker {
	return &checker{
		t: t, leaders: map[uint64]string{}, hashes: map[uint64]uint64{},
		sequence: map[uint64]int{}, refused: map[uint64]bool{}, unknown: map[uint64]bool{},
	}
}

func (c *checker) errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(format, args...)
}

// fail is errorf with mu held. What went wrong is told once at the end, as tests may not be failed by late goroutines.
func (c *checker) fail(format string, args ...any) {
	if len(c.failures) < 20 {
		c.failures = append(c.failures, fmt.Sprintf(format, args...))
	}
}

// lead notes who leads in a term.
func (c *checker) lead(term uint64, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.leaders[term]; ok {
		c.fail("term %d is led by %s and was by %s", term, node, old)
	}
	c.leaders[term] = node
}

// at notes the state of a machine at an index.
func (c *checker) at(node string, index, hash uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.hashes[index]; ok && old != hash {
		c.fail("%s: state at %d is %x, elsewhere it was %x", node, index, hash, old)
	}
	c.hashes[index] = hash
}

// acked is called before a proposal is acked: its entry must survive the loss of any minority.
func (c *checker) acked(index, term uint64) {
	if c.disks == nil {
		return
	}
	disks, n := c.disks(), 0
	for _, d := range disks {
		if d.has(index, term) {
			n++
		}
	}
	if n <= len(disks)/2 {
		c.errorf("entry %d of term %d is acked, and safe on %d of %d", index, term, n, len(disks))
	}
}

// answered notes what became of a proposal.
func (c *checker) answered(id uint64, sequence int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.sequence[id] = sequence
	case errors.Is(err, group.ErrNotLeader), errors.Is(err, group.ErrClosed):
		c.refused[id] = true
	case errors.Is(err, group.ErrLeadershipLost):
		c.unknown[id] = true
	default:
		c.fail("proposal %d failed with %v", id, err)
	}
}

// verify compares what was answered with what came of it.
func (c *checker) verify(ids []uint64) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[uint64]bool{}
	for i, id := range ids {
		if seen[id] {
			c.fail("proposal %d is there twice", id)
		}
		seen[id] = true
		if c.refused[id] {
			c.fail("proposal %d was refused, and is there", id)
		}
		if s, ok := c.sequence[id]; ok && s != i+1 {
			c.fail("proposal %d was acked as %d, and is %d", id, s, i+1)
		}
	}
	for id, s := range c.sequence {
		if !seen[id] {
			c.fail("proposal %d was acked as %d, and is lost", id, s)
		}
	}
	c.report()
}

// report tells what went wrong.
func (c *checker) report() {
	c.t.Helper()
	for _, f := range c.failures {
		c.t.Error(f)
	}
	c.failures = nil
}
