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

const (
	// headerBytesMax is the largest header block that a stream takes.
	headerBytesMax = 65535
	// fieldsBytes is about what the fields of a letter take, without those whose length has no bound.
	fieldsBytes = 336
	// prefix is what all headers of letters begin with.
	prefix = "Runnel-Dead-"
)

// clerk writes the headers of a consumer's letters. There are many in a row, with much in common, and it is most of what a
// letter costs: so a header is written into its place at once, and what was written before is not made anew.
type clerk struct {
	stream, consumer string
	// stamps are times that were written last: first and last deliveries, and when messages were given up. Those of letters that
	// follow one another are mostly equal.
	stamps [3]stamp
}

// stamp is a time as it is written.
type stamp struct {
	at   int64
	text []byte
}

// header returns the header block of a message in a dead-letter stream: what it had, and why it is there.
func (c *clerk) header(l *letters.Letter, m *jetlog.Message) []byte {
	block := m.Header
	path := pathOf(block)
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
	if !bytes.HasSuffix(block, []byte("\r\n")) {
		block = headers.Build()
	}
	if path != "" {
		path += ","
	}
	path += c.stream
	out := c.written(block, path, l, m)
	if len(out) > headerBytesMax {
		out = c.written(headers.Build(headers.Field{Name: api.DeadOmitted, Value: "headers"}), path, l, m)
	}
	return out
}

// written returns a block with the fields of a letter behind its own.
func (c *clerk) written(block []byte, path string, l *letters.Letter, m *jetlog.Message) []byte {
	out := make([]byte, 0, len(block)+fieldsBytes+len(c.stream)+len(m.Subject)+len(c.consumer)+len(path)+len(l.Text))
	out = append(out, block[:len(block)-len("\r\n")]...)
	out = appendLine(out, api.DeadStream, c.stream)
	out = appendLine(out, api.DeadSubject, m.Subject)
	out = appendNumber(out, api.DeadSequence, l.Sequence)
	out = appendLine(out, api.DeadConsumer, c.consumer)
	out = appendLine(out, api.DeadReason, l.Reason.String())
	out = appendNumber(out, api.DeadAttempts, l.Deliveries)
	out = c.stamps[0].append(out, api.DeadTime, l.Time)
	out = appendLine(out, api.DeadPath, path)
	if l.Text != "" {
		out = appendLine(out, api.DeadError, l.Text)
	}
	if l.First != 0 {
		out = c.stamps[1].append(out, api.DeadFirst, l.First)
	}
	if l.Last != 0 {
		out = c.stamps[2].append(out, api.DeadLast, l.Last)
	}
	return append(out, "\r\n"...)
}

// appendLine appends a field. Neither names, subjects nor the texts of letters have a line break.
func appendLine(out []byte, name, value string) []byte {
	return append(append(append(append(out, name...), ": "...), value...), "\r\n"...)
}

// appendNumber appends a field with a number.
func appendNumber(out []byte, name string, n uint64) []byte {
	return append(strconv.AppendUint(append(append(out, name...), ": "...), n, 10), "\r\n"...)
}

// append appends a field with a time, in nanoseconds since 1970.
func (s *stamp) append(out []byte, name string, at int64) []byte {
	if s.text == nil || s.at != at {
		s.at, s.text = at, time.Unix(0, at).UTC().AppendFormat(s.text[:0], time.RFC3339Nano)
	}
	return append(append(append(append(out, name...), ": "...), s.text...), "\r\n"...)
}

// pathOf returns the streams in which a message was given up before, empty for none.
func pathOf(block []byte) string {
	value, _ := headers.Get(block, api.DeadPath)
	return string(value)
}

// loops reports whether a message was given up before in the stream that it is to go to.
func loops(block []byte, target string) bool {
	path := pathOf(block)
	return path != "" && slices.Contains(strings.Split(path, ","), target)
}
