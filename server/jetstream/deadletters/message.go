package deadletters

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/letters"
	"runnel/server/jetstream/api"
)

// headerBytesMax is the largest header block that a stream takes.
const headerBytesMax = 65535

// prefix is what all headers of letters begin with.
const prefix = "Runnel-Dead-"

// headerOf returns the header block of a message in a dead-letter stream: what it had, and why it is there.
func headerOf(stream, consumer string, l *letters.Letter, m *jetlog.Message) []byte {
	block := m.Header
	path := append(pathOf(block), stream)
	if bytes.Contains(block, []byte(api.RedriveTo)) { // it was put back, and is for nobody here
		block = headers.Delete(block, api.RedriveTo)
	}
	if bytes.Contains(block, []byte(prefix)) {
		for _, name := range []string{
			api.DeadStream, api.DeadSubject, api.DeadSequence, api.DeadConsumer, api.DeadReason, api.DeadError, api.DeadAttempts,
			api.DeadFirst, api.DeadLast, api.DeadTime, api.DeadPath, api.DeadOmitted,
		} {
			block = headers.Delete(block, name)
		}
	}
	fields := []headers.Field{
		{Name: api.DeadStream, Value: stream},
		{Name: api.DeadSubject, Value: m.Subject},
		{Name: api.DeadSequence, Value: strconv.FormatUint(l.Sequence, 10)},
		{Name: api.DeadConsumer, Value: consumer},
		{Name: api.DeadReason, Value: l.Reason.String()},
		{Name: api.DeadAttempts, Value: strconv.FormatUint(l.Deliveries, 10)},
		{Name: api.DeadTime, Value: timeOf(l.Time)},
		{Name: api.DeadPath, Value: strings.Join(path, ",")},
	}
	optional := func(name, value string) {
		if value != "" {
			fields = append(fields, headers.Field{Name: name, Value: value})
		}
	}
	optional(api.DeadError, l.Text)
	if l.First != 0 {
		optional(api.DeadFirst, timeOf(l.First))
	}
	if l.Last != 0 {
		optional(api.DeadLast, timeOf(l.Last))
	}
	out := joined(block, fields)
	if len(out) > headerBytesMax {
		out = joined(nil, append(fields, headers.Field{Name: api.DeadOmitted, Value: "headers"}))
	}
	return out
}

// joined returns a header block with fields behind those that it has.
func joined(block []byte, fields []headers.Field) []byte {
	if len(block) == 0 {
		return headers.Build(fields...)
	}
	ours := headers.Build(fields...)
	end := len(block) - len("\r\n")
	_, lines, _ := bytes.Cut(ours, []byte("\r\n"))
	return slices.Concat(block[:end:end], lines)
}

// pathOf returns the streams in which a message was given up before.
func pathOf(block []byte) []string {
	value, found := headers.Get(block, api.DeadPath)
	if !found || len(value) == 0 {
		return nil
	}
	return strings.Split(string(value), ",")
}

// loops reports whether a message was given up before in the stream that it is to go to.
func loops(block []byte, target string) bool { return slices.Contains(pathOf(block), target) }

func timeOf(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
