package api

import "time"

// DeadFilter says which dead letters are meant. What is empty leaves nothing out.
type DeadFilter struct {
	Stream   string `json:"stream,omitempty"`   // that they were in
	Consumer string `json:"consumer,omitempty"` // that has given them up
	Reason   string `json:"reason,omitempty"`
	Subject  string `json:"subject,omitempty"` // a pattern
}

// DeadRequest asks about the dead letters of a stream: from a sequence on, at most so many.
type DeadRequest struct {
	Sequence uint64     `json:"seq,omitempty"`
	Limit    int        `json:"limit,omitempty"` // DeadMax if it is not set, or more
	Filter   DeadFilter `json:"filter,omitzero"`
	// Headers leaves bodies out.
	Headers bool `json:"headers_only,omitempty"`
}

// DeadMax is how many dead letters one answer has at most.
const DeadMax = 256

// DeadStreamInfo is a stream that has dead letters, or is to get some.
type DeadStreamInfo struct {
	Stream string `json:"stream"`
	// Messages is how many the stream has, and Oldest when the first of them was put there.
	Messages uint64     `json:"messages"`
	Oldest   *time.Time `json:"oldest,omitempty"`
	Seconds  float64    `json:"oldest_seconds,omitempty"`
	// Waiting is how many were given up and are not there yet; only DLQ.LIST asks those who know.
	Waiting int `json:"waiting,omitempty"`
	// Consumers are those that give up into it, as "stream.consumer".
	Consumers []string `json:"consumers,omitempty"`
}

// DeadListRequest asks which dead-letter streams there are.
type DeadListRequest struct {
	// ConsumersOnly leaves out what streams have: only those are told of that a consumer gives up into.
	ConsumersOnly bool `json:"consumers_only,omitempty"`
}

// DeadListAnswer answers DLQ.LIST.
type DeadListAnswer struct {
	Response
	Streams []*DeadStreamInfo `json:"streams"`
	Missing []string          `json:"missing,omitempty"` // streams of which nobody has told
}

// DeadCount is how many dead letters have these in common.
type DeadCount struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Reason   string `json:"reason"`
	Messages uint64 `json:"messages"`
}

// DeadInfoAnswer answers DLQ.INFO: how many dead letters there are of which kind. Partial is set when there were more than were
// looked at.
type DeadInfoAnswer struct {
	Response
	*DeadStreamInfo
	Counts  []DeadCount `json:"counts"`
	Partial bool        `json:"partial,omitempty"`
	// Redrive is the one that runs, or the last one that ended as far as the leader remembers; nil for none.
	Redrive *DeadRedrive `json:"redrive,omitempty"`
}

// DeadLetter is one, as DLQ.GET shows it.
type DeadLetter struct {
	Sequence uint64    `json:"seq"`
	Subject  string    `json:"subject"`
	Time     time.Time `json:"time"` // when it was put there
	Headers  []byte    `json:"hdrs,omitempty"`
	Data     []byte    `json:"data,omitempty"`
}

// DeadGetAnswer answers DLQ.GET. Next is where to go on, 0 at the end.
type DeadGetAnswer struct {
	Response
	Letters []DeadLetter `json:"letters"`
	Next    uint64       `json:"next_seq,omitempty"`
}

// DeadDiscardRequest asks to delete dead letters: one, those that a filter means, or all.
type DeadDiscardRequest struct {
	Sequence uint64     `json:"seq,omitempty"`
	Filter   DeadFilter `json:"filter,omitzero"`
	All      bool       `json:"all,omitempty"`
	// From is where to begin, 0 for the first message: the Next of an answer.
	From   uint64 `json:"from,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
}

// DeadDiscardAnswer answers DLQ.DISCARD: how many were deleted, or would be. More is set when not all were looked at, and Next says
// where to go on.
type DeadDiscardAnswer struct {
	Response
	Discarded int    `json:"discarded"`
	More      bool   `json:"more,omitempty"`
	Next      uint64 `json:"next_seq,omitempty"`
}

// To whom dead letters are put back: the consumer that has given them up, or everybody who consumes their subject.
const (
	RedriveToConsumer = "consumer"
	RedriveToSubject  = "subject"
)

// DeadRedriveRequest asks to put dead letters back into the streams that they come from: one, those that a filter means, or all.
type DeadRedriveRequest struct {
	Sequence uint64     `json:"seq,omitempty"`
	Filter   DeadFilter `json:"filter,omitzero"`
	All      bool       `json:"all,omitempty"`
	To       string     `json:"to,omitempty"`   // RedriveToConsumer if it is empty
	Rate     int        `json:"rate,omitempty"` // how many a second at most, 0 for no limit
	DryRun   bool       `json:"dry_run,omitempty"`
}

// DeadRedriveSet is how many of the dead letters that a redrive means come from the same place, and why they cannot be put back there
// as things are.
type DeadRedriveSet struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Messages int    `json:"messages"`
	Error    *Error `json:"error,omitempty"`
}

// DeadRedriveAnswer answers DLQ.REDRIVE: how many dead letters are meant, and the redrive that has begun, nil after a dry run and if
// none is meant. More is set when only the first ones were looked at.
type DeadRedriveAnswer struct {
	Response
	Matched int              `json:"matched"`
	More    bool             `json:"more,omitempty"`
	Sets    []DeadRedriveSet `json:"sets,omitempty"`
	Redrive *DeadRedrive     `json:"redrive,omitempty"`
}

// DeadStopAnswer answers DLQ.STOP. A redrive that is Stopping goes on until it is known of what it was about to put back whether that
// is done.
type DeadStopAnswer struct {
	Response
	Redrive *DeadRedrive `json:"redrive,omitempty"`
}

// DeadRedrive is a redrive: what was asked for, and what has come of it.
type DeadRedrive struct {
	Sequence uint64     `json:"seq,omitempty"`
	Filter   DeadFilter `json:"filter,omitzero"`
	To       string     `json:"to"`
	Rate     int        `json:"rate,omitempty"`
	Started  time.Time  `json:"started"`
	Ended    *time.Time `json:"ended,omitempty"` // nil as long as it runs
	Stopped  bool       `json:"stopped,omitempty"`
	Stopping bool       `json:"stopping,omitempty"`
	// Done is how many were put back, Left how many are still to be, of those that were looked at. Failed is how many cannot be, and
	// stay where they are.
	Done   uint64 `json:"done"`
	Left   uint64 `json:"left"`
	Failed uint64 `json:"failed"`
	// Error is why the last one of these could not be put back, or why it does not go on for the time being.
	Error string `json:"error,omitempty"`
}
