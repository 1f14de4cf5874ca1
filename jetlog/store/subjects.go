package store

import (
	"context"
	"iter"
	"slices"
	"strings"

	"runnel/jetlog"
	"runnel/jetlog/layer"
	"runnel/jetlog/order"
)

// statesAtOnce is for how many subjects the state is looked up without letting commands in between.
const statesAtOnce = 128

// subject is one that a stream may have messages on.
type subject struct {
	name string
	sure bool // it does have some: nothing has gone from where it was found
}

// SubjectCount returns how many subjects have messages, at once. It is not known when some are in files.
func (t *Stream) SubjectCount() (n int, known bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	switch {
	case t.state == nil, t.state.State().Messages == 0:
		return 0, true
	case t.body != nil && len(t.body.liveLayers()) > 0:
		return 0, false
	}
	return t.memory().SubjectCount(), true
}

// CountSubjects counts the subjects that have messages. It may take long, and holds nothing up meanwhile: what changes
// while it counts may be counted or not. It ends with the context.
func (t *Stream) CountSubjects(ctx context.Context) (n int, err error) {
	err = t.walkSubjects(ctx, nil, func(batch []subject) (bool, error) {
		batch = slices.DeleteFunc(batch, func(s subject) bool {
			if s.sure {
				n++
			}
			return s.sure
		})
		states, err := t.statesOf(batch)
		for i := range states {
			if states[i].Count > 0 {
				n++
			}
		}
		return true, err
	})
	return n, t.blame(err)
}

// Subjects calls yield for every subject with messages that the filter matches, in order, with its state, until yield
// is false. Like CountSubjects it holds nothing up: each state is as it was at some moment of the call.
func (t *Stream) Subjects(ctx context.Context, filter jetlog.Filter, yield func(string, jetlog.SubjectState) bool) error {
	return t.blame(t.walkSubjects(ctx, filter, func(batch []subject) (bool, error) {
		states, err := t.statesOf(batch)
		for i := range states {
			if states[i].Count > 0 && !yield(batch[i].name, states[i]) {
				return false, err
			}
		}
		return true, err
	}))
}

// walkSubjects calls do with the subjects that the filter matches, some at a time, in order, until it is false. Nothing is
// locked while files are read and do runs.
func (t *Stream) walkSubjects(ctx context.Context, filter jetlog.Filter, do func([]subject) (bool, error)) error {
	sources, leave, err := t.subjectSources(filter)
	if err != nil {
		return err
	}
	defer leave()
	batch := make([]subject, 0, statesAtOnce)
	for s, err := range order.Merge(sources, func(a, b subject) int { return strings.Compare(a.name, b.name) }) {
		if err != nil {
			return err
		}
		if batch = append(batch, s); len(batch) < statesAtOnce {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err := do(batch); !more || err != nil {
			return err
		}
		batch = batch[:0]
	}
	_, err = do(batch)
	return err
}

// statesOf returns the states of subjects.
func (t *Stream) statesOf(batch []subject) (states []jetlog.SubjectState, err error) {
	if len(batch) == 0 {
		return nil, nil
	}
	err = t.View(func(_ *jetlog.Stream, m jetlog.Messages) error {
		states = states[:0]
		for i := range batch {
			state, err := m.Subject(batch[i].name)
			if err != nil {
				return err
			}
			states = append(states, state)
		}
		return nil
	})
	return states, err
}

// subjectSources returns where subjects are found, as it is now. Of those with the same subject the last is right. leave
// must be called when they are done with.
func (t *Stream) subjectSources(filter jetlog.Filter) (sources []iter.Seq2[subject, error], leave func(), err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.state == nil {
		return nil, nil, t.Err()
	}
	var entered []*layer.File
	leave = func() {
		for _, f := range entered {
			f.Leave()
		}
	}
	var sure []iter.Seq2[subject, error]
	if t.body != nil {
		for _, l := range t.body.liveLayers() {
			if p, ok := l.(*layer.Part); ok {
				if err := p.File.Enter(); err != nil {
					leave()
					return nil, nil, err
				}
				entered = append(entered, p.File)
			}
			s := l.Span()
			whole := s.Removed == 0 && s.First > t.body.Gone.Floor()
			source := subjectsIn(l, filter, whole)
			if whole {
				sure = append(sure, source)
			} else {
				sources = append(sources, source)
			}
		}
	}
	names := t.memory().AppendSubjects(nil)
	sure = append(sure, func(yield func(subject, error) bool) {
		names = slices.DeleteFunc(names, func(name string) bool { return !filter.Matches(name) })
		slices.Sort(names)
		for _, name := range names {
			if !yield(subject{name, true}, nil) {
				return
			}
		}
	})
	return append(sources, sure...), leave, nil
}

// liveLayers returns the layers that may have live messages.
func (b *body) liveLayers() []layer.Layer {
	var live []layer.Layer
	for _, l := range b.Layers {
		if l.Span().Last > b.Gone.Floor() {
			live = append(live, l)
		}
	}
	return live
}

// subjectsIn yields the subjects of a layer.
func subjectsIn(l layer.Layer, filter jetlog.Filter, sure bool) iter.Seq2[subject, error] {
	return func(yield func(subject, error) bool) {
		p, ok := l.(*layer.Part)
		if !ok {
			for name, err := range l.Subjects(nil, filter) {
				if !yield(subject{name, sure}, err) {
					return
				}
			}
			return
		}
		pattern := ""
		if len(filter) == 1 {
			pattern = filter[0]
		}
		for s, err := range p.File.Segment.Subjects(p.Stream, pattern) {
			if err == nil && !filter.Matches(s.Subject) {
				continue
			}
			if !yield(subject{s.Subject, sure}, err) {
				return
			}
		}
	}
}
