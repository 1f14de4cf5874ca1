package ingest

import (
	"runnel/jetlog"
	"runnel/jetlog/causes"
	"runnel/jetlog/command"
	"runnel/server/jetstream/api"
	"runnel/server/msgtrace"
)

// task is what a record asks for.
type task uint8

const (
	// storing is a message that is to be stored.
	storing task = iota
	// overflowing is a message that the queue had no room for.
	overflowing
	// announcing is a message that somebody else had stored.
	announcing
	// barring is a call of Barrier.
	barring
	// gathering is a message that became part of an atomic batch.
	gathering
	// stepping is a message of a fast batch that is not stored.
	stepping
	// resuming tells that a fast batch may go on, or has failed.
	resuming
	// idling asks to look for batches that were left alone.
	idling
	// resolved is a message of which is known which delivery it acknowledges.
	resolved
	// explaining is a message that is not stored, since only what would become of it is asked.
	explaining
)

// record is a message, or something else that keeps its place among messages, on its way from Take to the acker.
type record struct {
	stream *Stream
	task   task

	// The message.
	subject         string
	reply           string
	header, payload []byte
	at              int64 // when it was proposed, in nanoseconds since 1970

	put  *command.Put  // of what the server puts in somebody's name, nil otherwise
	told func(Outcome) // who hears what became of that

	cause *causes.Cause // that it acknowledges

	batch   *atomicBatch     // that it has completed
	step    step             // its part in a fast batch
	command *command.Publish // of a step
	failed  bool             // what a resumed batch has waited for
	first   bool             // to overflow since the queue was empty

	// How it ended: refusal or err is set, or result counts.
	started bool // the log had it
	result  jetlog.Result
	err     error
	refusal *api.Error

	// trace is who is told what has become of the message, nil for nobody; unwanted is set when no consumer of a stream
	// that keeps what they want would get it.
	trace    *msgtrace.Storing
	unwanted bool

	charged int // bytes of what waits of all streams

	// target is how many answers of the log come before it is the record's turn at the acker.
	target uint64

	// Of a barrier: how often it is parked, and what is closed when it is reached.
	waits   int
	reached chan struct{}

	// done is finish as a value, made once so that it costs nothing for a message.
	done func(jetlog.Result, error)
}

func newRecord() *record {
	r := &record{}
	r.done = r.finish
	return r
}

// reset forgets everything.
func (r *record) reset() { *r = record{done: r.done} }

// fill makes the record one of a message whose header and payload are its own already.
func (r *record) fill(subject string, reply, header, payload []byte) {
	r.subject, r.header, r.payload = subject, header, payload
	if len(reply) > 0 {
		r.reply = string(reply)
	}
}

// bytes is what the record counts for in the queue.
func (r *record) bytes() int { return r.size() + len(r.reply) }

// size is what the message has that is stored.
func (r *record) size() int { return len(r.subject) + len(r.header) + len(r.payload) }

// finish is called by the log, on the goroutine that applies.
func (r *record) finish(result jetlog.Result, err error) {
	r.result, r.err = result, err
	r.stream.acker.push(r)
}
