package system

import (
	"context"
	"log/slog"
	"sync"

	"runnel/server/monitor"
)

// queue holds what waits for one goroutine. It is bounded: what does not fit is dropped and counted. Items may differ in
// what they count for.
type queue[T any] struct {
	name  string
	limit int
	weigh func(T) int   // what an item counts for; nil when each is one
	wake  chan struct{} // holds a token while something may be waiting

	mu      sync.Mutex // guards what follows
	waiting []T
	load    int // what all that waits counts for
	taken   int // handed to the goroutine and not done yet
	dropped int // since the last take
}

func newQueue[T any](name string, limit int) *queue[T] {
	return &queue[T]{name: name, limit: limit, wake: make(chan struct{}, 1)}
}

// put files an item. It never blocks.
func (q *queue[T]) put(item T) {
	weight := 1
	if q.weigh != nil {
		weight = q.weigh(item)
	}
	q.mu.Lock()
	if q.load+weight > q.limit {
		q.dropped++
	} else {
		q.waiting = append(q.waiting, item)
		q.load += weight
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take returns all that waits, and how many were dropped since the last time.
func (q *queue[T]) take() (items []T, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, dropped = q.waiting, q.dropped
	q.waiting, q.load, q.dropped, q.taken = nil, 0, 0, len(items)
	return items, dropped
}

// done says that one of the taken items is dealt with.
func (q *queue[T]) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
}

func (q *queue[T]) state() monitor.Queue {
	q.mu.Lock()
	defer q.mu.Unlock()
	return monitor.Queue{Pending: len(q.waiting), InProgress: q.taken}
}

// each takes all that waits and handles it, in order; it stops early when ctx ends. What was dropped is
// logged in one line.
func (q *queue[T]) each(ctx context.Context, logger *slog.Logger, handle func(T)) {
	items, dropped := q.take()
	if dropped > 0 {
		logger.Warn("dropped entries of a full queue", "queue", q.name, "dropped", dropped, "limit", q.limit)
	}
	for _, item := range items {
		if ctx.Err() != nil {
			return
		}
		handle(item)
		q.done()
	}
}

// work handles items until ctx ends.
func (q *queue[T]) work(ctx context.Context, logger *slog.Logger, handle func(T)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
			q.each(ctx, logger, handle)
		}
	}
}
