package ingest

import (
	"bytes"
	"strconv"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/content"
	"runnel/server/jetstream/api"
)

// republish publishes a message again that was stored, if the stream does that. The message is what the publisher sent,
// which may differ from what is stored. One that is for one consumer alone is for nobody else.
func (s *Stream) republish(a *acker, cfg *settings, m jetlog.Message, result *jetlog.Result) {
	if cfg.republish == nil {
		return
	}
	if result.As != nil {
		m = *result.As
	}
	if bytes.Contains(m.Header, []byte(api.RedriveTo)) {
		return
	}
	if f := cfg.republished; f != nil && f.Match(m.Subject, m.Header, m.Payload) != content.Match {
		return
	}
	to, ok := cfg.republish.ApplyWith(m.Subject, cfg.random)
	if !ok {
		return
	}
	size := -1
	payload := m.Payload
	if cfg.headersOnly {
		size, payload = len(payload), nil
	}
	start := len(a.buffer)
	a.buffer = appendRepublished(a.buffer, cfg.name, &m, result.Previous, size)
	a.outlet.Publish(s.account, to, "", a.buffer[start:], payload)
}

// appendRepublished appends the header block of a message that is published again: its own, where and when it was
// stored, and the sequence before it on its subject. The size of the payload is left out if it is negative.
func appendRepublished(out []byte, stream string, m *jetlog.Message, previous uint64, size int) []byte {
	header := m.Header
	if size >= 0 {
		header = headers.Delete(header, sizeHeader)
	}
	out = api.AppendDirectHeader(out, &api.Direct{
		Stream: stream, Subject: m.Subject, Header: header, Sequence: m.Sequence, Time: m.Time,
	})
	out = out[:len(out)-len("\r\n")]
	out = strconv.AppendUint(append(out, "Nats-Last-Sequence: "...), previous, 10)
	if size >= 0 {
		out = strconv.AppendInt(append(out, "\r\n"+sizeHeader+": "...), int64(size), 10)
	}
	return append(out, "\r\n\r\n"...)
}

// sizeHeader tells how long the payload is that was left out.
const sizeHeader = "Nats-Msg-Size"
