package clustered

import (
	"context"
	"sync"
	"time"
)

const (
	// leaderFresh is how long an answer about who leads is good, leaderAsk how long it may take.
	leaderFresh = 2 * time.Second
	leaderAsk   = time.Second
	// asksMost bounds the questions that are under way, and leadersMost what is remembered.
	asksMost    = 32
	leadersMost = 100_000
)

// Leaders knows who leads the streams of which this server has no replica, by asking those that have one. It asks when it is
// asked itself, and never lets that wait. Its methods are safe for concurrent use.
type Leaders struct {
	// Ask returns the id of the server that leads a stream, empty if none says so. It may take its time.
	Ask func(ctx context.Context, a *Assignment) string

	mu    sync.Mutex // guards everything below
	known map[uint64]*leader
	asks  int
}

// leader is what is known of a stream.
type leader struct {
	node   string
	until  time.Time // from when on it is asked again
	asking bool
}

// Of returns the id of the server that leads a stream, as it was a moment ago, empty if that is not known, or not yet.
func (l *Leaders) Of(a *Assignment) string {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.known[a.ID]
	if k == nil {
		if l.known == nil || len(l.known) >= leadersMost {
			l.known = make(map[uint64]*leader)
		}
		k = &leader{}
		l.known[a.ID] = k
	}
	if !k.asking && now.After(k.until) && l.asks < asksMost {
		k.asking = true
		l.asks++
		go l.ask(a, k)
	}
	return k.node
}

// ask finds out who leads a stream.
func (l *Leaders) ask(a *Assignment, k *leader) {
	ctx, cancel := context.WithTimeout(context.Background(), leaderAsk)
	defer cancel()
	node := l.Ask(ctx, a)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asks--
	k.node, k.asking = node, false
	k.until = time.Now().Add(leaderFresh)
	if node == "" {
		k.until = time.Now().Add(waitStep) // somebody will, soon
	}
}
