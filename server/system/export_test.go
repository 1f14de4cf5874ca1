package system

import "context"

// AnswerAll answers what waits, on the caller's goroutine.
func (s *System) AnswerAll(ctx context.Context) {
	for _, q := range []*queue[call]{s.requests, s.account, s.slow} {
		q.each(ctx, s.cfg.Logger, func(c call) { s.answer(ctx, &c) })
	}
}

const (
	MaxAccountRequests = maxAccountRequests
	MaxSlowRequests    = maxSlowRequests
)

// NewIdentifier makes an id of an event.
func NewIdentifier() string { return newIdentifier() }
