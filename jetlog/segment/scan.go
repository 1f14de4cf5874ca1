package segment

// Scan calls visit with messages of one block, which it decodes once: the block that the first message of
// at least from is in. It visits those from there on whose subject selects admits, in order, until
// visit returns false; nil admits all. It returns the first sequence that was not looked at, 0 if nothing of
// the stream is left. A message is valid during the call, its slices stay so; they keep their block in
// memory, and must not be changed.
//
// Bodies are read only when there is a message to visit.
func (s *Segment) Scan(stream, from uint64, selects func(subject string) bool, visit func(*Message) bool) (next uint64, err error) {
	e := s.extent(stream)
	if e == nil || from > e.Last {
		return 0, nil
	}
	k := &e.blocks[e.blockAt(from)]
	b, err := s.heads(e, k)
	if err != nil {
		return 0, err
	}
	scan := scan{segment: s, extent: e, key: k, names: string(b.names), selects: selects}
	scan.block = &b
	for more := scan.seek(from); more; more = scan.next() {
		if !scan.selected() {
			continue
		}
		m, err := scan.load()
		if err != nil {
			return 0, err
		}
		if !visit(m) {
			return scan.sequence + 1, nil
		}
	}
	if scan.bad || scan.sequence != k.last {
		return 0, s.malformed(e, k)
	}
	return k.last + 1, nil
}

// scan is a walk through a block.
type scan struct {
	walker
	segment *Segment
	extent  *extent
	key     *blockKey
	names   string // one allocation for all subjects
	selects func(string) bool

	judged  bool   // subject and verdict are set
	subject string // of the entry judged last
	number  uint32 // of this subject
	verdict bool

	loaded  bool // bodies are read
	bodies  []byte
	message Message
}

// selected reports whether the entry is to be visited. The verdict on the subject before is kept.
func (c *scan) selected() bool {
	if !c.judged || c.number != c.base.subject {
		c.number, c.judged = c.base.subject, true
		c.subject = c.subjectIn(c.names, uint64(c.number))
		c.verdict = c.selects == nil || c.selects(c.subject)
	}
	return c.verdict
}

// load returns the message of the entry, valid until the next call.
func (c *scan) load() (*Message, error) {
	var err error
	if !c.loaded {
		about := c.extent.concernOf(c.key)
		if c.bodies, err = c.segment.cached(c.key.bodiesAt(), kindBodies, about); err != nil {
			return nil, err
		}
		c.loaded = true
	}
	if c.message, err = c.walker.message(c.subject, c.bodies); err != nil {
		return nil, c.segment.damaged(c.key.offset, c.extent.concernOf(c.key), err)
	}
	return &c.message, nil
}
