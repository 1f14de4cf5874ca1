// Package lanes carries out requests on some goroutines: those that belong together one after the other, others side by side.
package lanes

import "sync"

const (
	// burst is how many requests of a lane are carried out before it is another one's turn.
	burst = 64
	// bytesMost bounds what waiting requests take, however many they may be.
	bytesMost = 64 << 20
	// spare is how many workers stay when there is nothing to do.
	spare = 2
)

// Request is what is carried out.
type Request[K comparable] interface {
	comparable
	// Lane says which lane the request belongs to.
	Lane() K
	// Bytes is how much memory it takes.
	Bytes() int
	// Brief tells whether it is answered at once, so that those behind it do not have to wait.
	Brief() bool
	// Finish is called after the request was handled: it waits for what that has started, if it has started anything.
	Finish()
	// Answered is called once what was answered is written.
	Answered()
}

// Outlet is what a worker writes answers with.
type Outlet interface {
	Flush()
	Close()
}

// Config says how lanes work. All of it is required.
type Config[K comparable, R Request[K], O Outlet] struct {
	Most   int        // workers
	Limit  func() int // how many requests may wait
	Outlet func() O   // called for each worker
	// Handle begins to carry a request out. It is called by many workers at once, but never for two requests of one lane at the
	// same time.
	Handle func(O, R)
	// Follows tells whether a request may begin before those ahead of it are finished.
	Follows func(r R, ahead []R) bool
}

// lane is requests that are carried out one after the other. It exists while there are some.
type lane[K comparable, R any] struct {
	key      K
	requests []R
}

// Lanes carry out requests: those of one lane in their order, lanes side by side, as many as there are workers. Workers
// come when they are needed, and all but a few go when they are not.
//
// Invariant: a lane that has requests is in ready, or a worker has it.
type Lanes[K comparable, R Request[K], O Outlet] struct {
	cfg Config[K, R, O]

	mu      sync.Mutex // guards everything below
	roused  *sync.Cond // something is ready, or it is closed
	byKey   map[K]*lane[K, R]
	ready   []*lane[K, R]
	waiting int // requests
	bytes   int // that they take
	workers int
	resting int // workers that have nothing to do
	closed  bool
	running sync.WaitGroup
}

// New returns lanes without a worker.
func New[K comparable, R Request[K], O Outlet](cfg Config[K, R, O]) *Lanes[K, R, O] {
	ls := &Lanes[K, R, O]{cfg: cfg, byKey: make(map[K]*lane[K, R])}
	ls.roused = sync.NewCond(&ls.mu)
	return ls
}

// Offer files a request. It is false when too many wait, or the service ends.
func (ls *Lanes[K, R, O]) Offer(r R) bool {
	key, size := r.Lane(), r.Bytes()
	most := ls.cfg.Limit()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed || ls.waiting >= most || ls.waiting > 0 && ls.bytes+size > bytesMost {
		return false
	}
	ls.waiting++
	ls.bytes += size
	l := ls.byKey[key]
	if l != nil {
		l.requests = append(l.requests, r)
		return true
	}
	l = &lane[K, R]{key: key, requests: []R{r}}
	ls.byKey[key] = l
	ls.ready = append(ls.ready, l)
	if len(ls.ready) > ls.resting && ls.workers < ls.cfg.Most {
		ls.workers++
		ls.running.Go(ls.work)
	}
	ls.roused.Signal()
	return true
}

// work carries requests out until nothing is left to do.
func (ls *Lanes[K, R, O]) work() {
	out := ls.cfg.Outlet()
	defer out.Close()
	var batch []R
	for {
		var l *lane[K, R]
		if l, batch = ls.take(batch); l == nil {
			return
		}
		ls.carryOut(out, batch)
		clear(batch)
		ls.done(l)
	}
}

// take returns a lane with some of its requests, nil when the worker is to end. The requests go into batch.
func (ls *Lanes[K, R, O]) take(batch []R) (*lane[K, R], []R) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for len(ls.ready) == 0 {
		if ls.closed || ls.resting >= spare {
			ls.workers--
			return nil, nil
		}
		ls.resting++
		ls.roused.Wait()
		ls.resting--
	}
	l := ls.ready[0]
	ls.ready[0] = nil
	ls.ready = ls.ready[1:]
	n := min(len(l.requests), burst)
	batch = append(batch[:0], l.requests[:n]...)
	clear(l.requests[:n])
	l.requests = l.requests[n:]
	ls.waiting -= n
	for _, r := range batch {
		ls.bytes -= r.Bytes()
	}
	return l, batch
}

// done gives a lane back: with more to do it is another worker's turn, or the same one's.
func (ls *Lanes[K, R, O]) done(l *lane[K, R]) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(l.requests) == 0 {
		delete(ls.byKey, l.key)
		return
	}
	ls.ready = append(ls.ready, l)
	ls.roused.Signal()
}

// carryOut carries requests out. Answers are staged, and written at the end or before something that may take its time.
func (ls *Lanes[K, R, O]) carryOut(out O, batch []R) {
	finished, written := 0, 0
	finish := func(upTo int) {
		for ; finished < upTo; finished++ {
			batch[finished].Finish()
		}
	}
	write := func(upTo int) {
		out.Flush()
		for ; written < upTo; written++ {
			batch[written].Answered()
		}
	}
	for i, r := range batch {
		if !ls.cfg.Follows(r, batch[finished:i]) {
			finish(i)
			if !r.Brief() {
				write(i)
			}
		}
		ls.cfg.Handle(out, r)
	}
	finish(len(batch))
	write(len(batch))
}

// Close ends all lanes when what they have is carried out.
func (ls *Lanes[K, R, O]) Close() {
	ls.mu.Lock()
	ls.closed = true
	ls.roused.Broadcast()
	ls.mu.Unlock()
	ls.running.Wait()
}

// Workers returns how many workers there are.
func (ls *Lanes[K, R, O]) Workers() int {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.workers
}
