package redrive

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/letters"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/handover"
	"runnel/subjects"
)

// deadPrefix begins the headers that say why a message was given up.
const deadPrefix = "Runnel-Dead-"

// IsDead reports whether a message is a dead letter. No client can pretend that, and have its message put where it may not publish itself: this
// header is taken away from what clients publish.
func IsDead(header []byte) bool {
	_, found := headers.Get(header, api.DeadPath)
	return found
}

// Check refuses a filter that cannot mean anything: with a letter wrong it would say that there is nothing.
func Check(f *api.DeadFilter) error {
	var reasons []string
	for r := letters.MaxDeliver; r.String() != "unknown"; r++ {
		reasons = append(reasons, r.String())
	}
	switch {
	case f.Reason != "" && !slices.Contains(reasons, f.Reason):
		return api.NewError(api.DeadLetterUnknown, "reason "+strconv.Quote(f.Reason)+" is none of "+strings.Join(reasons, ", "))
	case f.Subject != "" && !subjects.ValidPattern(f.Subject):
		return api.NewError(api.DeadLetterUnknown, "subject "+strconv.Quote(f.Subject)+" is no pattern")
	}
	return nil
}

// Means reports whether a filter means a message. Messages that are no dead letters are never meant, so that a stream that is used for
// something else too loses nothing of that.
func Means(f *api.DeadFilter, m *jetlog.Message) bool {
	if !IsDead(m.Header) || f.Subject != "" && !subjects.Match(f.Subject, m.Subject) {
		return false
	}
	is := func(name, want string) bool {
		got, _ := headers.Get(m.Header, name)
		return want == "" || string(got) == want
	}
	return is(api.DeadStream, f.Stream) && is(api.DeadConsumer, f.Consumer) && is(api.DeadReason, f.Reason)
}

// Back returns the stream that a dead letter is put back into, and the message as it is there then: for the consumer alone that has
// given it up, or for everybody. It has its former subject and headers, without a word of why it was given up, so that it may be
// given up again.
func Back(m *jetlog.Message, to string) (stream string, out handover.Message, err error) {
	value := func(name string) string {
		v, _ := headers.Get(m.Header, name)
		return string(v)
	}
	stream, consumer := value(api.DeadStream), value(api.DeadConsumer)
	out = handover.Message{Subject: value(api.DeadSubject), Payload: m.Payload, Header: alive(m.Header)}
	switch {
	case stream == "" || strings.ContainsAny(stream, " .*>/\\"):
		return "", out, errors.New("it does not say from which stream it comes: discard it")
	case !subjects.ValidLiteral(out.Subject):
		return "", out, errors.New("it does not say which subject it had: discard it")
	case to == api.RedriveToConsumer && consumer == "":
		return "", out, errors.New("it does not say which consumer has given it up: put it back to the subject")
	}
	if to == api.RedriveToConsumer {
		out.Header = headers.Set(out.Header, api.RedriveTo, consumer)
	}
	return stream, out, nil
}

// alive returns a header block without what was added when the message was given up, or when it was put back before.
func alive(block []byte) []byte {
	if bytes.Contains(block, []byte(api.RedriveTo)) {
		block = headers.Delete(block, api.RedriveTo)
	}
	for name := range headers.All(block) {
		if bytes.HasPrefix(name, []byte(deadPrefix)) {
			block = headers.Delete(block, string(name))
		}
	}
	return block
}
