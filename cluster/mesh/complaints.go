package mesh

import (
	"math/bits"
	"sync"
)

// maxComplaints bounds what is remembered of what was complained about.
const maxComplaints = 256

// complaints decides which of many equal log lines are written: the 1st, the 2nd, the 4th, the 8th and so on.
type complaints struct {
	mu    sync.Mutex // guards what follows
	count map[string]uint
}

func newComplaints() *complaints { return &complaints{count: map[string]uint{}} }

// due counts a complaint, and says how many there have been and whether this one should be written.
func (c *complaints) due(text string) (n uint, write bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.count) >= maxComplaints && c.count[text] == 0 {
		clear(c.count)
	}
	c.count[text]++
	n = c.count[text]
	return n, bits.OnesCount(n) == 1
}
