package store

import (
	"context"
	"errors"
	"fmt"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/wal"
)

// packRecord is the kind of a record with a pack of publishes in the log. Its index is that of the last one: who
// has lost the record has not applied all of them before that.
const packRecord = 2

// Answers hears what became of commands. It is called by whoever applies, so it must be quick, and must not wait for
// another command.
type Answers interface {
	// Answer has the result of a command, or why there is none. Commands that were started together are numbered,
	// and answered in that order.
	Answer(i int, r jetlog.Result, err error)
	// Answered is called after the last of them. What it returns, unless it is nil, is flushed once other commands
	// that were safe at the same time are answered, too: once for many who return the same.
	Answered() Flusher
}

// Flusher is somebody who does something for many commands at once. It is a pointer, since it is compared.
type Flusher interface{ Flush() }

// done is a function that hears what became of one command.
type done func(jetlog.Result, error)

// Answer implements Answers.
func (f done) Answer(_ int, r jetlog.Result, err error) { f(r, err) }

// Answered implements Answers.
func (done) Answered() Flusher { return nil }

// StartAll is Start for publishes that follow one another, with one record in the log. Each is carried out by itself,
// with its own result, as if they had been started one after the other. It waits as Start does; with a context that
// has ended it does not wait, and its error is context.Canceled where it would have. With an error nothing was
// started. The publishes must not change before all are answered, and what they refer to never.
func (t *Stream) StartAll(ctx context.Context, publishes []command.Publish, answers Answers) error {
	if len(publishes) == 0 {
		return errors.New("start: there are no publishes")
	}
	return t.start(ctx, entry{stream: t, publishes: publishes, answers: answers})
}

// entry is a command, or a pack, that is in the log.
type entry struct {
	stream    *Stream
	command   command.Command   // nil for a pack
	publishes []command.Publish // of a pack
	position  wal.Position
	answers   Answers
}

// count is how many commands there are.
func (e *entry) count() int {
	if e.command != nil {
		return 1
	}
	return len(e.publishes)
}

// at returns a command.
func (e *entry) at(i int) command.Command {
	if e.command != nil {
		return e.command
	}
	return &e.publishes[i]
}

// kind returns the kind of the commands.
func (e *entry) kind() command.Kind { return e.at(0).Kind() }

// encode appends the payload of the record and returns its kind.
func (e *entry) encode(out []byte) (payload []byte, kind uint8) {
	if e.command != nil {
		return command.Append(out, e.command), commandRecord
	}
	return command.AppendPack(out, e.publishes), packRecord
}

// decode returns the commands of a record of the log.
func decode(r *wal.Record) (entry, error) {
	return decodeOwned(r.Kind, append([]byte(nil), r.Payload...))
}

// decodeOwned returns the commands in a payload, to which they refer.
func decodeOwned(kind uint8, payload []byte) (entry, error) {
	switch kind {
	case commandRecord:
		c, err := command.Decode(payload)
		return entry{command: c}, err
	case packRecord:
		publishes, err := command.DecodePack(payload)
		return entry{publishes: publishes}, err
	}
	return entry{}, fmt.Errorf("record of kind %d: %w", kind, command.ErrNewer)
}
