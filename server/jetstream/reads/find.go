package reads

import (
	"context"

	"runnel/jetlog"
	"runnel/jetlog/body"
	"runnel/server/jetstream/api"
	"runnel/subjects"
)

// Log is a stream as its readers need it; *store.Stream is one. Its methods may be called concurrently.
type Log interface {
	// Name returns the name of the stream.
	Name() string
	// State returns sequences and sizes.
	State() jetlog.State
	// View calls do with the state and the messages, which do not change meanwhile.
	View(do func(*jetlog.Stream, jetlog.Messages) error) error
	// Load returns a message, with sequence 0 if there is none.
	Load(sequence uint64) (jetlog.Message, error)
	// Read calls yield for messages from a sequence on that the filter matches, up to a number of messages and bytes.
	Read(from uint64, filter jetlog.Filter, messages, bytes int, yield func(*jetlog.Message) bool) (next uint64, err error)
	// Peek and PeekLast return a message, by its sequence or the last one of a subject, where memory knows it.
	Peek(sequence uint64) (m jetlog.Message, known bool)
	PeekLast(subject string) (m jetlog.Message, known bool)
	// LastOf and NextOf return the sequence of the last matching message up to one, or of the first from one on, 0 for none.
	LastOf(filter body.Filter, upTo uint64) (uint64, error)
	NextOf(filter body.Filter, from uint64) (uint64, error)
	// FirstAfter returns the sequence of the first message that was not stored before a time, 0 for none.
	FirstAfter(at int64) (uint64, error)
	// SubjectCount returns the number of subjects where memory knows it, CountSubjects in any case.
	SubjectCount() (n int, known bool)
	CountSubjects(ctx context.Context) (int, error)
	// Subjects calls yield for the subjects that the filter matches.
	Subjects(ctx context.Context, filter body.Filter, yield func(string, jetlog.SubjectState) bool) error
}

// Find returns the message that a request for one means, one with sequence 0 if there is none.
func Find(log Log, q *api.GetRequest) (jetlog.Message, error) {
	var seq uint64
	var err error
	switch {
	case q.LastBySubject != "":
		seq, err = log.LastOf(body.Filter{q.LastBySubject}, ^uint64(0))
	case q.NextBySubject != "":
		start, err := from(log, q)
		if err != nil || start == 0 {
			return jetlog.Message{}, err
		}
		if seq, err = log.NextOf(body.Filter{q.NextBySubject}, start); err != nil {
			return jetlog.Message{}, err
		}
	case q.Sequence > 0:
		seq = q.Sequence
	default:
		seq, err = log.FirstAfter(jetlog.Nanoseconds(*q.StartTime))
	}
	if err != nil || seq == 0 {
		return jetlog.Message{}, err
	}
	return log.Load(seq)
}

// from is the sequence from which a request wants to look, 0 if that is beyond the end.
func from(log Log, q *api.GetRequest) (uint64, error) {
	if q.StartTime != nil {
		return log.FirstAfter(jetlog.Nanoseconds(*q.StartTime))
	}
	return max(q.Sequence, 1), nil
}

// Peek returns the message that a request for one means, with sequence 0 if there is none; known is false where that
// takes more than a look into memory.
func Peek(log Log, q *api.GetRequest) (m jetlog.Message, known bool) {
	switch {
	case q.Several() || len(q.MultiLast) > 0:
		return m, false
	case q.LastBySubject != "":
		if !subjects.IsLiteral(q.LastBySubject) {
			return m, false // it may go through many
		}
		return log.PeekLast(q.LastBySubject)
	case q.NextBySubject == "" && q.Sequence > 0:
		return log.Peek(q.Sequence)
	}
	return m, false
}
