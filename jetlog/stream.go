package jetlog

import (
	"runnel/jetlog/body"
	"runnel/jetlog/causes"
	"runnel/jetlog/config"
	"runnel/jetlog/deadlines"
	"runnel/jetlog/due"
	"runnel/jetlog/interest"
	"runnel/jetlog/letters"
	"runnel/jetlog/origin"
	"runnel/jetlog/producers"
)

// State is what a stream says about itself.
type State struct {
	// First is the sequence of the oldest live message, Last+1 when there is none.
	First, Last uint64
	// FirstTime is the time of the oldest live message, 0 when there is none. LastTime is that of
	// the last sequence that was given, whether or not it lives.
	FirstTime, LastTime int64
	Messages, Bytes     uint64
}

// Stream is the state of a stream, its consumers included, apart from the bodies of the messages.
//
// Invariants, which Check verifies: First <= Last+1; the clock never goes back; every sequence that
// was given is either live or counted under one reason.
type Stream struct {
	id      uint64
	created int64
	config  config.Stream
	state   State
	// clock is the time of the stream: the largest that came in with a command.
	clock int64
	// published counts the sequences that were given, removed what is no longer live, by reason.
	published uint64
	removed   [body.Reasons]uint64
	lostBytes uint64 // of those that are lost
	// applied counts the commands, and hash sums up what they did.
	applied, hash uint64

	ttl       deadlines.Expiries
	schedules due.Table
	// chores are what commands have left to be done, in their order.
	chores []chore
	// aged is a sequence below which no live message ages: they are all exempt.
	aged uint64
	// origins are how far the stream is with its sources.
	origins origin.Table
	// producers are how far those are who number what they publish.
	producers producers.Table
	// causes are the messages from which those of the stream were made, as far as that was published with them.
	causes causes.Table
	// lastID is the message id of the last sequence, empty if it had none.
	lastID []byte

	// consumers are sorted by name.
	consumers []*Consumer
	// incarnations counts how often a consumer was created or reset.
	incarnations uint64
	// interest has the filters of all consumers.
	interest interest.Table[*Consumer]
	// strays is how many consumers have messages to be acknowledged that their filter may no longer
	// match.
	strays int
	// lettering is how many consumers keep letters, and kept what is there for those alone.
	lettering int
	kept      letters.Kept

	scratch scratch
}

// New returns an empty stream. The configuration must be normalised; the id is never used again for
// another stream, even of the same name.
func New(id uint64, cfg config.Stream, created int64) *Stream {
	s := &Stream{id: id, created: created, config: cfg, clock: created}
	if cfg.FirstSequence > 0 {
		s.state.Last = cfg.FirstSequence - 1
	}
	s.state.First = s.state.Last + 1
	s.interest = interest.New[*Consumer]()
	return s
}

// ID returns the unique id.
func (s *Stream) ID() uint64 { return s.id }

// Created returns when the stream was made, in nanoseconds since 1970.
func (s *Stream) Created() int64 { return s.created }

// Config returns the configuration. What its pointers refer to must not be changed.
func (s *Stream) Config() *config.Stream { return &s.config }

// State returns sequences, times and sizes.
func (s *Stream) State() State { return s.state }

// Clock returns the time of the stream: the largest that came in with a command.
func (s *Stream) Clock() int64 { return s.clock }

// Published returns how many sequences were given.
func (s *Stream) Published() uint64 { return s.published }

// Removed returns how many messages have gone for the reason.
func (s *Stream) Removed(r Reason) uint64 { return s.removed[r] }

// Applied returns how many commands were applied.
func (s *Stream) Applied() uint64 { return s.applied }

// Hash returns the sum of what all commands did. Replicas that applied as many commands have the
// same.
func (s *Stream) Hash() uint64 { return s.hash }

// NextExpiry returns when Expire has something to do at the earliest, 0 for never. It may be too early
// by one Expire, never too late.
func (s *Stream) NextExpiry(m Messages) (int64, error) {
	next := int64(0)
	if d, ok := s.ttl.Next(); ok {
		next = d.At
	}
	if s.config.MaxAge <= 0 {
		return next, nil
	}
	seq, err := m.Next(max(s.state.First, s.aged))
	if err != nil || seq == 0 {
		return next, err
	}
	meta, err := m.Meta(seq)
	if err != nil {
		return 0, err
	}
	if at := Later(meta.Time, s.config.MaxAge); next == 0 || at < next {
		next = at
	}
	return next, nil
}

// bytesOf returns what a message counts for in this stream.
func (s *Stream) bytesOf(subject string, header, payload []byte) uint64 {
	return body.SizeOf(s.config.Storage, subject, header, payload)
}
