package ingest

import (
	"encoding/json"
	"strconv"

	"runnel/server/jetstream/api"
)

// ack is what a publisher is told. With an error the rest but the stream is left out.
type ack struct {
	err       *api.Error
	sequence  uint64
	duplicate bool
	total     string // of a counter, which is digits
	batch     string // that was committed
	count     uint64 // messages of the batch
}

// letterhead is what all acknowledgements of a stream have in common.
type letterhead struct {
	stream string // `"stream":"name"`
	domain string // `,"domain":"name"`, empty for none
}

func newLetterhead(stream, domain string) letterhead {
	l := letterhead{stream: `"stream":` + quoted(stream)}
	if domain != "" {
		l.domain = `,"domain":` + quoted(domain)
	}
	return l
}

// quoted returns a text as JSON.
func quoted(text string) string {
	out, _ := json.Marshal(text) // cannot fail: invalid text is replaced
	return string(out)
}

// append appends the acknowledgement as JSON.
func (l *letterhead) append(out []byte, a *ack) []byte {
	out = append(out, '{')
	if a.err != nil {
		out = append(appendError(out, a.err), ',')
		out = append(out, l.stream...)
		return append(out, `,"seq":0}`...)
	}
	out = append(out, l.stream...)
	out = append(out, `,"seq":`...)
	out = strconv.AppendUint(out, a.sequence, 10)
	out = append(out, l.domain...)
	if a.duplicate {
		out = append(out, `,"duplicate":true`...)
	}
	if a.total != "" {
		out = append(append(append(out, `,"val":"`...), a.total...), '"')
	}
	if a.batch != "" {
		out = append(append(out, `,"batch":`...), quoted(a.batch)...)
		out = append(out, `,"count":`...)
		out = strconv.AppendUint(out, a.count, 10)
	}
	return append(out, '}')
}

// appendError appends an error as a member.
func appendError(out []byte, err *api.Error) []byte {
	text, _ := json.Marshal(err) // cannot fail: numbers and text
	return append(append(out, `"error":`...), text...)
}
