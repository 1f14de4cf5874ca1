package sourcing

import (
	"context"
	"slices"
	"sync"

	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
)

// Stream is a stream into which others are copied. Its methods are safe for concurrent use.
type Stream struct {
	sourcing *Sourcing
	account  *accounts.Account
	log      Log
	hooks    Hooks

	// ctx ends with the stream: who waits for the log gives up then.
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex // guards everything below
	mirror *puller
	list   []*puller // of the sources, in their order
	closed bool
}

// Configure takes the log's configuration over, after a new one was applied: pullers begin and end, and those that
// stay as they are go on.
func (s *Stream) Configure() {
	cfg := s.log.Config()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	before := append(slices.Clone(s.list), s.mirror)
	s.mirror, s.list = nil, nil
	if cfg.Mirror != nil {
		s.mirror = s.keep(before, *cfg.Mirror, &cfg, true)
	}
	for _, source := range cfg.Sources {
		s.list = append(s.list, s.keep(before, *source, &cfg, false))
	}
	now := append(slices.Clone(s.list), s.mirror)
	s.mu.Unlock()
	s.sourcing.follow(s, cfg.Mirror != nil || len(cfg.Sources) > 0)
	if s.ctx.Err() != nil {
		s.sourcing.forget(s) // closed meanwhile
	}
	for _, p := range before {
		if p != nil && !slices.Contains(now, p) {
			p.close(!slices.ContainsFunc(now, func(q *puller) bool { return q != nil && q.name == p.name }))
		}
	}
	for _, p := range now {
		if p != nil {
			p.appeared(false) // begins, if it is new
		}
	}
}

// keep returns the puller that is there for a source, or else a new one.
func (s *Stream) keep(before []*puller, source config.Source, cfg *config.Stream, mirror bool) *puller {
	fresh := newPuller(s, source, cfg, mirror)
	for _, p := range before {
		if p != nil && p.same(fresh) {
			return p
		}
	}
	return fresh
}

// Close ends all pullers, until the stream is opened again. What they have started is still carried out.
func (s *Stream) Close() { s.end(false) }

// Remove is Close for a stream that goes for ever: origins need not keep anything for it.
func (s *Stream) Remove() { s.end(true) }

func (s *Stream) end(forget bool) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	for _, p := range s.pullers() {
		p.close(forget)
	}
	s.sourcing.forget(s)
}

// pullers returns all pullers.
func (s *Stream) pullers() []*puller {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.list)
	if s.mirror != nil {
		all = append(all, s.mirror)
	}
	return all
}

// Mirror tells how far the mirror is with its origin, nil for a stream that is none.
func (s *Stream) Mirror() *api.SourceInfo {
	s.mu.Lock()
	p := s.mirror
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.info()
}

// Sources tells how far the stream is with each of its sources.
func (s *Stream) Sources() []*api.SourceInfo {
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	all := make([]*api.SourceInfo, len(list))
	for i, p := range list {
		all[i] = p.info()
	}
	return all
}
