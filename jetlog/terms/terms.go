// Package terms reads what the headers of a message ask of the stream that is to store it: a message id, what is
// expected to be there, how long the message lives, a rollup, a counter, a schedule. It knows no stream.
package terms

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"runnel/headers"
	"runnel/jetlog/body"
	"runnel/jetlog/config"
	"runnel/jetlog/producers"
)

// Terms are what the headers of a message ask of the stream. Names of headers are matched exactly.
// Slices are parts of the header block.
type Terms struct {
	// ID is the message id, by which the stream knows one that it has.
	ID []byte
	// Stream is the name of the stream that is expected.
	Stream []byte
	// Last is expected to be the last sequence of the stream, LastOnSubject that of a subject: of OnSubject, or of the
	// message's own when there is none.
	Last, LastOnSubject Expectation
	OnSubject           []byte
	// LastID is expected to be the id of the message stored last.
	LastID []byte
	// Rollup is what the message takes the place of; see RollupOf.
	Rollup []byte
	// TTL is how long the message lives; see ParseTTL.
	TTL []byte
	// Increment is whether By is to be added to a counter.
	Increment bool
	By        []byte
	// Schedule is whether the message is one.
	Schedule bool
	// Scheduler is the schedule that has made the message, Next when it will make another. They are nil when there is
	// no such header.
	Scheduler, Next []byte
	// Producer numbers what it publishes, with Number; see [producers.Table]. It is nil when there is no such header,
	// and Number is 0 when its header is missing, or no number from 1 on.
	Producer []byte
	Number   uint64
	// HasSource is whether Source says which message of another stream this one is a copy of.
	HasSource bool
	Source    []byte

	numbered bool // there is a header with a number
}

// ProducerRefusal returns what is wrong with the headers that say who publishes and with which number, empty for nothing.
func (t *Terms) ProducerRefusal() string {
	switch {
	case t.Producer == nil && !t.numbered:
		return ""
	case len(t.Producer) == 0:
		return "Runnel-Producer-Seq needs a Runnel-Producer"
	case len(t.Producer) > producers.NameMax:
		return "Runnel-Producer is longer than " + strconv.Itoa(producers.NameMax) + " bytes"
	case t.Number == 0:
		return "Runnel-Producer needs a Runnel-Producer-Seq, which is a whole number from 1 on"
	}
	return ""
}

// Expectation is a sequence that somebody expects. One that is no number is expected in vain.
type Expectation struct {
	// Set is whether anything is expected.
	Set   bool
	valid bool
	seq   uint64
}

func expect(value []byte) Expectation {
	if len(value) == 0 {
		return Expectation{}
	}
	seq, err := strconv.ParseUint(string(value), 10, 64)
	return Expectation{Set: true, valid: err == nil, seq: seq}
}

// Met reports whether the sequence is what was expected, if anything was.
func (e Expectation) Met(seq uint64) bool { return !e.Set || e.valid && e.seq == seq }

// Below reports whether what is expected is a sequence before seq.
func (e Expectation) Below(seq uint64) bool { return e.valid && e.seq < seq }

// The names of all headers that a stream takes notice of begin with one of these.
const (
	prefix    = "Nats-"
	ownPrefix = "Runnel-"
)

// RollupSubject is the value of the rollup header that removes what the message's own subject had before it.
const RollupSubject = "sub"

// LastIDHeader is named in a refusal.
const LastIDHeader = "Nats-Expected-Last-Msg-Id"

// Read reads the headers of a message. Of a header that occurs twice the first counts.
func Read(block []byte) Terms {
	var t Terms
	if len(block) == 0 || !bytes.Contains(block, []byte(prefix)) && !bytes.Contains(block, []byte(ownPrefix)) {
		return t
	}
	seen := 0
	for name, value := range headers.All(block) {
		bit := 0
		if rest, ok := bytes.CutPrefix(name, []byte(prefix)); ok {
			bit = t.field(string(rest))
		} else if rest, ok := bytes.CutPrefix(name, []byte(ownPrefix)); ok {
			bit = t.ownField(string(rest))
		}
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
	hasProducer
	hasNumber
)

// field returns the bit of a header by what follows the prefix, 0 for others.
func (*Terms) field(name string) int {
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

// ownField is field for what follows ownPrefix.
func (*Terms) ownField(name string) int {
	switch name {
	case "Producer":
		return hasProducer
	case "Producer-Seq":
		return hasNumber
	}
	return 0
}

func (t *Terms) set(bit int, value []byte) {
	switch bit {
	case hasID:
		t.ID = value
	case hasStream:
		t.Stream = value
	case hasLast:
		t.Last = expect(value)
	case hasLastOnSubject:
		t.LastOnSubject = expect(value)
	case hasOnSubject:
		t.OnSubject = value
	case hasLastID:
		t.LastID = value
	case hasRollup:
		t.Rollup = value
	case hasTTL:
		t.TTL = value
	case hasIncrement:
		t.Increment, t.By = true, value
	case hasSchedule:
		t.Schedule = len(value) > 0
	case hasScheduler:
		t.Scheduler = append([]byte{}, value...)
	case hasNext:
		t.Next = append([]byte{}, value...)
	case hasSource:
		t.HasSource, t.Source = true, value
	case hasProducer:
		t.Producer = append([]byte{}, value...)
	case hasNumber:
		t.numbered = true
		if n, err := strconv.ParseUint(string(value), 10, 64); err == nil {
			t.Number = n
		}
	}
}

// On returns the subject that LastOnSubject is about, for a message on subject.
func (t *Terms) On(subject string) string {
	if len(t.OnSubject) > 0 {
		return string(t.OnSubject)
	}
	return subject
}

// Refusal returns why the headers cannot be followed by a stream of this configuration, whatever is
// in it.
func (t *Terms) Refusal(cfg *config.Stream, internal bool) (config.Code, string) {
	switch {
	case internal:
	case t.Increment && !cfg.AllowCounter:
		return config.CountersDisabled, ""
	case len(t.TTL) > 0 && !cfg.AllowTTL:
		return config.TTLDisabled, ""
	case len(t.OnSubject) > 0 && !t.LastOnSubject.Set:
		return config.ExpectedSubjectSequence, ""
	}
	return 0, ""
}

// RollupOf returns what a message rolls up.
func (t *Terms) RollupOf(cfg *config.Stream) (subject, all bool, refusal string) {
	if len(t.Rollup) == 0 {
		return false, false, ""
	}
	if !cfg.AllowRollup || cfg.DenyPurge {
		return false, false, "rollup not permitted"
	}
	switch strings.ToLower(string(t.Rollup)) {
	case RollupSubject:
		return true, false, ""
	case "all":
		return false, true, ""
	}
	return false, false, "rollup value invalid: " + strconv.Quote(string(t.Rollup))
}

// ParseTTL returns the TTL that a header asks for: 0 for none, Never, or a time of at least a
// second.
func ParseTTL(value []byte) (time.Duration, bool) {
	if len(value) == 0 {
		return 0, true
	}
	text := string(value)
	if strings.EqualFold(text, "never") {
		return time.Duration(body.Never), true
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
