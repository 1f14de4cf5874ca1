package transport

import "sync"

// events tells those who watch what happens, by one goroutine that there is only while something is to be told.
type events struct {
	t *Transport

	mu       sync.Mutex // guards what follows; nobody is called while it is held
	up       map[string]bool
	watchers map[*watcher]bool
	queue    []news
	telling  bool
}

type watcher struct{ tell func(PeerEvent) }

// news is an event for one watcher, or for all that there are when it is queued.
type news struct {
	event PeerEvent
	to    []*watcher
}

// Watch has f told of every peer that is up now and of every change from now on, in order, by one goroutine that holds no
// lock. The function that it returns ends that; f may still be running then.
func (t *Transport) Watch(f func(PeerEvent)) (stop func()) {
	e, w := t.events, &watcher{tell: f}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watchers[w] = true
	for node := range e.up {
		e.push(news{event: PeerEvent{Node: node, Up: true}, to: []*watcher{w}})
	}
	return func() { e.remove(w) }
}

func (e *events) remove(w *watcher) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.watchers, w)
}

func (e *events) watches(w *watcher) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.watchers[w]
}

// post tells all watchers.
func (e *events) post(event PeerEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if event.Up {
		e.up[event.Node] = true
	} else {
		delete(e.up, event.Node)
	}
	n := news{event: event}
	for w := range e.watchers {
		n.to = append(n.to, w)
	}
	e.push(n)
}

// push queues news. The mutex must be held.
func (e *events) push(n news) {
	e.queue = append(e.queue, n)
	if !e.telling {
		e.telling = e.t.spawn(e.tell)
	}
}

func (e *events) next() (n news, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		e.queue, e.telling = nil, false
		return n, false
	}
	n = e.queue[0]
	e.queue = e.queue[1:]
	return n, true
}

func (e *events) tell() {
	for n, ok := e.next(); ok; n, ok = e.next() {
		for _, w := range n.to {
			if e.watches(w) {
				w.tell(n.event)
			}
		}
	}
}
