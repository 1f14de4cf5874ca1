package jetstream

import (
	"sync"
)

const (
	// laneRequests bounds what waits in one lane; more is dropped, and the client asks again.
	laneRequests = 2048
	// laneBurst is how many requests a lane answers before what it has staged is written.
	laneBurst = 64
)

// lane carries out requests in their order, on one goroutine of its own.
type lane struct {
	requests chan *request
	outlet   Outlet
}

func newLane(outlet Outlet) *lane {
	return &lane{requests: make(chan *request, laneRequests), outlet: outlet}
}

// offer files a request, and is false when too many wait already.
func (l *lane) offer(r *request) bool {
	select {
	case l.requests <- r:
		return true
	default:
		return false
	}
}

// run carries requests out until the lane is closed. Answers are staged and written when no request waits, or
// after a burst.
func (l *lane) run(handle func(Outlet, *request)) {
	defer l.outlet.Close()
	var answered []func()
	for r := range l.requests {
		for n := 0; r != nil; n++ {
			handle(l.outlet, r)
			if r.answered != nil {
				answered = append(answered, r.answered)
			}
			if r = nil; n < laneBurst {
				r = l.next()
			}
		}
		l.outlet.Flush()
		for i, f := range answered {
			answered[i] = nil
			f()
		}
		answered = answered[:0]
	}
}

// next returns a request that waits, nil for none.
func (l *lane) next() *request {
	select {
	case r := <-l.requests:
		return r // nil when the lane is closed
	default:
		return nil
	}
}

// lanes are all lanes of a service.
type lanes struct {
	mu      sync.RWMutex // guards closed against offers: nothing is sent on a closed channel
	closed  bool
	changes []*lane
	looks   []*lane
	running sync.WaitGroup
}

const (
	changeLanes = 8
	lookLanes   = 4
)

func newLanes(outlet func() Outlet, handle func(Outlet, *request)) *lanes {
	ls := &lanes{}
	for range changeLanes {
		ls.changes = append(ls.changes, newLane(outlet()))
	}
	for range lookLanes {
		ls.looks = append(ls.looks, newLane(outlet()))
	}
	for _, l := range append(ls.changes[:len(ls.changes):len(ls.changes)], ls.looks...) {
		ls.running.Go(func() { l.run(handle) })
	}
	return ls
}

// offer files a request on the lane of its stream if it changes something, on any other if it looks. It is false
// when the service ends or too many requests wait.
func (ls *lanes) offer(r *request) bool {
	ls.mu.RLock()
	defer ls.mu.RUnlock()
	if ls.closed {
		return false
	}
	if r.changes() {
		return ls.changes[r.place()%changeLanes].offer(r)
	}
	return ls.looks[r.place()%lookLanes].offer(r)
}

// close ends all lanes when what they have is carried out.
func (ls *lanes) close() {
	ls.mu.Lock()
	if !ls.closed {
		ls.closed = true
		for _, l := range ls.changes {
			close(l.requests)
		}
		for _, l := range ls.looks {
			close(l.requests)
		}
	}
	ls.mu.Unlock()
	ls.running.Wait()
}
