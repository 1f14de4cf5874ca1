package clustered

import (
	"sync"
	"time"
)

// waitStep is how often it is looked whether requests that wait have to wait any longer.
const waitStep = 50 * time.Millisecond

// Waiting are requests that wait until it is known who leads. There is a timer only while there are some. Its methods
// are safe for concurrent use.
type Waiting[R any] struct {
	// Judge says what is to be done with a request now, and Done does it, for all verdicts but Wait.
	Judge func(r R, late bool) Verdict
	Done  func(r R, v Verdict)
	// Most bounds the requests that wait. It is called with the request.
	Most func() int

	mu     sync.Mutex // guards everything below
	list   []waiting[R]
	timer  *time.Timer
	closed bool
}

type waiting[R any] struct {
	request R
	until   time.Time
}

// Add lets a request wait. It is false when too many do.
func (w *Waiting[R]) Add(r R) bool {
	most := w.Most()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.list) >= most {
		return false
	}
	w.list = append(w.list, waiting[R]{r, time.Now().Add(Patience)})
	w.setLocked()
	return true
}

// setLocked sets the timer if somebody waits. The caller holds mu.
func (w *Waiting[R]) setLocked() {
	if w.timer == nil && len(w.list) > 0 && !w.closed {
		w.timer = time.AfterFunc(waitStep, w.look)
	}
}

// look does what there is to be done.
func (w *Waiting[R]) look() {
	now := time.Now()
	var still []waiting[R]
	for _, r := range w.take() {
		if v := w.Judge(r.request, !now.Before(r.until)); v != Wait {
			w.Done(r.request, v)
		} else {
			still = append(still, r)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(still, w.list...)
	w.timer = nil
	w.setLocked()
}

// take empties the list. The timer stays set until look is through, so that one looks at a time.
func (w *Waiting[R]) take() []waiting[R] {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	return list
}

// Close forgets who waits.
func (w *Waiting[R]) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.list = true, nil
	if w.timer != nil {
		w.timer.Stop()
	}
}
