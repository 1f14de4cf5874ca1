package api

import "time"

// KeysRequest asks for the keys of a consumer that have a message out.
type KeysRequest struct {
	Limit int `json:"limit,omitempty"` // how many at most; KeysMax if it is not set, or more
}

// KeysMax is how many keys one answer has at most.
const KeysMax = 256

// Keys is what a consumer with keys has out, and what waits.
type Keys struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	// Key is the expression that says what the key of a message is, and Failed what becomes of a key whose message has failed for
	// good: "skip" or "block".
	Key    string `json:"key"`
	Failed string `json:"key_failed"`
	// InFlight are the keys whose message was delivered and is not settled, Blocked those whose message has failed for good and
	// keeps its place.
	InFlight int `json:"in_flight"`
	Blocked  int `json:"blocked"`
	// Passed are the messages that were looked at and wait for one of their key, Undelivered all that are to be delivered for
	// the first time.
	Passed      uint64    `json:"waiting"`
	Undelivered uint64    `json:"undelivered"`
	Keys        []KeyHold `json:"keys"`
	Time        time.Time `json:"ts"`
}

// KeyHold is a key with the message that is out.
type KeyHold struct {
	Key string `json:"key"`
	// Alone is set for a message without a key, for which nothing waits.
	Alone    bool   `json:"alone,omitempty"`
	State    string `json:"state"` // one of the Key constants
	Sequence uint64 `json:"seq"`
	Subject  string `json:"subject"`
	// Deliveries is how often the message was delivered, 0 if it was given up.
	Deliveries uint64 `json:"deliveries,omitempty"`
	// Until is when the answer is due, or the message comes again; nil for never or now.
	Until *time.Time `json:"until,omitempty"`
	// Behind is how many messages are known to wait behind it. With More there are others.
	Behind int  `json:"behind"`
	More   bool `json:"more,omitempty"`
}

// What is with the message that a key has out.
const (
	KeyInFlight = "in_flight" // a worker has it
	KeyRests    = "rests"     // it failed, and comes again by itself
	KeyDue      = "due"       // it is to be delivered again to whoever asks next
	KeyBlocked  = "blocked"   // it has failed for good, and those behind it wait until it is acknowledged or deleted
)

// KeysAnswer tells of the keys of a consumer.
type KeysAnswer struct {
	Response
	*Keys
}
