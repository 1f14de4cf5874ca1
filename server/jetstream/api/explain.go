package api

import "time"

// Explanation says in sentences why a consumer delivers nothing, or that nothing stands in its way.
type Explanation struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	// Delivers is whether nothing stands in the way of messages: those that there are, and those to come.
	Delivers bool `json:"delivers"`
	// Reasons are what there is to say, what weighs most first.
	Reasons []Reason     `json:"reasons"`
	Lag     *ConsumerLag `json:"lag,omitempty"`
	Time    time.Time    `json:"ts"`
}

// Reason is one thing that keeps messages from being delivered, or what is as it should be.
type Reason struct {
	// Code is for programs: one of the Stalled constants, or one of the Reason constants.
	Code string `json:"code"`
	Text string `json:"text"`
	// Next is what to do about it, empty for nothing.
	Next string `json:"next,omitempty"`
	// Until is when it ends by itself, nil for never or not known.
	Until *time.Time `json:"until,omitempty"`
}

// What a Reason says besides why a consumer is stalled.
const (
	ReasonDelivers    = "delivers"         // messages are delivered as they are asked for
	ReasonCaughtUp    = "caught_up"        // there is nothing left
	ReasonEmptyStream = "empty_stream"     // the stream has no messages
	ReasonNoMatch     = "no_match"         // no message of the stream matches the filter
	ReasonNoSubject   = "no_subject"       // none that the stream takes ever will
	ReasonExhausted   = "max_deliver"      // some were delivered as often as allowed, and are not again
	ReasonNoLeader    = "no_leader"        // no server leads the stream
	ReasonUnanswered  = "waits_for_answer" // some were delivered, and are not acknowledged yet
)

// ExplainAnswer explains a consumer.
type ExplainAnswer struct {
	Response
	*Explanation
}
