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
	// Waiting is how many were given up and are not there yet.
	Waiting int `json:"waiting"`
	// Consumers are those that give up into it, as "stream.consumer".
	Consumers []string `json:"consumers,omitempty"`
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
	DryRun   bool       `json:"dry_run,omitempty"`
}

// DeadDiscardAnswer answers DLQ.DISCARD: how many were deleted, or would be. More is set when there may be more: ask again.
type DeadDiscardAnswer struct {
	Response
	Discarded int  `json:"discarded"`
	More      bool `json:"more,omitempty"`
}
