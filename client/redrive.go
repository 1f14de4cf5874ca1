package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Redrive says which dead letters are put back: that of a sequence, those that a filter means, or with neither all.
type Redrive struct {
	Sequence uint64
	Filter   DeadFilter
	// ToSubject lets everybody have them who consumes their subject. Otherwise only the consumer gets each that has given it up.
	ToSubject bool
	// Rate is how many a second at most, 0 for no limit.
	Rate int
	// Progress is told how far it is, a few times a second; nil for nobody.
	Progress func(RedriveState)
}

// RedrivePlan is what a redrive would put back.
type RedrivePlan struct {
	// Matched is how many dead letters are meant. More is set when only the first ones were looked at.
	Matched int          `json:"matched"`
	More    bool         `json:"more,omitempty"`
	Sets    []RedriveSet `json:"sets,omitempty"`
	// Redrive is the one that has begun, nil in a dry run, and if none is meant.
	Redrive *RedriveState `json:"redrive,omitempty"`
}

// RedriveSet is how many of the dead letters that are meant come from one place. Error says why they cannot be put back there as
// things are; they would stay.
type RedriveSet struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Messages int    `json:"messages"`
	Error    *Error `json:"error,omitempty"`
}

// RedriveState is what has come of a redrive so far.
type RedriveState struct {
	Sequence uint64     `json:"seq,omitempty"`
	Filter   DeadFilter `json:"filter,omitzero"`
	To       string     `json:"to"` // consumer or subject
	Rate     int        `json:"rate,omitempty"`
	Started  time.Time  `json:"started"`
	Ended    *time.Time `json:"ended,omitempty"`   // nil as long as it runs
	Stopped  bool       `json:"stopped,omitempty"` // it was ended by RedriveStop
	// Stopping is set when it is to end, but first has to find out whether what it was about to put back is there.
	Stopping bool `json:"stopping,omitempty"`
	// Done is how many were put back, Left how many are still to be, as far as the server has looked, and Failed how many cannot
	// be and stay.
	Done   uint64 `json:"done"`
	Left   uint64 `json:"left"`
	Failed uint64 `json:"failed"`
	// Error says why the last one cannot be put back, or what it waits for.
	Error string `json:"error,omitempty"`
}

// redrivePause is how long it takes to ask for progress again.
const redrivePause = 200 * time.Millisecond

// RedrivePlan says what a redrive would put back, without doing it.
func (d *DLQ) RedrivePlan(ctx context.Context, r Redrive) (*RedrivePlan, error) {
	return d.redrive(ctx, &r, true)
}

// RedriveStart has the server put dead letters back, and does not wait for that. Each is put back once, whatever happens to the server,
// which goes on where it was. They keep their headers, but for those that say why they were given up, and their attempts begin at 1.
//
// One redrive of a stream runs at a time. Another one is refused, with a [*Error] of code 11012; if no consumer is there any more that
// would get what is meant, with 11015.
func (d *DLQ) RedriveStart(ctx context.Context, r Redrive) (*RedrivePlan, error) {
	return d.redrive(ctx, &r, false)
}

// Redrive is RedriveStart, and waits for the end: it returns what has come of it. When the context ends before, the redrive goes on without
// anybody who waits, and what is returned is how far it was.
func (d *DLQ) Redrive(ctx context.Context, r Redrive) (RedriveState, error) {
	plan, err := d.RedriveStart(ctx, r)
	if err != nil || plan.Redrive == nil {
		return RedriveState{}, err
	}
	state := *plan.Redrive
	for state.Ended == nil {
		select {
		case <-ctx.Done():
			return state, fmt.Errorf("wait for the redrive of %s, which goes on: %w", d.Stream, ctx.Err())
		case <-time.After(redrivePause):
		}
		info, err := d.Info(ctx)
		switch {
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			continue // nobody leads the stream for now; who will goes on
		case err != nil:
			return state, err
		case info.Redrive == nil || !info.Redrive.Started.Equal(state.Started):
			return state, nil // it has ended, and who has ended it leads no more
		}
		if state = *info.Redrive; r.Progress != nil {
			r.Progress(state)
		}
	}
	return state, nil
}

// RedriveStop ends the redrive that runs, and returns what has come of it. What is not put back stays. If none runs the error is a
// [*Error] of code 11013.
func (d *DLQ) RedriveStop(ctx context.Context) (RedriveState, error) {
	var answer struct {
		Redrive RedriveState `json:"redrive"`
	}
	err := ask(ctx, d.Conn, "DLQ.STOP."+d.Stream, nil, &answer)
	return answer.Redrive, err
}

func (d *DLQ) redrive(ctx context.Context, r *Redrive, dry bool) (*RedrivePlan, error) {
	request := struct {
		Sequence uint64     `json:"seq,omitempty"`
		Filter   DeadFilter `json:"filter,omitzero"`
		All      bool       `json:"all,omitempty"`
		To       string     `json:"to,omitempty"`
		Rate     int        `json:"rate,omitempty"`
		DryRun   bool       `json:"dry_run,omitempty"`
	}{r.Sequence, r.Filter, r.Sequence == 0 && r.Filter == DeadFilter{}, "", r.Rate, dry}
	if r.ToSubject {
		request.To = "subject"
	}
	plan := &RedrivePlan{}
	if err := ask(ctx, d.Conn, "DLQ.REDRIVE."+d.Stream, request, plan); err != nil {
		return nil, err
	}
	return plan, nil
}
