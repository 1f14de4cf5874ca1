package wal

// queue is what was appended and is not written yet. It belongs to the Log, under its mutex.
//
// A batch gets its place when it begins: so checksums are made while the batch before it is being synced,
// and what was accepted has room on the disk.
type queue struct {
	next    uint64   // sequence of the next batch
	segment *segment // where the next batch goes; nil: into a segment that is still to be begun
	offset  int64    // where in it
	current *batch   // takes records; nil until somebody has some
	sealed  []*batch // full ones before it: what came next did not fit into the segment
	writing *batch   // the writer has it
	bytes   int      // of records in sealed and current
	free    []*batch // for the next ones
}

// full reports whether so many bytes have to wait until the writer has taken what is there.
func (q *queue) full(size, most int) bool { return q.bytes > 0 && q.bytes+size > most }

// place returns the batch that so many bytes of records go into, if the segment has room for them.
func (q *queue) place(size, most int) *batch {
	if q.full(size, most) {
		return nil
	}
	switch {
	case !q.fits(size):
		return nil
	case q.current == nil:
		q.current = q.take()
		q.current.begin(q.segment, q.offset, q.next)
		q.next++
	}
	return q.current
}

// fits reports whether the segment has room for so many bytes of records.
func (q *queue) fits(size int) bool {
	if b := q.current; b != nil {
		return b.offset+align(int64(len(b.buf)+size)) <= q.segment.bytes
	}
	return q.segment != nil && q.offset+align(int64(batchHeader+size)) <= q.segment.bytes
}

// take returns a batch that is not in use.
func (q *queue) take() *batch {
	n := len(q.free) - 1
	if n < 0 {
		return &batch{}
	}
	b := q.free[n]
	q.free = q.free[:n]
	return b
}

// begin goes on in another segment.
func (q *queue) begin(s *segment) {
	if q.current != nil {
		q.sealed = append(q.sealed, q.current)
		q.current = nil
	}
	q.segment, q.offset = s, segmentHeader
}

// pop hands the next batch to the writer; nil if there is none.
func (q *queue) pop() *batch {
	switch {
	case len(q.sealed) > 0:
		q.writing = q.sealed[0]
		q.sealed = append(q.sealed[:0], q.sealed[1:]...)
	case q.current != nil:
		q.writing, q.current = q.current, nil
		q.offset = q.writing.end()
	default:
		return nil
	}
	q.bytes -= len(q.writing.buf) - batchHeader
	return q.writing
}

// finish takes the batch back from the writer. Of the buffers it keeps those that are not unusually large.
func (q *queue) finish(most int) {
	b := q.writing
	q.writing = nil
	if b.done != nil {
		close(b.done)
		b.done = nil
	}
	if cap(b.buf) <= 2*most && len(q.free) < 3 {
		q.free = append(q.free, b)
	}
}

// find returns the batch with a sequence that is not through.
func (q *queue) find(sequence uint64) *batch {
	if q.writing != nil && q.writing.sequence == sequence {
		return q.writing
	}
	for _, b := range q.sealed {
		if b.sequence == sequence {
			return b
		}
	}
	return q.current
}

// wait is the channel that is closed when the batch is through.
func (b *batch) wait() <-chan struct{} {
	if b.done == nil {
		b.done = make(chan struct{})
	}
	return b.done
}

// abandon lets everybody go who waits for a batch.
func (q *queue) abandon() {
	for _, b := range append(q.sealed, q.current, q.writing) {
		if b != nil && b.done != nil {
			close(b.done)
			b.done = nil
		}
	}
}
