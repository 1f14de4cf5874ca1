// Package progress tells how far it is, of what takes its time when a store is opened.
package progress

import (
	"log/slog"
	"time"
)

// Progress tells, at most once a second, how far something is. It is for one goroutine.
type Progress struct {
	logger *slog.Logger
	clock  func() time.Time
	told   time.Time
	steps  uint64
}

const (
	every = time.Second
	// stepsBetween is after how many steps the clock is looked at.
	stepsBetween = 64
)

// New begins: the first line comes after a second.
func New(logger *slog.Logger, clock func() time.Time) *Progress {
	return &Progress{logger: logger, clock: clock, told: clock()}
}

// Step tells that so much of something is done.
func (p *Progress) Step(what string, done, all uint64) {
	p.steps++
	if p.steps%stepsBetween != 0 {
		return
	}
	now := p.clock()
	if now.Sub(p.told) < every {
		return
	}
	p.told = now
	p.logger.Info("the store is being opened", "step", what, "done", done, "of", all)
}
