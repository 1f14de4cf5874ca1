package engine

import (
	"math"
	"slices"
	"unsafe"

	"runnel/server/accounts"
	"runnel/server/engine/reserved"
	"runnel/subjects"
)

// entryFlag marks what makes a match entry other than a plain list of targets.
type entryFlag uint8

const (
	// entryDenied: the publisher's profile may not publish to the subject.
	entryDenied entryFlag = 1 << iota
	// entrySpecial: a target needs more than prefix and tail: it takes no headers, may answer what it is
	// sent, or is internal.
	entrySpecial
	// entryVaries (prefix entries only): the result depends on the last token, so that no entry can
	// stand for all subjects of the prefix.
	entryVaries
	// entryDrawn: a mapping draws another subject for each message; the entry has nothing else.
	entryDrawn
	// entryLeaves: messages go on into other accounts one by one: requests to services, and answers.
	entryLeaves
	// entryFar: other servers get messages.
	entryFar
	// entryWitnessed: somebody is shown messages when all others have them.
	entryWitnessed
)

// target is one subscription of a match.
type target struct {
	conn     *Conn     // nil for an internal subscription
	internal *Internal // nil for a connection
	sub      *accounts.Subscription
	// prefix is "HMSG subject sid "; from its second byte on it is "MSG subject sid ". Nil in entries
	// that serve many subjects.
	prefix []byte
}

// subject is what the target is sent messages on; published for one that serves many subjects.
func (t *target) subject(published []byte) []byte {
	if t.prefix == nil {
		return published
	}
	return t.prefix[len("HMSG ") : len(t.prefix)-len(t.sub.SID)-len("  ")]
}

// entry is the cached answer to: who gets a message on subject from a publisher with this profile? It is
// immutable, and holds while stamp is valid, or with a beyond, where it has none, while the stamps there are. So the
// latter costs others nothing. It has 128 bytes, which is two cache lines.
type entry struct {
	hash    uint64
	profile *accounts.Profile
	subject string
	stamp   subjects.Stamp
	bytes   int32 // about what it keeps in memory
	flags   entryFlag
	plain   []target
	queues  [][]target // members of one queue group in one account each
	beyond  *beyond    // nil when nothing but the subscriptions of the account has a part in it
}

// takes notes that e keeps n bytes more in memory.
func (e *entry) takes(n int) { e.bytes = int32(min(int(e.bytes)+n, math.MaxInt32)) }

// valid tells whether the entry holds still.
func (e *entry) valid() bool { return e.stamp.Valid() || e.beyond != nil && e.beyond.valid() }

// ways is how many entries share one bucket of a cache.
const ways = 4

// bucket is the places where entries of one hash may be, newest first. missed has the upper halves of the hashes
// that were last looked for in vain: only a subject that comes a second time gets an entry of its own, since reply
// subjects mostly come once. There are as many as places, so that subjects which come in turn do not displace
// one another for ever.
type bucket struct {
	entries [ways]*entry
	missed  [ways]uint32
}

// again tells whether the subject with hash h was looked for in vain before, and remembers that it was.
func (b *bucket) again(h uint64) bool {
	half := uint32(h >> 32)
	for _, m := range b.missed {
		if m == half {
			return true
		}
	}
	copy(b.missed[1:], b.missed[:ways-1])
	b.missed[0] = half
	return false
}

// dispensable is the place of the entry that the next one takes: the first that no longer holds, or else the oldest.
func (b *bucket) dispensable() int {
	i := 0
	for i < ways-1 && b.entries[i] != nil && b.entries[i].valid() {
		i++
	}
	return i
}

// put makes e the newest, in place of the entry at gone.
func (b *bucket) put(e *entry, gone int) {
	copy(b.entries[1:gone+1], b.entries[:gone])
	b.entries[0] = e
}

// entryBytes is what a cache may keep for each of its places on average: an entry with a few targets is half as
// large.
const entryBytes = 1 << 10

