package jetstream

// Claims lets tests use claims.
type Claims struct{ claims claims }

func (c *Claims) Add(owner string, patterns []string)    { c.claims.add(owner, patterns) }
func (c *Claims) Remove(owner string, patterns []string) { c.claims.remove(owner, patterns) }
func (c *Claims) Empty() bool                            { return len(c.claims.root.next) == 0 }
func (c *Claims) Overlapping(pattern string, yield func(string) bool) {
	c.claims.overlapping(pattern, yield)
}
