package api

import "time"

// ProducerRequest asks for producers of a stream, by name, at most so many.
type ProducerRequest struct {
	// After is the last name of the answer before, empty for the first one.
	After string `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"` // ProducerMax if it is not set, or more
	// Idle leaves out those that have published within that time, as "720h".
	Idle string `json:"idle,omitempty"`
	// Server asks for those instead in whose name the server itself puts messages, such as dead letters.
	Server bool `json:"server,omitempty"`
}

// ProducerMax is how many producers one answer has at most, and how many one request forgets.
const ProducerMax = 1024

// Producer is one that numbers what it publishes.
type Producer struct {
	Name string `json:"name"`
	// Number is that of its last message, and Sequence the one that the stream gave that. Time is when it was stored, nil if the message
	// has gone.
	Number   uint64     `json:"producer_seq"`
	Sequence uint64     `json:"seq"`
	Time     *time.Time `json:"time,omitempty"`
}

// ProducerListAnswer answers PRODUCER.LIST. Total is how many producers the stream remembers in all, the server's own included, and Most
// how many it may.
type ProducerListAnswer struct {
	Response
	Total     int        `json:"total"`
	Most      int        `json:"most"`
	Producers []Producer `json:"producers"`
	// Next is what After is for the next answer, empty at the end.
	Next string `json:"next,omitempty"`
}

// ProducerForgetRequest asks that producers are forgotten: those with the names, or those that were idle for a time. A producer that
// publishes again after it was forgotten may begin with any number: what it had published before would be stored again.
type ProducerForgetRequest struct {
	Producers []string `json:"producers,omitempty"`
	Idle      string   `json:"idle,omitempty"`
	Server    bool     `json:"server,omitempty"`
	DryRun    bool     `json:"dry_run,omitempty"`
}

// ProducerForgetAnswer answers PRODUCER.FORGET: how many were forgotten, or would be. More is set if there are others: ask again.
type ProducerForgetAnswer struct {
	Response
	Forgotten int  `json:"forgotten"`
	More      bool `json:"more,omitempty"`
}
