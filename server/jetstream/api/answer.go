package api

import (
	"encoding/json"
	"time"

	"runnel/jetlog/config"
)

// Answer is the answer of an endpoint: one of the types of this package that embed Response. Endpoint.Encode sets its
// type.
type Answer interface{ response() *Response }

// Response is what every answer begins with.
type Response struct {
	// Type is set by Endpoint.Encode.
	Type string `json:"type"`
	// Error is nil for success.
	Error *Error `json:"error,omitempty"`
}

func (r *Response) response() *Response { return r }

// completer is an answer with lists that are never null.
type completer interface{ complete() }

// Encode returns the answer of the endpoint as JSON. What cannot be encoded becomes the endpoint's refusal. It writes
// into the answer.
func (e Endpoint) Encode(a Answer) []byte {
	a.response().Type = e.Type()
	if c, ok := a.(completer); ok {
		c.complete()
	}
	out, err := json.Marshal(a)
	if err != nil {
		return e.Refuse(NewError(config.StoreFailed, "encode the answer: "+err.Error()))
	}
	return out
}

// Refuse returns the refusal of the endpoint as JSON: the error, and with their zero values the members that its
// answers always have.
func (e Endpoint) Refuse(err *Error) []byte {
	row := e.row()
	if row.empty == nil {
		row = &rows[CallUnknown]
	}
	a := row.empty()
	*a.response() = Response{Type: e.Type(), Error: err}
	if c, ok := a.(completer); ok {
		c.complete()
	}
	out, _ := json.Marshal(a) // cannot fail: nothing is in it but the error
	return out
}

// newAnswer returns a zero answer of the type.
func newAnswer[T any, P interface {
	*T
	Answer
}]() Answer {
	return P(new(T))
}

// Paged is the part of answers that come in pages.
type Paged struct {
	Total  int `json:"total"`
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

// The most that one page has.
const (
	NamesPage    = 1024   // names of streams or consumers
	ListPage     = 256    // streams or consumers with everything about them
	SubjectsPage = 100000 // subjects with the number of their messages
)

// Page returns the bounds of the page that begins at offset, of total things in all, and what the answer says about
// it. An offset beyond either end is taken to be that end.
func Page(total, offset, limit int) (from, to int, p Paged) {
	from = min(max(offset, 0), total)
	to = min(from+limit, total)
	return from, to, Paged{Total: total, Offset: from, Limit: limit}
}

// PlainAnswer has no more than whether it went well. Success is not shown by unpin, and not by refusals.
type PlainAnswer struct {
	Response
	Success bool `json:"success,omitempty"`
}

// StreamAnswer is a stream's state after a change.
type StreamAnswer struct {
	Response
	*StreamInfo
}

// StreamCreateAnswer is a new stream, or the one that was there and is just like it.
type StreamCreateAnswer struct {
	Response
	*StreamInfo
	DidCreate bool `json:"did_create,omitempty"`
}

// StreamInfoAnswer is a stream's state. The page is that of its subjects.
type StreamInfoAnswer struct {
	Response
	Paged
	*StreamInfo
}

// StreamNamesAnswer has names of streams; no streams are null.
type StreamNamesAnswer struct {
	Response
	Paged
	Streams []string `json:"streams"`
}

// StreamListAnswer has streams with all about them. Missing are those whose server did not answer, Offline those
// that cannot be loaded, with the reason.
type StreamListAnswer struct {
	Response
	Paged
	Streams []*StreamInfo     `json:"streams"`
	Missing []string          `json:"missing,omitempty"`
	Offline map[string]string `json:"offline,omitempty"`
}

func (a *StreamListAnswer) complete() { a.Streams = notNil(a.Streams) }

// ConsumerInfoAnswer is a consumer's state, also after it was created or changed.
type ConsumerInfoAnswer struct {
	Response
	*ConsumerInfo
}

// ResetAnswer is a consumer's state, and the sequence from which it goes on.
type ResetAnswer struct {
	Response
	*ConsumerInfo
	ResetSequence uint64 `json:"reset_seq"`
}

// ConsumerNamesAnswer has names of consumers.
type ConsumerNamesAnswer struct {
	Response
	Paged
	Consumers []string `json:"consumers"`
}

func (a *ConsumerNamesAnswer) complete() { a.Consumers = notNil(a.Consumers) }

// ConsumerListAnswer has consumers with all about them. Missing and Offline are as for streams.
type ConsumerListAnswer struct {
	Response
	Paged
	Consumers []*ConsumerInfo   `json:"consumers"`
	Missing   []string          `json:"missing,omitempty"`
	Offline   map[string]string `json:"offline,omitempty"`
}

func (a *ConsumerListAnswer) complete() { a.Consumers = notNil(a.Consumers) }

// PurgeAnswer says how many messages have gone.
type PurgeAnswer struct {
	Response
	Success bool   `json:"success,omitempty"`
	Purged  uint64 `json:"purged"`
}

// MessageAnswer is a stored message.
type MessageAnswer struct {
	Response
	Message *StoredMessage `json:"message,omitempty"`
}

// StoredMessage is a message as it is stored. Header is the header block; it and Data stand in JSON as base64.
type StoredMessage struct {
	Subject  string    `json:"subject"`
	Sequence uint64    `json:"seq"`
	Header   []byte    `json:"hdrs,omitempty"`
	Data     []byte    `json:"data,omitempty"`
	Time     time.Time `json:"time"`
}

// SnapshotAnswer is what a backup begins with.
type SnapshotAnswer struct {
	Response
	Config *config.Stream `json:"config,omitempty"`
	State  *StreamState   `json:"state,omitempty"`
}

// RestoreAnswer says where the chunks of a backup are to be sent.
type RestoreAnswer struct {
	Response
	DeliverSubject string `json:"deliver_subject"`
}

// PauseAnswer says whether the consumer rests, until when and for how long.
type PauseAnswer struct {
	Response
	Paused    bool          `json:"paused"`
	Until     time.Time     `json:"pause_until"`
	Remaining time.Duration `json:"pause_remaining,omitempty"`
}

// AccountInfoAnswer is what an account has and may have.
type AccountInfoAnswer struct {
	Response
	*AccountInfo
}

// RescueAnswer says by which server the quorum of the whole system was lowered, from what to what.
type RescueAnswer struct {
	Response
	Server         string `json:"server,omitempty"`
	ServerID       string `json:"server_id,omitempty"`
	PreviousQuorum int    `json:"prev_quorum,omitempty"`
	NewQuorum      int    `json:"new_quorum,omitempty"`
}

// AccountPurgeAnswer says whether the account's streams are being removed.
type AccountPurgeAnswer struct {
	Response
	Initiated bool `json:"initiated,omitempty"`
}

// notNil makes the list of nothing an empty one, which JSON tells from null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
