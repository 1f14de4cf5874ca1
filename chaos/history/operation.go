package history

import (
	"fmt"
	"time"
)

// Operation is one thing that a client, an observer or the harness did, and what came of it.
// Which fields an operation has depends on its Kind; the kinds say so.
type Operation struct {
	// Process is which client process of the load did it. Operations of one process never overlap,
	// and none comes after another that it was recorded before.
	Process  int           `json:"process"`
	Node     string        `json:"node,omitempty"`     // the server it was done at; "" if unknown
	Workload string        `json:"workload,omitempty"` // "W1" ...
	Kind     string        `json:"kind"`               // one of the kinds below
	Stream   string        `json:"stream,omitempty"`
	Consumer string        `json:"consumer,omitempty"` // the durable or pinned consumer it went through
	Batch    string        `json:"batch,omitempty"`    // the id of the atomic batch it belongs to
	Key      string        `json:"key,omitempty"`      // the subject, the key of a bucket or of a group, the register
	Value    string        `json:"value,omitempty"`    // unique in the run: "<process>-<n>"; "" in a bucket means deleted
	Sequence uint64        `json:"sequence,omitempty"` // of the ack, the message or the revision; 0 if none
	Expected uint64        `json:"expected,omitempty"` // the revision that a Swap expects; the size of a batch in its Commit; the milliseconds that a Publish is to be delayed by
	Start    time.Duration `json:"start"`              // since the start of the run, by the monotonic clock, in nanoseconds
	End      time.Duration `json:"end"`                // never before Start
	Result   Result        `json:"result"`
	Error    string        `json:"error,omitempty"` // what the server or the client library said, unless Result is OK
}

// Result says what is known of the effect of an operation.
type Result uint8

const (
	// Unknown means that it may have happened or not, or may still happen: a time-out, a lost connection,
	// no responders, an answer that says so. It is the zero value, since it is what one may always say.
	Unknown Result = iota
	// OK means that the server has confirmed it.
	OK
	// Failed means that it surely did not happen and never will: a refusal that the server guarantees
	// (wrong last sequence, no such stream, a limit). Where the client library may have sent a request
	// more than once, a refusal is Unknown, since an earlier attempt may be what caused it.
	Failed
)

// results are the words of the results in a file.
var results = [...]string{Unknown: "unknown", OK: "ok", Failed: "failed"}

// String is the word of the result in a file.
func (r Result) String() string {
	if int(r) >= len(results) {
		return fmt.Sprintf("Result(%d)", uint8(r))
	}
	return results[r]
}

// MarshalText writes the result's word, and refuses a value that is none of the three.
func (r Result) MarshalText() ([]byte, error) {
	if int(r) >= len(results) {
		return nil, fmt.Errorf("result %d is none of ok, failed, unknown", uint8(r))
	}
	return []byte(results[r]), nil
}

// UnmarshalText reads a result's word.
func (r *Result) UnmarshalText(text []byte) error {
	for i, word := range results {
		if word == string(text) {
			*r = Result(i)
			return nil
		}
	}
	return fmt.Errorf("result %q is none of ok, failed, unknown", text)
}

// runMax is how long a run may last. What says that it was later is damaged, and nobody should make room for it.
const runMax = 31 * 24 * time.Hour

// valid tells what about the operation no checker could work with.
func (o *Operation) valid() error {
	switch {
	case o.Kind == "":
		return fmt.Errorf("the operation has no kind")
	case o.Process < 0:
		return fmt.Errorf("process %d is below 0", o.Process)
	case o.Start < 0:
		return fmt.Errorf("start %d is before the run", int64(o.Start))
	case o.End < o.Start:
		return fmt.Errorf("end %d is before start %d", int64(o.End), int64(o.Start))
	case o.End > runMax:
		return fmt.Errorf("end %d is more than %v after the beginning of the run", int64(o.End), runMax)
	}
	return nil
}
