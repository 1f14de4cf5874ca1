package api

import (
	"bytes"
	"time"

	"runnel/headers"
	"runnel/jetlog/config"
)

// GetRequest says which stored message is wanted, or with Batch or MultiLast which messages. Exactly one of Sequence,
// LastBySubject, NextBySubject, StartTime and MultiLast says where to look; NextBySubject may have Sequence or
// StartTime besides, and MultiLast either.
type GetRequest struct {
	Sequence      uint64     `json:"seq"`
	LastBySubject string     `json:"last_by_subj"`
	NextBySubject string     `json:"next_by_subj"`
	StartTime     *time.Time `json:"start_time"`
	// Batch and MaxBytes bound a direct get of several messages, 0 for no bound.
	Batch    int `json:"batch"`
	MaxBytes int `json:"max_bytes"`
	// MultiLast wants the last message of each subject that matches one of these, as it was at UpToSequence or
	// UpToTime.
	MultiLast    []string   `json:"multi_last"`
	UpToSequence uint64     `json:"up_to_seq"`
	UpToTime     *time.Time `json:"up_to_time"`
	// NoHeader wants the message without any header.
	NoHeader bool `json:"no_hdr"`
}

// Several reports whether more than one message is wanted, so that an end has to be said.
func (r *GetRequest) Several() bool { return r.Batch > 0 || len(r.MultiLast) > 0 }

// empty reports whether nothing says where to look.
func (r *GetRequest) empty() bool {
	return r.Sequence == 0 && r.LastBySubject == "" && r.NextBySubject == "" && r.StartTime == nil && len(r.MultiLast) == 0
}

// conflicts reports whether members exclude each other.
func (r *GetRequest) conflicts() bool {
	start := r.Sequence > 0 || r.StartTime != nil
	switch {
	case r.Sequence > 0 && r.StartTime != nil,
		r.LastBySubject != "" && (start || r.NextBySubject != "" || r.Batch != 0),
		len(r.MultiLast) > 0 && (r.LastBySubject != "" || r.NextBySubject != ""),
		r.UpToSequence > 0 && r.UpToTime != nil,
		r.Batch < 0 || r.MaxBytes < 0:
		return true
	}
	return false
}

// Check refuses, for STREAM.MSG.GET, what does not mean exactly one message.
func (r *GetRequest) Check() *Error {
	one := r.Batch == 0 && r.MaxBytes == 0 && len(r.MultiLast) == 0 && r.UpToSequence == 0 && r.UpToTime == nil
	if !one || r.empty() || r.conflicts() {
		return NewError(config.BadRequest)
	}
	return nil
}

// ParseDirectGet reads the body of a direct get, in which unknown members mean nothing. The subject is the one in the
// subject of the request, whose last message is wanted then; empty for none. Anything but StatusNone refuses it.
func ParseDirectGet(subject string, body []byte) (GetRequest, Status) {
	var r GetRequest
	if !blank(body) {
		var err error
		if r, err = decodeGet(body); err != nil {
			return GetRequest{}, StatusMalformedRequest
		}
	}
	switch {
	case subject != "":
		if !r.empty() || r.Batch != 0 || r.MaxBytes != 0 || r.UpToSequence > 0 || r.UpToTime != nil {
			return GetRequest{}, StatusBadRequest
		}
		r.LastBySubject = subject
	case r.empty():
		return GetRequest{}, StatusEmptyRequest
	case r.conflicts():
		return GetRequest{}, StatusBadRequest
	}
	return r, StatusNone
}

// decodeGet reads any body. It is apart so that only it allocates.
func decodeGet(body []byte) (GetRequest, error) {
	var r GetRequest
	err := decode(body, &r, false)
	return r, err
}

// Direct is a stored message that a direct get answers with.
type Direct struct {
	Stream, Subject string
	// Header is the header block as it is stored, nil for none.
	Header   []byte
	Sequence uint64
	Time     int64 // when it was stored, in nanoseconds since 1970
}

// AppendDirectHeader appends the header block of the one message that is wanted.
func AppendDirectHeader(out []byte, m *Direct) []byte {
	return append(appendDirect(out, m), newline...)
}

// AppendBatchHeader appends the header block of one message of several: how many follow, and the sequence of the one
// before it in this answer, 0 for none.
func AppendBatchHeader(out []byte, m *Direct, pending, previous uint64) []byte {
	out = appendDirect(out, m)
	out = appendUint(out, "Nats-Num-Pending: ", pending)
	out = appendUint(out, "Nats-Last-Sequence: ", previous)
	return append(out, newline...)
}

// AppendBatchEnd appends the header block that ends several messages: how many there would have been still, the
// sequence of the last one, and up to which sequence of the stream they are, 0 to leave that away.
func AppendBatchEnd(out []byte, pending, last, upTo uint64) []byte {
	out = append(out, endLine...)
	out = appendUint(out, "Nats-Num-Pending: ", pending)
	out = appendUint(out, "Nats-Last-Sequence: ", last)
	if upTo > 0 {
		out = appendUint(out, "Nats-UpTo-Sequence: ", upTo)
	}
	return append(out, newline...)
}

// appendDirect appends the header block but for its empty line. Fields of these names that are stored, as in what was
// republished, go: clients read the first of a name, and would take it for ours.
func appendDirect(out []byte, m *Direct) []byte {
	stored := m.Header
	if bytes.Contains(stored, []byte("\nNats-")) {
		stored = withoutOurs(stored)
	}
	if n := len(stored) - len(newline); n >= len(protocolLine) && headers.Valid(stored) {
		out = append(out, stored[:n]...)
	} else {
		out = append(out, protocolLine...)
	}
	out = appendText(out, "Nats-Stream: ", m.Stream)
	out = appendText(out, "Nats-Subject: ", m.Subject)
	out = appendUint(out, "Nats-Sequence: ", m.Sequence)
	out = append(out, "Nats-Time-Stamp: "...)
	out = time.Unix(0, m.Time).UTC().AppendFormat(out, time.RFC3339Nano)
	return append(out, newline...)
}

// withoutOurs returns a header block without the fields that a direct get adds.
func withoutOurs(stored []byte) []byte {
	for _, name := range [...]string{
		"Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Num-Pending", "Nats-Last-Sequence",
	} {
		if _, ok := headers.Get(stored, name); ok {
			stored = headers.Delete(stored, name)
		}
	}
	return stored
}
