package replies

// owner has what waits for one account: a heap by deadline, so the request that expires next is first.
type owner[A comparable, V any] struct {
	queue []*waiting[A, V]
	bytes int // sum over the queue
}

func (o *owner[A, V]) push(w *waiting[A, V]) {
	w.at = len(o.queue)
	o.queue = append(o.queue, w)
	o.bytes += w.Bytes
	o.up(w.at)
}

// remove puts the last of the queue in the place of w.
func (o *owner[A, V]) remove(w *waiting[A, V]) {
	at, last := w.at, len(o.queue)-1
	o.swap(at, last)
	o.queue[last] = nil
	o.queue = o.queue[:last]
	o.bytes -= w.Bytes
	if at < last {
		o.fix(at)
	}
}

// fix brings the request at i to its place after its deadline has changed.
func (o *owner[A, V]) fix(i int) {
	if !o.down(i) {
		o.up(i)
	}
}

func (o *owner[A, V]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !o.before(i, parent) {
			return
		}
		o.swap(i, parent)
		i = parent
	}
}

// down tells whether the request at i had to move.
func (o *owner[A, V]) down(i int) (moved bool) {
	for {
		child := 2*i + 1
		if child >= len(o.queue) {
			return moved
		}
		if child+1 < len(o.queue) && o.before(child+1, child) {
			child++
		}
		if !o.before(child, i) {
			return moved
		}
		o.swap(i, child)
		i, moved = child, true
	}
}

func (o *owner[A, V]) before(i, j int) bool { return o.queue[i].deadline.Before(o.queue[j].deadline) }

func (o *owner[A, V]) swap(i, j int) {
	o.queue[i], o.queue[j] = o.queue[j], o.queue[i]
	o.queue[i].at, o.queue[j].at = i, j
}
