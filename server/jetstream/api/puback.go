package api

import (
	"encoding/json"
	"strconv"
)

// PubAck is what a publisher is answered.
type PubAck struct {
	Error    *Error `json:"error,omitempty"`
	Stream   string `json:"stream"`
	Sequence uint64 `json:"seq"` // 0 with an error
	Domain   string `json:"domain,omitempty"`
	// Duplicate: the message was stored before, with this sequence.
	Duplicate bool `json:"duplicate,omitempty"`
	// Value is what the counter has come to.
	Value string `json:"val,omitempty"`
	// Batch and Count are of the message that ends a batch.
	Batch string `json:"batch,omitempty"`
	Count int    `json:"count,omitempty"`
}

// AppendPubAck appends the answer as JSON, the same as encoding/json gives but without allocating.
func AppendPubAck(out []byte, a *PubAck) []byte {
	out = append(out, '{')
	if a.Error != nil {
		out = append(appendError(append(out, `"error":`...), a.Error), ',')
	}
	out = appendString(append(out, `"stream":`...), a.Stream)
	out = strconv.AppendUint(append(out, `,"seq":`...), a.Sequence, 10)
	if a.Domain != "" {
		out = appendString(append(out, `,"domain":`...), a.Domain)
	}
	if a.Duplicate {
		out = append(out, `,"duplicate":true`...)
	}
	if a.Value != "" {
		out = appendString(append(out, `,"val":`...), a.Value)
	}
	if a.Batch != "" {
		out = appendString(append(out, `,"batch":`...), a.Batch)
	}
	if a.Count != 0 {
		out = strconv.AppendInt(append(out, `,"count":`...), int64(a.Count), 10)
	}
	return append(out, '}')
}

// appendError appends an error as JSON.
func appendError(out []byte, e *Error) []byte {
	out = strconv.AppendInt(append(out, `{"code":`...), int64(e.Code), 10)
	out = strconv.AppendInt(append(out, `,"err_code":`...), int64(e.ErrCode), 10)
	out = appendString(append(out, `,"description":`...), e.Description)
	return append(out, '}')
}

// appendString appends a JSON string. Only one with something in it that needs an escape allocates.
func appendString(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // strings cannot fail
			return append(out, quoted...)
		}
	}
	return append(append(append(out, '"'), s...), '"')
}

// AppendFlowAck appends what a publisher of a fast batch hears on the way: the last sequence that is stored, and after
// how many messages it is told again.
func AppendFlowAck(out []byte, sequence uint64, messages int) []byte {
	out = strconv.AppendUint(append(out, `{"type":"ack","seq":`...), sequence, 10)
	return append(strconv.AppendInt(append(out, `,"msgs":`...), int64(messages), 10), '}')
}

// AppendFlowGap appends what it hears of a gap: which sequence of the batch was expected, and which came.
func AppendFlowGap(out []byte, expected, got uint64) []byte {
	out = strconv.AppendUint(append(out, `{"type":"gap","last_seq":`...), expected, 10)
	return append(strconv.AppendUint(append(out, `,"seq":`...), got, 10), '}')
}

// AppendFlowError appends what it hears of a message of the batch that was refused.
func AppendFlowError(out []byte, sequence uint64, err *Error) []byte {
	out = strconv.AppendUint(append(out, `{"type":"err","seq":`...), sequence, 10)
	return append(appendError(append(out, `,"error":`...), err), '}')
}
