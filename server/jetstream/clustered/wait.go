package clustered

import (
	"sync"
	"time"
)

const (
	// waitStep is how often it is looked whether requests that wait have to wait any longer.
	waitStep = 50 * time.Millisecond
	// keptMost and keptMostBytes bound the requests that are kept. One that is not kept is not answered if the server goes that was
	// to answer it.
	keptMost      = 4096
	keptMostBytes = 8 << 20
)

// CrossTime is after how long it is looked, once, whether a request has crossed a change of who answers: it was left to the one before,
// to whom it came when that did not answer any more. If it did answer there are two answers.
const CrossTime = 500 * time.Millisecond

// Waiting are requests that wait until it is known who leads, and those that are kept while another server answers them. There is a
// timer only while there are some. Its methods are safe for concurrent use.
type Waiting[R any] struct {
	// Judge says what is to be done with a request now, and Done does it, for all verdicts but Wait.
	Judge func(r R, late bool) Verdict
	Done  func(r R, v Verdict)
	// Most bounds the requests that wait.
	Most func() int
	// Gone reports whether a server cannot be reached any more, and Orphan notes of a request that it was the one that was to
	// answer it.
	Gone   func(node string) bool
	Orphan func(r R)
	// Harmless reports whether a request may be answered twice; nil where none may be.
	Harmless func(r R) bool

	mu        sync.Mutex // guards everything below
	list      []waiting[R]
	kept      int // of the list, those that another server answers
	keptBytes int // and what they take
	timer     *time.Timer
	closed    bool
}

type waiting[R any] struct {
	request R
	came    time.Time
	by      string // who is to answer, empty if nobody is known to
	bytes   int    // that it takes, where somebody is
	settled bool   // it was looked whether it has crossed a change of who that is
}

// Add lets a request wait, which came at that time. It is false when too many do.
func (w *Waiting[R]) Add(r R, came time.Time) bool {
	most := w.Most()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.list)-w.kept >= most {
		return false
	}
	w.list = append(w.list, waiting[R]{request: r, came: came})
	w.setLocked()
	return true
}

// Keep keeps a request of so many bytes, which another server is to answer. If that server goes within Grace, the request waits like
// any other; otherwise nothing more is done with it. It is not kept when too many are.
func (w *Waiting[R]) Keep(r R, by string, bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.kept >= keptMost || w.keptBytes+bytes > keptMostBytes {
		return
	}
	w.kept++
	w.keptBytes += bytes
	w.list = append(w.list, waiting[R]{request: r, came: time.Now(), by: by, bytes: bytes})
	w.setLocked()
}

// setLocked sets the timer if there are requests. The caller holds mu.
func (w *Waiting[R]) setLocked() {
	if w.timer == nil && len(w.list) > 0 && !w.closed {
		w.timer = time.AfterFunc(waitStep, w.look)
	}
}

// look does what there is to be done.
func (w *Waiting[R]) look() {
	now := time.Now()
	gone := make(map[string]bool) // servers that it was asked of
	list := w.take()
	still := list[:0]
	for _, r := range list {
		if r.by != "" && !w.crossed(&r, now) && !w.orphaned(&r, gone) {
			if now.Sub(r.came) < Grace {
				still = append(still, r)
			}
			continue
		}
		if v := w.Judge(r.request, now.Sub(r.came) >= Patience); v != Wait {
			w.Done(r.request, v)
		} else {
			still = append(still, r)
		}
	}
	clear(list[len(still):])
	w.put(still)
}

// orphaned tells whether the server has gone that was to answer a request, which waits like any other then.
func (w *Waiting[R]) orphaned(r *waiting[R], gone map[string]bool) bool {
	if _, asked := gone[r.by]; !asked {
		gone[r.by] = w.Gone(r.by)
	}
	if !gone[r.by] {
		return false
	}
	r.by = ""
	w.Orphan(r.request)
	return true
}

// crossed tells whether this server has become the one that answers a request since it came, which is answered then.
func (w *Waiting[R]) crossed(r *waiting[R], now time.Time) bool {
	if w.Harmless == nil || r.settled || now.Sub(r.came) < CrossTime {
		return false
	}
	if r.settled = true; !w.Harmless(r.request) || w.Judge(r.request, false) != Answer {
		return false
	}
	r.by = ""
	return true
}

// take empties the list. The timer stays set until look is through, so that one looks at a time.
func (w *Waiting[R]) take() []waiting[R] {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	return list
}

// put puts what is left of what was taken back, before what has come since.
func (w *Waiting[R]) put(still []waiting[R]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	if w.closed {
		return
	}
	w.list = append(still, w.list...)
	w.kept, w.keptBytes = 0, 0
	for i := range w.list {
		if r := &w.list[i]; r.by != "" {
			w.kept++
			w.keptBytes += r.bytes
		}
	}
	w.setLocked()
}

// Close forgets all requests.
func (w *Waiting[R]) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.list = true, nil
	if w.timer != nil {
		w.timer.Stop()
	}
}
