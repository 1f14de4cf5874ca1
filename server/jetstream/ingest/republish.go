package ingest

import (
	"strconv"
	"time"

	"runnel/headers"
	"runnel/jetlog"
)

// The headers of what is published again. Receivers rely on them, so those that the message brings itself go.
const (
	streamHeader       = "Nats-Stream"
	subjectHeader      = "Nats-Subject"
	sequenceHeader     = "Nats-Sequence"
	timeHeader         = "Nats-Time-Stamp"
	lastSequenceHeader = "Nats-Last-Sequence"
	sizeHeader         = "Nats-Msg-Size"
)

// republish publishes a message again that was stored as this, if the stream does that. The message is what the
// publisher sent; previous is the sequence before it on its subject, and total what a counter has come to.
func (s *Stream) republish(a *acker, cfg *settings, m jetlog.Message, previous uint64, total string) {
	if cfg.republish == nil {
		return
	}
	to, ok := cfg.republish.ApplyWith(m.Subject, cfg.random)
	if !ok {
		return
	}
	// What is stored may differ from what was sent. If it has gone since, what was sent is the best there is.
	if stored, err := s.log.Load(m.Sequence); err == nil && stored.Sequence == m.Sequence {
		m = stored
	} else if total != "" {
		m.Payload = []byte(`{"val":"` + total + `"}`)
	}
	size := -1
	payload := m.Payload
	if cfg.headersOnly {
		size, payload = len(payload), nil
	}
	start := len(a.buffer)
	a.buffer = appendRepublished(a.buffer, cfg.name, &m, previous, size)
	a.outlet.Publish(s.account, to, "", a.buffer[start:], payload)
}

// appendRepublished appends the header block of a message that is published again: its own, and where and when it
// was stored. The size of the payload is left out if it is negative.
func appendRepublished(out []byte, stream string, m *jetlog.Message, previous uint64, size int) []byte {
	out = append(out, "NATS/1.0\r\n"...)
	for name, value := range headers.All(m.Header) {
		if reserved(string(name)) {
			continue
		}
		out = append(append(out, name...), ": "...)
		out = append(append(out, value...), "\r\n"...)
	}
	out = append(append(out, streamHeader+": "...), stream...)
	out = append(append(out, "\r\n"+subjectHeader+": "...), m.Subject...)
	out = strconv.AppendUint(append(out, "\r\n"+sequenceHeader+": "...), m.Sequence, 10)
	out = time.Unix(0, m.Time).UTC().AppendFormat(append(out, "\r\n"+timeHeader+": "...), time.RFC3339Nano)
	out = strconv.AppendUint(append(out, "\r\n"+lastSequenceHeader+": "...), previous, 10)
	if size >= 0 {
		out = strconv.AppendInt(append(out, "\r\n"+sizeHeader+": "...), int64(size), 10)
	}
	return append(out, "\r\n\r\n"...)
}

// reserved reports whether a header says where a message was stored.
func reserved(name string) bool {
	switch name {
	case streamHeader, subjectHeader, sequenceHeader, timeHeader, lastSequenceHeader, sizeHeader:
		return true
	}
	return false
}
