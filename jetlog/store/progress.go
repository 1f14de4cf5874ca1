package store

import (
	"log/slog"
	"time"
)

// progress tells, at most once a second, how far what takes its time is.
type progress struct {
	logger *slog.Logger
	clock  func() time.Time
	told   time.Time
	steps  uint64
}

const (
	progressEvery = time.Second
	// progressSteps is after how many steps the clock is looked at.
	progressSteps = 64
)

// newProgress begins: the first line comes after a second.
func (s *Store) newProgress() *progress {
	return &progress{logger: s.logger, clock: s.cfg.Clock, told: s.cfg.Clock()}
}

// step tells that so much of something is done.
func (p *progress) step(what string, done, all uint64) {
	p.steps++
	if p.steps%progressSteps != 0 {
		return
	}
	now := p.clock()
	if now.Sub(p.told) < progressEvery {
		return
	}
	p.told = now
	p.logger.Info("the store is being opened", "step", what, "done", done, "of", all)
}
