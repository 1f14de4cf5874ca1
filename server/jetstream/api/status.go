package api

import (
	"strconv"
	"time"

	"runnel/headers"
)

// Status is what is said instead of a message, as a header block with a status line.
type Status uint8

// The statuses of pull requests, of direct gets, of backups, and of publishing. Those of pull requests end the request
// unless it is said otherwise; Pending tells which of them say how much of the request is left.
const (
	StatusNone             Status = iota
	StatusNoMessages              // nothing to deliver to a request that does not wait
	StatusRequestTimeout          // pending
	StatusRequestsPending         // does not wait, and earlier requests take all
	StatusInterestExpired         // pending; nobody listens any more
	StatusMaxWaiting              // too many requests wait
	StatusMessageSize             // pending; the next message is larger than MaxBytes
	StatusBatchCompleted          // pending; bytes are left, messages are not
	StatusConsumerDeleted         //
	StatusLeadershipChange        //
	StatusServerShutdown          // pending
	StatusPushBased               // the consumer is a push consumer
	StatusLevelRequired           // also of direct gets
	StatusWrongPin                // pending; the pin went to another while the request waited
	StatusPinMismatch             // somebody else is pinned
	StatusFlowControl             // to a push consumer's subscriber; does not end anything
	StatusEmptyRequest            // of direct gets
	StatusMalformedRequest        // of direct gets
	StatusBadRequest              // of direct gets: members that exclude each other
	StatusMessageNotFound         // of direct gets
	StatusNoResults               // of direct gets of several subjects
	StatusTooManyResults          // of direct gets of several subjects
	StatusBackupEnd               // of backups
	StatusBackupNoInterest        // of backups: nobody listens
	StatusBackupNoAcks            // of backups: chunks are not acknowledged
	StatusTooManyRequests         // of publishing: the stream has too much waiting
	statuses
)

// statusLines are the status lines, without the protocol's version.
var statusLines = [statuses]struct {
	code    int
	text    string
	pending bool
}{
	StatusNoMessages:       {404, "No Messages", false},
	StatusRequestTimeout:   {408, "Request Timeout", true},
	StatusRequestsPending:  {408, "Requests Pending", false},
	StatusInterestExpired:  {408, "Interest Expired", true},
	StatusMaxWaiting:       {409, "Exceeded MaxWaiting", false},
	StatusMessageSize:      {409, "Message Size Exceeds MaxBytes", true},
	StatusBatchCompleted:   {409, "Batch Completed", true},
	StatusConsumerDeleted:  {409, "Consumer Deleted", false},
	StatusLeadershipChange: {409, "Leadership Change", false},
	StatusServerShutdown:   {409, "Server Shutdown", true},
	StatusPushBased:        {409, "Consumer is push based", false},
	StatusLevelRequired:    {412, "Required Api Level", false},
	StatusWrongPin:         {423, "Nats-Wrong-Pin-Id", true},
	StatusPinMismatch:      {423, "Nats-Pin-Id mismatch", false},
	StatusFlowControl:      {100, "FlowControl Request", false},
	StatusEmptyRequest:     {408, "Empty Request", false},
	StatusMalformedRequest: {408, "Malformed Request", false},
	StatusBadRequest:       {408, "Bad Request", false},
	StatusMessageNotFound:  {404, "Message Not Found", false},
	StatusNoResults:        {404, "No Results", false},
	StatusTooManyResults:   {413, "Too Many Results", false},
	StatusBackupEnd:        {204, "", false},
	StatusBackupNoInterest: {408, "No Interest", false},
	StatusBackupNoAcks:     {408, "No Flow Response", false},
	StatusTooManyRequests:  {429, "Too Many Requests", false},
}

// blocks are the header blocks of the status lines, built once.
var blocks = func() (all [statuses][]byte) {
	for s, line := range statusLines {
		if line.code > 0 {
			all[s] = headers.Status(line.code, line.text)
		}
	}
	return all
}()

// Block returns the header block without fields, nil for StatusNone. It belongs to everybody and must not be changed.
func (s Status) Block() []byte {
	if s >= statuses {
		return nil
	}
	return blocks[s]
}

// Pending reports whether the status says how much of the request is left.
func (s Status) Pending() bool { return s < statuses && statusLines[s].pending }

// Append appends the header block of a status of a pull request: with the number of messages and bytes that are left
// of the request, if it is one that says so.
func (s Status) Append(out []byte, messages, bytes int) []byte {
	out = append(out, s.Block()...)
	if !s.Pending() {
		return out
	}
	out = out[:len(out)-len(newline)]
	out = appendInt(out, "Nats-Pending-Messages: ", int64(messages))
	out = appendInt(out, "Nats-Pending-Bytes: ", int64(bytes))
	return append(out, newline...)
}

// The fields and lines that are written here by hand, since building them as strings would cost more.
const (
	newline       = "\r\n"
	protocolLine  = "NATS/1.0\r\n"
	heartbeatLine = "NATS/1.0 100 Idle Heartbeat\r\n"
	endLine       = "NATS/1.0 204 EOB\r\n"
)

// appendInt appends a field with a number.
func appendInt(out []byte, name string, n int64) []byte {
	return append(strconv.AppendInt(append(out, name...), n, 10), newline...)
}

// appendUint appends a field with a number.
func appendUint(out []byte, name string, n uint64) []byte {
	return append(strconv.AppendUint(append(out, name...), n, 10), newline...)
}

// appendText appends a field with a text, which must have no line breaks.
func appendText(out []byte, name, text string) []byte {
	return append(append(append(out, name...), text...), newline...)
}

// AppendHeartbeat appends the header block that says that all is well: with what was last delivered, in the
// consumer's sequence and in the stream's, and with the subject on which an answer to flow control is missing, empty
// for none.
func AppendHeartbeat(out []byte, consumer, stream uint64, stalled string) []byte {
	out = append(out, heartbeatLine...)
	out = appendUint(out, "Nats-Last-Consumer: ", consumer)
	out = appendUint(out, "Nats-Last-Stream: ", stream)
	if stalled != "" {
		out = appendText(out, "Nats-Consumer-Stalled: ", stalled)
	}
	return append(out, newline...)
}

// Reasons for BadRequest that depend on the consumer.
const (
	NotOverflow      = "Not a Overflow Priority consumer"
	NotPinned        = "Not a Pinned Client Priority consumer"
	PriorityRange    = "Priority must be between 0 and 9"
	GroupMissing     = "Priority Group missing"
	GroupUnknown     = "Invalid Priority Group"
	MaxPriority      = 9
	badRequestPrefix = "Bad Request - "
)

// BadRequest returns the header block that refuses a pull request, for a reason or the error of ParsePull.
func BadRequest(reason string) []byte { return headers.Status(400, badRequestPrefix+short(reason)) }

// ExceededBatch returns the header block for a pull request that asks for more messages than the consumer allows.
func ExceededBatch(limit int) []byte {
	return headers.Status(409, "Exceeded MaxRequestBatch of "+strconv.Itoa(limit))
}

// ExceededExpires returns the header block for a pull request that would wait longer than the consumer allows.
func ExceededExpires(limit time.Duration) []byte {
	return headers.Status(409, "Exceeded MaxRequestExpires of "+limit.String())
}

// ExceededBytes returns the header block for a pull request that asks for more bytes than the consumer allows.
func ExceededBytes(limit int) []byte {
	return headers.Status(409, "Exceeded MaxRequestMaxBytes of "+strconv.Itoa(limit))
}

// Failed returns the header block that says that a direct get or a backup has failed, and why.
func Failed(err error) []byte { return headers.Status(500, short(err.Error())) }
