package api

import "time"

// DelayFilter says which delayed messages are meant. What is empty leaves nothing out.
type DelayFilter struct {
	Subject string `json:"subject,omitempty"` // a pattern, for the subject that they are for
	ID      string `json:"id,omitempty"`      // the Nats-Msg-Id that they were published with
}

// DelayRequest asks for the messages that are delayed for a stream: from a sequence on, at most so many.
type DelayRequest struct {
	Sequence uint64      `json:"seq,omitempty"`
	Limit    int         `json:"limit,omitempty"` // DelayMax if it is not set, or more
	Filter   DelayFilter `json:"filter,omitzero"`
}

// DelayMax is how many delayed messages one answer has at most.
const DelayMax = 256

// Delayed is a message that is to be stored later.
type Delayed struct {
	// Sequence is the one that its publisher was told; once its time has come it has another one.
	Sequence uint64    `json:"seq"`
	Subject  string    `json:"subject"`
	ID       string    `json:"id,omitempty"` // its Nats-Msg-Id
	State    string    `json:"state"`        // one of the Delay constants
	At       time.Time `json:"at"`           // when it is to be stored
	Time     time.Time `json:"time"`         // since when it is what State says
	Size     int       `json:"size"`         // of its headers and its body, in bytes
}

// What is with a delayed message.
const (
	DelayWaits = "waiting" // for its time
	DelayDue   = "due"     // its time has come, and the stream has not taken it yet
)

// DelayListAnswer answers DELAY.LIST. Messages is how many there are in all, whatever was asked for, and First when the next one
// is due, nil for never. Next is where to go on, 0 at the end.
type DelayListAnswer struct {
	Response
	Messages uint64     `json:"messages"`
	First    *time.Time `json:"first,omitempty"`
	Delayed  []Delayed  `json:"delayed"`
	Next     uint64     `json:"next_seq,omitempty"`
}

// DelayCancelRequest asks that delayed messages are never stored: the one of a sequence, those that a filter means, or all.
type DelayCancelRequest struct {
	Sequence uint64      `json:"seq,omitempty"`
	Filter   DelayFilter `json:"filter,omitzero"`
	All      bool        `json:"all,omitempty"`
	// Due means also those whose time has come; one that is on its way at this moment may get there nevertheless.
	Due    bool   `json:"due,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
	From   uint64 `json:"from,omitempty"` // go on here, as the answer before has said
}

// DelayCancelAnswer answers DELAY.CANCEL: how many were cancelled, or would be. Next is where to go on, 0 at the end.
type DelayCancelAnswer struct {
	Response
	Cancelled int    `json:"cancelled"`
	Next      uint64 `json:"next_seq,omitempty"`
}