// matchCache is a worker's memory of matches. It is bounded twice: a new entry replaces an old one, and when all
// together have become too large, since their subjects are long or many subscribe, the cache begins anew.
//
// It grows when entries that still hold have had to go as often as there are places, up to most: so a worker that
// serves few subjects stays small.
type matchCache struct {
	exact     []bucket
	prefixes  []*entry
	most      int                                       // places for subjects; no more are made
	displaced int                                       // entries that still held, since it grew last
	bytes     int                                       // sum over the entries
	found     []*subjects.Entry[*accounts.Subscription] // scratch
	ways      map[*accounts.Account]int                 // scratch: in how many ways a message comes into an account
	// routing is the engine's, nil for a server alone.
	routing *routing
	// tooFar is told of messages that do not get everywhere, since too many imports lead them on.
	tooFar func(a *accounts.Account, subject string)
}

// newMatchCache makes a cache for size subjects, a power of two.
func newMatchCache(size int) matchCache {
	return matchCache{
		exact: make([]bucket, size/ways), prefixes: make([]*entry, size/8), most: size,
		ways: make(map[*accounts.Account]int), tooFar: func(*accounts.Account, string) {},
	}
}

// admit makes room for e, which is to take the place of old.
func (m *matchCache) admit(e, old *entry) {
	m.bytes += int(e.bytes)
	if old != nil {
		m.bytes -= int(old.bytes)
		if old.valid() {
			m.displaced++
		}
	}
	if m.bytes > ways*len(m.exact)*entryBytes {
		clear(m.exact)
		clear(m.prefixes)
		m.bytes = int(e.bytes)
	}
}

// grow doubles the places, if it is time for that, and keeps the entries.
func (m *matchCache) grow() {
	if m.displaced < ways*len(m.exact) || ways*len(m.exact) >= m.most {
		return
	}
	old := *m
	m.exact, m.prefixes, m.displaced = make([]bucket, 2*len(old.exact)), make([]*entry, 2*len(old.prefixes)), 0
	for i := range old.exact {
		for _, e := range slices.Backward(old.exact[i].entries[:]) {
			if e != nil {
				m.bucket(e.hash).put(e, ways-1)
			}
		}
	}
	for _, e := range old.prefixes {
		if e != nil {
			*m.prefix(e.hash) = e
		}
	}
}

// bucket is where entries with hash h may be.
func (m *matchCache) bucket(h uint64) *bucket { return &m.exact[h&uint64(len(m.exact)-1)] }

// prefix is where the entry of a prefix with hash h may be.
func (m *matchCache) prefix(h uint64) **entry { return &m.prefixes[h&uint64(len(m.prefixes)-1)] }

// hash mixes the profile in by its address, which the collector never moves.
func hash(p *accounts.Profile, subject []byte) uint64 {
	return subjects.Hash(subject) ^ uint64(uintptr(unsafe.Pointer(p)))>>4
}

// origin is where a message comes from, as far as entries differ by it. It is mixed into their hashes, so that entries of
// all origins may be in the cache: a hash differs whenever the origin does.
type origin uint64

const (
	// fromClient: mappings apply.
	fromClient origin = 0
	// fromElsewhere: none does. It is the server's own, comes from another account, or was mapped already.
	fromElsewhere origin = 0x9e3779b97f4a7c15
	// fromService: a request of another account, which goes to the service alone: not to those who import streams of
	// its account, and no mapping applies.
	fromService origin = 0xc2b2ae3d27d4eb4f
)

// lookup returns the entry for a message on subject for the permissions of profile p.
func (m *matchCache) lookup(p *accounts.Profile, subject []byte, from origin) *entry {
	h := hash(p, subject) ^ uint64(from)
	b := m.bucket(h)
	for _, e := range b.entries {
		// The end is valid, written out: the compiler does not inline it.
		if e != nil && e.hash == h && e.profile == p && e.subject == string(subject) &&
			(e.stamp.Valid() || e.beyond != nil && e.beyond.valid()) {
			return e
		}
	}
	if !b.again(h) {
		if e := m.lookupPrefix(p, subject); e != nil {
			return e
		}
	}
	e := m.fill(p, subject, h, from)
	gone := b.dispensable()
	m.admit(e, b.entries[gone])
	b.put(e, gone)
	m.grow()
	return e
}

