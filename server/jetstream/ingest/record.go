package ingest

import (
	"runnel/jetlog"
	"runnel/server/jetstream/api"
)

// task is what a record asks for.
type task uint8

const (
	// storing is a message that is to be stored.
	storing task = iota
	// overflowing is a message that the queue had no room for.
	overflowing
	// barring is a call of Barrier.
	barring
)

// record is a message, or something else that keeps its place among messages, on its way from Take to the acker.
type record struct {
	stream *Stream
	task   task

	// The message. Its header and payload are one allocation.
	subject         string
	reply           string
	header, payload []byte
	at              int64 // when it was proposed, in nanoseconds since 1970

	// How it ended: refusal or err is set, or result counts.
	started bool // the log had it
	result  jetlog.Result
	err     error
	refusal *api.Error

	// Of a barrier: how many answers of the log come before it, and what is closed then.
	target  uint64
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

// fill copies a message.
func (r *record) fill(subject, reply, header, payload []byte) {
	r.subject = string(subject)
	if len(reply) > 0 {
		r.reply = string(reply)
	}
	block := make([]byte, len(header)+len(payload))
	n := copy(block, header)
	copy(block[n:], payload)
	if n > 0 {
		r.header = block[:n:n]
	}
	r.payload = block[n:]
}

// bytes is what the record counts for in the queue.
func (r *record) bytes() int { return len(r.subject) + len(r.reply) + len(r.header) + len(r.payload) }

// finish is called by the log, on the goroutine that applies.
func (r *record) finish(result jetlog.Result, err error) {
	r.result, r.err = result, err
	r.stream.acker.push(r)
}
