package jetlog

// deadline is when something has to happen to a sequence.
type deadline struct {
	at  int64
	seq uint64
}

func (d deadline) before(e deadline) bool {
	return d.at < e.at || d.at == e.at && d.seq < e.seq
}

// deadlines is a heap, earliest first. It has no pointers, so its size costs the collector nothing.
type deadlines []deadline

func (h *deadlines) push(d deadline) {
	s := append(*h, d)
	*h = s
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !s[i].before(s[parent]) {
			break
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

// first returns when the earliest is, 0 for none.
func (h deadlines) first() int64 {
	if len(h) == 0 {
		return 0
	}
	return h[0].at
}

// pop removes the earliest. The heap must not be empty.
func (h *deadlines) pop() deadline {
	s := *h
	top := s[0]
	n := len(s) - 1
	s[0] = s[n]
	*h = s[:n]
	h.sink(0)
	return top
}

func (h deadlines) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(h[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// rebuild restores the order after the slice was changed freely.
func (h deadlines) rebuild() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

// ordered reports whether it is a heap.
func (h deadlines) ordered() bool {
	for i := range h {
		if h[i].before(h[max(i-1, 0)/2]) {
			return false
		}
	}
	return true
}