// lookupPrefix serves subjects that differ in their last tokens only, as reply subjects do, with one entry.
// It returns nil when the subject needs an entry of its own.
func (m *matchCache) lookupPrefix(p *accounts.Profile, subject []byte) *entry {
	prefix, below := reserved.Series(subject)
	if len(prefix) == 0 {
		return nil
	}
	h := hash(p, prefix)
	s := m.prefix(h)
	e := *s
	if e == nil || e.hash != h || e.profile != p || e.subject != string(prefix) || !e.stamp.Valid() {
		e = m.fillPrefix(p, prefix, below, h)
		m.admit(e, *s)
		*s = e
		m.grow()
	}
	if e.flags&entryVaries != 0 || p.Account().Interest().HasLiteral(subject) {
		return nil
	}
	return e
}

// newEntry takes the stamp; what is matched afterwards holds as long as it is valid.
func newEntry(p *accounts.Profile, subject []byte, h uint64) *entry {
	return &entry{
		hash: h, profile: p, subject: string(subject), stamp: p.Account().Interest().Stamp(subject),
		bytes: int32(int(unsafe.Sizeof(entry{})) + len(subject)),
	}
}

func (m *matchCache) fillPrefix(p *accounts.Profile, prefix []byte, below bool, h uint64) *entry {
	interest := p.Account().Interest()
	e := newEntry(p, prefix, h)
	canPublish, match := p.CanPublishPrefix, interest.MatchPrefix
	if below {
		canPublish, match = p.CanPublishBelow, interest.MatchBelow
	}
	allowed, uniform := canPublish(e.subject)
	if !allowed {
		e.flags |= entryDenied
	}
	if x := p.Account().Crossings(); x != nil && x.Concerns(e.subject) {
		uniform = false
	}
	if m.routing.witness(p.Account(), e.subject+"any") != nil {
		uniform = false
	}
	var same bool
	m.found, same = match(prefix, m.found[:0])
	if !uniform || !same || reserved.Publish(prefix) {
		e.flags |= entryVaries
		return e
	}
	kept := m.found[:0]
	for _, f := range m.found {
		if r, _ := remoteOf(f.Value); r != nil && m.routing.exports != nil {
			e.flags |= entryVaries
			return e
		}
		receives, uniform := receivesPrefix(f.Value, e.subject, below)
		if !uniform {
			e.flags |= entryVaries
			return e
		}
		if receives {
			kept = append(kept, f)
		}
	}
	e.resolve(kept, "")
	e.pair("", fromElsewhere)
	if reserved.Reply(prefix) {
		e.flags |= entryLeaves
	}
	return e
}

// receivesPrefix tells whether the owner of sub may receive what it subscribed to, for all subjects of prefix
// alike.
func receivesPrefix(sub *accounts.Subscription, prefix string, below bool) (receives, uniform bool) {
	if c, ok := sub.Owner.(*Conn); ok {
		if p := c.profile.Load(); p != nil && p.FiltersDelivery() {
			if below {
				return p.CanReceiveBelow(prefix, sub.Queue)
			}
			return p.CanReceivePrefix(prefix, sub.Queue)
		}
	}
	return true, true
}

// receives tells likewise for one subject.
func receives(sub *accounts.Subscription, subject string) bool {
	if c, ok := sub.Owner.(*Conn); ok {
		if p := c.profile.Load(); p != nil && p.FiltersDelivery() {
			return p.CanReceive(subject, sub.Queue)
		}
	}
	return true
}

func (m *matchCache) fill(p *accounts.Profile, subject []byte, h uint64, from origin) *entry {
	e := newEntry(p, subject, h)
	to, x := e.subject, p.Account().Crossings()
	if x != nil && from == fromClient {
		to = e.applyMapping(x)
		subject = []byte(to)
	}
	if e.flags&entryDrawn != 0 {
		return e
	}
	if !p.CanPublish(to) || from == fromClient && reserved.Publish(subject) && p.Account().Name() != accounts.SystemName {
		e.flags |= entryDenied
	}
	m.found = p.Account().Interest().Match(subject, m.found[:0])
	if m.routing != nil && !m.routing.mayLeave(subject) {
		m.found = slices.DeleteFunc(m.found, isRemote)
	}
	e.resolve(m.found, to)
	if x != nil {
		e.enter(x, p.Account(), to)
		if from != fromService {
			m.cross(e, p.Account(), to, 0)
			clear(m.ways)
		}
	}
	if reserved.Reply(subject) {
		e.flags |= entryLeaves
	}
	e.pair(to, from)
	m.routing.watch(e, p.Account(), to)
	return e
}

