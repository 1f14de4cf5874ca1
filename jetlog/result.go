package jetlog

import (
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/sum"
)

// Result is what a command did. It is the same on every replica.
type Result struct {
	// Code is 0 when the command was carried out, otherwise why it was refused. Detail fills the
	// text of the refusal.
	Code   config.Code
	Detail string

	// Sequence is the message's: of a publish, also of the original when Duplicate is set.
	Sequence  uint64
	Duplicate bool
	// Stored tells whether a publish is in the stream. It can have been given a sequence without.
	Stored bool
	// Previous is the last sequence that the subject had before, 0 for none. It is set only for
	// streams that republish.
	Previous uint64
	// As is the message as it is stored, if it is: what was sent may have been changed. It is set only for streams that
	// republish, and must not be changed.
	As *Message
	// Total is what the counter of the subject has come to, empty if it is none.
	Total string
	// Count is how many messages a batch or a copy has brought; Sequence is the last one's.
	Count int
	// Members are the results of the messages of a batch, in their order. They are set only for streams
	// that republish.
	Members []Result
	// Removed is how many messages have gone.
	Removed uint64
	// More is set when the command has left work: an Expire for another Expire, every other command for
	// Continue. What was asked for is decided, and will be done; who has to say when it is done waits for a
	// Continue that leaves nothing.
	More bool
	// Created is set when a consumer was made, rather than found or changed.
	Created bool
	// Exhausted are messages whose last delivery was not answered.
	Exhausted []Exhausted
	// Withdrawn are messages that have gone, by something else than answers and than a purge of all up to a sequence,
	// while an answer to their delivery was awaited.
	Withdrawn []Withdrawn
}

// Exhausted is a message that a consumer has delivered as often as it may.
type Exhausted struct {
	Consumer   string
	Sequence   uint64
	Deliveries uint64
}

// Withdrawn is a message that has gone before a consumer had an answer to it: both its sequences, and how often it was
// delivered.
type Withdrawn struct {
	Consumer         string
	Sequence         uint64
	ConsumerSequence uint64
	Deliveries       uint64
	// Dead is set for one that stays since the consumer has a letter of it now.
	Dead bool
}

func refused(code config.Code) Result { return Result{Code: code} }

func refusedWith(code config.Code, detail string) Result { return Result{Code: code, Detail: detail} }

// note adds a command and its result to the running hash.
func (s *Stream) note(c command.Command, r *Result) {
	s.applied++
	flags := uint64(0)
	for i, set := range [...]bool{r.Duplicate, r.Stored, r.More, r.Created} {
		if set {
			flags |= 1 << i
		}
	}
	h := sum.Mix(s.hash, uint64(c.Kind())|uint64(r.Code)<<8|flags<<32)
	h = sum.Mix(h, r.Sequence)
	h = sum.Mix(h, uint64(s.clock))
	h = sum.Mix(h, s.state.First)
	h = sum.Mix(h, s.state.Last)
	h = sum.Mix(h, s.state.Messages)
	h = sum.Mix(h, s.state.Bytes)
	h = sum.Mix(h, r.Removed)
	for _, e := range r.Exhausted {
		h = sum.Mix(h, e.Sequence)
	}
	s.hash = h
}
