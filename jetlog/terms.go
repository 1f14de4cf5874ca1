package jetlog

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"runnel/headers"
	"runnel/jetlog/config"
)

// terms are what the headers of a message ask of the stream. Names of headers are matched exactly.
// Slices are parts of the header block.
type terms struct {
	id                  []byte
	stream              []byte
	last, lastOnSubject expectation
	onSubject           []byte
	lastID              []byte
	rollup              []byte
	ttl                 []byte
	increment           bool
	by                  []byte
	schedule            bool
	scheduler, next     []byte // nil when there is no such header
	hasSource           bool
	source              []byte
}

// expectation is a sequence that somebody expects. One that is no number is expected in vain.
type expectation struct {
	set   bool
	valid bool
	seq   uint64
}

func expect(value []byte) expectation {
	if len(value) == 0 {
		return expectation{}
	}
	seq, err := strconv.ParseUint(string(value), 10, 64)
	return expectation{set: true, valid: err == nil, seq: seq}
}

// met reports whether the sequence is what was expected, if anything was.
func (e expectation) met(seq uint64) bool { return !e.set || e.valid && e.seq == seq }

// prefix is how the names of all headers begin that a stream takes notice of.
const prefix = "Nats-"

// lastIDHeader is named in a refusal.
const lastIDHeader = "Nats-Expected-Last-Msg-Id"

// readTerms reads the headers of a message. Of a header that occurs twice the first counts.
func readTerms(block []byte) terms {
	var t terms
	if len(block) == 0 || !bytes.Contains(block, []byte(prefix)) {
		return t
	}
	seen := 0
	for name, value := range headers.All(block) {
		rest, ok := bytes.CutPrefix(name, []byte(prefix))
		if !ok {
			continue
		}
		bit := t.field(string(rest))
		if bit == 0 || seen&bit != 0 {
			continue
		}
		seen |= bit
		t.set(bit, value)
	}
	return t
}

// The headers, as bits.
const (
	hasID = 1 << iota
	hasStream
	hasLast
	hasLastOnSubject
	hasOnSubject
	hasLastID
	hasRollup
	hasTTL
	hasIncrement
	hasSchedule
	hasScheduler
	hasNext
	hasSource
)

// field returns the bit of a header by what follows the prefix, 0 for others.
func (*terms) field(name string) int {
	switch name {
	case "Msg-Id":
		return hasID
	case "Expected-Stream":
		return hasStream
	case "Expected-Last-Sequence":
		return hasLast
	case "Expected-Last-Subject-Sequence":
		return hasLastOnSubject
	case "Expected-Last-Subject-Sequence-Subject":
		return hasOnSubject
	case "Expected-Last-Msg-Id":
		return hasLastID
	case "Rollup":
		return hasRollup
	case "TTL":
		return hasTTL
	case "Incr":
		return hasIncrement
	case "Schedule":
		return hasSchedule
	case "Scheduler":
		return hasScheduler
	case "Schedule-Next":
		return hasNext
	case "Stream-Source":
		return hasSource
	}
	return 0
}

func (t *terms) set(bit int, value []byte) {
	switch bit {
	case hasID:
		t.id = value
	case hasStream:
		t.stream = value
	case hasLast:
		t.last = expect(value)
	case hasLastOnSubject:
		t.lastOnSubject = expect(value)
	case hasOnSubject:
		t.onSubject = value
	case hasLastID:
		t.lastID = value
	case hasRollup:
		t.rollup = value
	case hasTTL:
		t.ttl = value
	case hasIncrement:
		t.increment, t.by = true, value
	case hasSchedule:
		t.schedule = len(value) > 0
	case hasScheduler:
		t.scheduler = append([]byte{}, value...)
	case hasNext:
		t.next = append([]byte{}, value...)
	case hasSource:
		t.hasSource, t.source = true, value
	}
}

// on returns the subject of the expectation of a message.
func (t *terms) on(subject string) string {
	if len(t.onSubject) > 0 {
		return string(t.onSubject)
	}
	return subject
}

// refusal returns why the headers cannot be followed by a stream of this configuration, whatever is
// in it.
func (t *terms) refusal(cfg *config.Stream, internal bool) (config.Code, string) {
	switch {
	case internal:
	case t.increment && !cfg.AllowCounter:
		return config.CountersDisabled, ""
	case len(t.ttl) > 0 && !cfg.AllowTTL:
		return config.TTLDisabled, ""
	case len(t.onSubject) > 0 && !t.lastOnSubject.set:
		return config.ExpectedSubjectSequence, ""
	}
	return 0, ""
}

// rollupOf returns what a message rolls up.
func (t *terms) rollupOf(cfg *config.Stream) (subject, all bool, refusal string) {
	if len(t.rollup) == 0 {
		return false, false, ""
	}
	if !cfg.AllowRollup || cfg.DenyPurge {
		return false, false, "rollup not permitted"
	}
	switch strings.ToLower(string(t.rollup)) {
	case rollupSubject:
		return true, false, ""
	case "all":
		return false, true, ""
	}
	return false, false, "rollup value invalid: " + strconv.Quote(string(t.rollup))
}

// parseTTL returns the TTL that a header asks for: 0 for none, Never, or a time of at least a
// second.
func parseTTL(value []byte) (time.Duration, bool) {
	if len(value) == 0 {
		return 0, true
	}
	text := string(value)
	if strings.EqualFold(text, "never") {
		return time.Duration(Never), true
	}
	if d, err := time.ParseDuration(text); err == nil {
		return min(d, maxTTL), d >= time.Second
	}
	seconds, err := strconv.ParseUint(text, 10, 63)
	if err != nil || seconds < 1 {
		return 0, false
	}
	return time.Duration(min(seconds, uint64(maxTTL/time.Second))) * time.Second, true
}

// maxTTL is what longer TTLs are cut to: a deadline must fit into the time that is counted in
// nanoseconds.
const maxTTL = 100 * 365 * 24 * time.Hour