// resolve turns the subscriptions found in one account into targets. subject is what they are sent the messages on;
// empty for a prefix entry.
func (e *entry) resolve(found []*subjects.Entry[*accounts.Subscription], subject string) {
	size := 0
	for _, f := range found {
		size += len("HMSG   ") + len(subject) + len(f.Value.SID)
	}
	var prefixes []byte
	if subject != "" {
		prefixes = make([]byte, 0, size)
	}
	e.takes(cap(prefixes) + len(found)*int(unsafe.Sizeof(target{})))
	groups := map[string]int(nil)
	for _, f := range found {
		if r, weight := remoteOf(f.Value); r != nil {
			e.far().add(r, f.Value, weight)
			continue
		}
		if subject != "" && !receives(f.Value, subject) {
			continue
		}
		t := target{sub: f.Value}
		special := false
		switch owner := f.Value.Owner.(type) {
		case *Conn:
			t.conn = owner
			special = !owner.has(flagHeaders) || owner.replies.Load() != nil
		case *Internal:
			t.internal = owner
			special = true
		}
		if special {
			e.flags |= entrySpecial
		}
		if subject != "" {
			from := len(prefixes)
			prefixes = append(append(append(prefixes, "HMSG "...), subject...), ' ')
			prefixes = append(append(prefixes, f.Value.SID...), ' ')
			t.prefix = prefixes[from:len(prefixes):len(prefixes)]
		}
		if f.Queue == "" {
			e.plain = append(e.plain, t)
			continue
		}
		i, ok := groups[f.Queue]
		if !ok {
			if groups == nil {
				groups = make(map[string]int)
			}
			i = len(e.queues)
			groups[f.Queue] = i
			e.queues = append(e.queues, nil)
		}
		e.queues[i] = append(e.queues[i], t)
	}
}

// crowded tells whether more than the soft limit waits for the target.
func (t *target) crowded() bool { return t.conn != nil && t.conn.line.Crowded() }

// await has w woken when a target of e that is crowded has drained, of a queue group one of them. It tells
// whether there is one whose drain must be waited for; queue is as in [Publisher.Deliver].
func (e *entry) await(queue string, w interface{ Wake() }) bool {
	if queue == "" {
		for i := range e.plain {
			if t := &e.plain[i]; t.crowded() && t.await(w) {
				return true
			}
		}
	}
	near := false
	for _, group := range e.queues {
		if queue != "" && group[0].sub.Queue != queue {
			continue
		}
		near = true
		if awaitGroup(group, w) {
			return true
		}
	}
	return e.flags&entryFar != 0 && (queue == "" || !near) && e.beyond.far.await(queue, w)
}

// awaitGroup waits for any member if none keeps up. Those that are closing do not count.
func awaitGroup(group []target, w interface{ Wake() }) (waits bool) {
	keepsUp := func(t target) bool { return t.conn == nil || !t.conn.isClosing() && !t.conn.line.Crowded() }
	if slices.ContainsFunc(group, keepsUp) {
		return false
	}
	for i := range group {
		if !group[i].conn.isClosing() && group[i].await(w) {
			waits = true
		}
	}
	return waits
}

func (t *target) await(w interface{ Wake() }) bool {
	return t.conn.line.Park(w)
}

// sweep drops what no longer holds, so that closed connections are not kept alive.
func (m *matchCache) sweep() {
	for i := range m.exact {
		for w, e := range m.exact[i].entries {
			if e != nil && !e.valid() {
				m.exact[i].entries[w] = nil
				m.bytes -= int(e.bytes)
			}
		}
	}
	for i, e := range m.prefixes {
		if e != nil && !e.stamp.Valid() {
			m.prefixes[i] = nil
			m.bytes -= int(e.bytes)
		}
	}
	clear(m.found[:cap(m.found)])
}
