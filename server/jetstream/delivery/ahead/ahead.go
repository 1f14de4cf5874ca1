package ahead

import (
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/jetlog/content"
	"runnel/jetlog/keyed"
)

// Rules say what a consumer gets, and what waits for what. They do not change, and many may share them.
type Rules struct {
	filter *content.Filter   // nil for all
	fails  bool              // what it cannot decide about has failed
	key    *keyed.Expression // nil: nothing waits
	block  bool
	text   string // what they were read of
}

// RulesOf returns the rules that a consumer's configuration asks for; nil if it asks for none: it gets all, in the order of the
// stream. It is nil, too, for a configuration that cannot be followed, which is refused where it is made.
func RulesOf(cfg *config.Consumer) *Rules {
	own, err := cfg.Own()
	if err != nil || own.Filter == nil && own.Key == nil {
		return nil
	}
	r := &Rules{filter: own.Filter, fails: own.FilterFails, key: own.Key, block: own.Blocks}
	for _, key := range [...]string{config.MetadataFilter, config.MetadataFilterFailed, config.MetadataKey, config.MetadataKeyFailed} {
		r.text += cfg.Metadata[key] + "\x00"
	}
	return r
}

// Keyed reports whether messages wait for others of their key. It may be called of nil rules.
func (r *Rules) Keyed() bool { return r != nil && r.key != nil }

// Same reports whether other rules, or none, say the same.
func (r *Rules) Same(other *Rules) bool {
	return r == other || r != nil && other != nil && r.text == other.text
}

// Key returns the key of a message; it is false if that has none.
func (r *Rules) Key(m *jetlog.Message) ([]byte, bool) {
	if !r.Keyed() {
		return nil, false
	}
	return r.key.Key(nil, m.Subject, m.Header, m.Payload)
}

// Ahead is what the leader of a consumer knows of messages that it has looked at.
type Ahead struct {
	rules *Rules
	name  string // of the consumer
	table *keyed.Table
	// held are the messages of the state that are to be put into the table before anything else is chosen. Those of blocking have failed for
	// good, and keep their keys.
	held, blocking []uint64
	// delivered are those of them that could not be taken, since another one of their key was, too: they are in flight as well.
	delivered map[uint64]struct{}
	// passed are those of the state up to upTo that are above offered are not in the table yet.
	offered, upTo uint64
	picked        []uint64 // by the last look
	key           []byte   // room for one
}

// New returns an Ahead for a consumer with rules, nil for none, as it is in the state: with nothing under way. Whatever is above
// what it has had is to be looked at.
func New(r *Rules, c *jetlog.Consumer) *Ahead {
	a := &Ahead{rules: r, name: c.Name(), delivered: make(map[uint64]struct{}), upTo: c.Delivered().Stream}
	block := r != nil && r.block
	a.table = keyed.New(keyed.Config{Block: block})
	if !r.Keyed() {
		return a
	}
	a.held = slices.AppendSeq(a.held, c.Unanswered)
	if block {
		a.blocking = slices.Sorted(slices.Values(c.Exhausted()))
		a.held = append(a.held, a.blocking...)
		slices.Sort(a.held)
	}
	return a
}

// Empty reports whether nothing is known: an Ahead can be made anew at any time.
func (a *Ahead) Empty() bool {
	return len(a.held) == 0 && a.offered >= a.upTo && len(a.picked) == 0 && a.table.Counts().Keys == 0
}

// Rules returns those that it was made for.
func (a *Ahead) Rules() *Rules { return a.rules }

// Waiting reports whether messages wait for others of their key.
func (a *Ahead) Waiting() bool {
	c := a.table.Counts()
	return c.Waiting > c.ByState[keyed.Ready] || c.Overfull > 0
}

// Sent says how many of the messages of the last look were sent, or are about to be. The others are the first of the next look.
func (a *Ahead) Sent(n int) {
	for _, seq := range slices.Backward(a.picked[n:]) {
		a.table.Untake(seq)
	}
	if !a.rules.Keyed() {
		for _, seq := range a.picked[:n] {
			a.table.Done(seq)
		}
	}
	a.picked = a.picked[:0]
}

// HasTurn reports whether a message that was delivered before may be delivered again. It may not while another one of its key
// was delivered, too; nor before all that was is known.
func (a *Ahead) HasTurn(seq uint64) bool {
	if !a.rules.Keyed() {
		return true
	}
	state, known := a.table.State(seq)
	return len(a.held) == 0 && known && state == keyed.InFlight
}

// Done says that a message was acknowledged. It reports whether that lets another one be delivered.
func (a *Ahead) Done(seq uint64) bool {
	return a.table.Done(seq)
}

// Failed says that a message was given up. It reports whether that lets another one be delivered.
func (a *Ahead) Failed(seq uint64) bool { return a.table.Fail(seq) }

// Review compares with the state what was delivered, since messages may go without an answer. It reports whether something can
// be delivered because of that.
func (a *Ahead) Review(c *jetlog.Consumer) bool {
	var done, failed []uint64
	exhausted := c.Exhausted()
	for h := range a.table.Held(a.table.Counts().Keys) {
		seq := h.Sequence
		_, blocks := slices.BinarySearch(exhausted, seq)
		switch {
		case blocks && h.State != keyed.Blocked:
			failed = append(failed, seq)
		case !blocks && c.Deliveries(seq) == 0 && !c.Passed().Has(seq) && seq <= c.Delivered().Stream:
			done = append(done, seq)
		}
	}
	for _, seq := range done {
		a.table.Done(seq)
	}
	for _, seq := range failed {
		a.table.Fail(seq)
	}
	_, ready := a.table.Next()
	return ready || a.table.Counts().ByState[keyed.Unlisted] > 0
}
