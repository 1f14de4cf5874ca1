package jetstream

import (
	"sync"

	"runnel/server/jetstream/api"
)

const (
	// laneBurst is how many requests of a lane are carried out before it is another one's turn.
	laneBurst = 64
	// laneBytes bounds what waiting requests take, however many they may be.
	laneBytes = 64 << 20
	// laneSpare is how many workers stay when there is nothing to do.
	laneSpare = 2
	// changeWorkers and lookWorkers are how many requests are carried out side by side.
	changeWorkers = 32
	lookWorkers   = 16
)

// lane is requests that are carried out one after the other. It exists while there are some.
type lane struct {
	key      laneKey
	requests []*request
}

// laneKey says which requests share a lane: those about one stream of one account, and of these only the ones with
// the same spread, which is 0 for all that change something.
type laneKey struct {
	account *account
	stream  string
	spread  uint64
}

// lanes carry out requests: those of one lane in their order, lanes side by side, as many as there are workers. Workers
// come when they are needed, and all but a few go when they are not.
//
// Invariant: a lane that has requests is in ready, or a worker has it.
type lanes struct {
	outlet func() Outlet
	handle func(Outlet, *request)
	limit  func() int // how many requests may wait
	most   int        // workers

	mu      sync.Mutex // guards everything below
	roused  *sync.Cond // something is ready, or it is closed
	byKey   map[laneKey]*lane
	ready   []*lane
	waiting int // requests
	bytes   int // that they take
	workers int
	resting int // workers that have nothing to do
	closed  bool
	running sync.WaitGroup
}

// newLanes returns lanes without a worker. handle is called by many workers at once, each with an outlet of its own, but
// never for two requests of one lane at the same time.
func newLanes(most int, limit func() int, outlet func() Outlet, handle func(Outlet, *request)) *lanes {
	ls := &lanes{outlet: outlet, handle: handle, limit: limit, most: most, byKey: make(map[laneKey]*lane)}
	ls.roused = sync.NewCond(&ls.mu)
	return ls
}

// offer files a request. It is false when too many wait, or the service ends.
func (ls *lanes) offer(r *request) bool {
	key, size := r.lane(), r.message.Bytes()
	most := ls.limit()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed || ls.waiting >= most || ls.waiting > 0 && ls.bytes+size > laneBytes {
		return false
	}
	ls.waiting++
	ls.bytes += size
	l := ls.byKey[key]
	if l != nil {
		l.requests = append(l.requests, r)
		return true
	}
	l = &lane{key: key, requests: []*request{r}}
	ls.byKey[key] = l
	ls.ready = append(ls.ready, l)
	if len(ls.ready) > ls.resting && ls.workers < ls.most {
		ls.workers++
		ls.running.Go(ls.work)
	}
	ls.roused.Signal()
	return true
}

// work carries requests out until nothing is left to do.
func (ls *lanes) work() {
	out := ls.outlet()
	defer out.Close()
	var batch []*request
	for {
		var l *lane
		if l, batch = ls.take(batch); l == nil {
			return
		}
		ls.carryOut(out, batch)
		clear(batch)
		ls.done(l)
	}
}

// take returns a lane with some of its requests, nil when the worker is to end. The requests go into batch.
func (ls *lanes) take(batch []*request) (*lane, []*request) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for len(ls.ready) == 0 {
		if ls.closed || ls.resting >= laneSpare {
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
	n := min(len(l.requests), laneBurst)
	batch = append(batch[:0], l.requests[:n]...)
	clear(l.requests[:n])
	l.requests = l.requests[n:]
	ls.waiting -= n
	for _, r := range batch {
		ls.bytes -= r.message.Bytes()
	}
	return l, batch
}

// done gives a lane back: with more to do it is another worker's turn, or the same one's.
func (ls *lanes) done(l *lane) {
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
func (ls *lanes) carryOut(out Outlet, batch []*request) {
	finished, written := 0, 0
	finish := func(upTo int) {
		for ; finished < upTo; finished++ {
			if f := batch[finished].finish; f != nil {
				f()
			}
		}
	}
	write := func(upTo int) {
		out.Flush()
		for ; written < upTo; written++ {
			if f := batch[written].answered; f != nil {
				f()
			}
		}
	}
	for i, r := range batch {
		if !r.follows(batch[finished:i]) {
			finish(i)
			if !r.brief() {
				write(i)
			}
		}
		ls.handle(out, r)
	}
	finish(len(batch))
	write(len(batch))
}

// follows tells whether the request may begin before those ahead of it are finished: all of them only start a command,
// and what one looks at before that the others do not change. So the log takes many at once, and they wait for one sync.
func (r *request) follows(ahead []*request) bool {
	for _, a := range ahead {
		switch {
		case r.call.Endpoint == api.CallStreamMessageDelete:
			if a.call.Endpoint != api.CallStreamMessageDelete {
				return false
			}
		case !r.makesConsumer() || !a.makesConsumer() || r.call.Consumer == a.call.Consumer:
			return false
		}
	}
	return len(ahead) > 0
}

// makesConsumer tells whether the request creates, changes or deletes the consumer that its subject names, and whether
// it may is for the stream's state to decide when it is applied.
func (r *request) makesConsumer() bool {
	switch r.call.Endpoint {
	case api.CallConsumerCreate, api.CallConsumerDurableCreate, api.CallConsumerDelete:
		l := r.account.limits.Load()
		return r.call.Consumer != "" && l != nil && l.MaxConsumers <= 0
	}
	return false
}

// brief tells whether a request is answered at once, so that those behind it do not have to wait.
func (r *request) brief() bool {
	return r.call.Endpoint == api.CallDirectGet || r.call.Endpoint == api.CallStreamMessageGet
}

// close ends all lanes when what they have is carried out.
func (ls *lanes) close() {
	ls.mu.Lock()
	ls.closed = true
	ls.roused.Broadcast()
	ls.mu.Unlock()
	ls.running.Wait()
}
