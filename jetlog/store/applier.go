package store

import (
	"slices"

	"runnel/jetlog/layer"
	"runnel/jetlog/order"
)

const (
	// applyAtOnce is how many commands of a stream are applied, and answered, without letting readers in between; a pack
	// is not divided. It is small so that who was answered first goes on while the rest is applied: when the log is
	// ready to write again, most of what comes next is there, and one sync is enough for it.
	applyAtOnce = 16
	// keepSteps is how many steps an applier has room for when it rests.
	keepSteps = 1024
)

// applier is what whoever applies the commands of a shard keeps from one batch to the next.
type applier struct {
	asker layer.Asker
	// A stream is locked, and its state is brought into the processor's caches, once for all its commands.
	grouper order.Grouper[entry]
	steps   []step
	batch   []entry   // scratch of help
	flushes []Flusher // who is to be flushed at the end of the batch
	asked   bool      // a file was read in this batch
	hasty   bool      // waits for no reader of a stream
}

// learn has a question answered that stands in the way, if there is one.
func (w *applier) learn() {
	if w.asker.Asked {
		w.asked = true
		w.asker.Learn()
	}
}

// apply carries out what is safe, and answers it. With a failure of the store it is only answered. asked is
// whether files had to be read for it. What is left is of streams that a hasty applier would have had to wait for.
func (w *applier) apply(batch []entry, failure error) (left []entry, asked bool) {
	w.asked = false
	slot := func(e *entry) *int { return &e.stream.group }
	for rest := w.grouper.Group(batch, slot); len(rest) > 0; {
		n := together(rest)
		if !rest[0].stream.apply(w, rest[:n], failure) {
			left = append(left, rest...)
			break
		}
		rest = rest[n:]
	}
	w.grouper.Clear()
	w.flush()
	return left, w.asked
}

// flush flushes whoever is to be flushed at the end of a batch.
func (w *applier) flush() {
	for i, f := range w.flushes {
		w.flushes[i] = nil
		f.Flush()
	}
	w.flushes = w.flushes[:0]
}

// together returns how many entries at the beginning are of one stream, and not too many for one lock.
func together(batch []entry) int {
	n, commands := 1, batch[0].count()
	for ; n < len(batch) && batch[n].stream == batch[0].stream; n++ {
		if commands += batch[n].count(); commands > applyAtOnce {
			break
		}
	}
	return n
}

// expand returns the commands of a batch one by one, in memory that is used again. They have failed if there is a
// failure.
func (w *applier) expand(batch []entry, failure error) []step {
	w.steps = w.steps[:0]
	for i := range batch {
		e := &batch[i]
		for j := range e.count() {
			w.steps = append(w.steps, step{command: e.at(j), position: e.position, outcome: outcome{err: failure}})
		}
	}
	return w.steps
}

// answer gives everybody what the steps have come to, and forgets it.
func (w *applier) answer(batch []entry) {
	steps := w.steps
	for i := range batch {
		e := &batch[i]
		n := e.count()
		for j := range steps[:n] {
			e.answers.Answer(j, steps[j].result, steps[j].err)
		}
		steps = steps[n:]
		if f := e.answers.Answered(); f != nil && !slices.Contains(w.flushes, f) {
			w.flushes = append(w.flushes, f)
		}
	}
	clear(w.steps)
	if cap(w.steps) > keepSteps {
		w.steps = nil
	}
}
