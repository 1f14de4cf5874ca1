package store

import (
	"context"
	"iter"
	"slices"
	"strings"

	"runnel/jetlog"
	"runnel/jetlog/layer"
	"runnel/jetlog/order"
	"runnel/jetlog/siphash"
)

// statesAtOnce is for how many subjects the state is looked up without letting commands in between.
const statesAtOnce = 128

// SubjectCount returns how many subjects have messages, at once. It is not known when some are in files.
func (t *Stream) SubjectCount() (n int, known bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	switch {
	case t.state == nil, t.state.State().Messages == 0:
		return 0, true
	case t.body != nil && len(t.body.Live()) > 0:
		return 0, false
	}
	return t.memory().SubjectCount(), true
}

// CountSubjects counts the subjects that have messages. It may take long, and holds nothing up meanwhile: what changes
// while it counts may be counted or not. It ends with the context.
func (t *Stream) CountSubjects(ctx context.Context) (n int, err error) {
	if n, exact, err := t.countByFacts(ctx); exact || err != nil {
		return n, t.blame(err)
	}
	err = t.Subjects(ctx, nil, func(string, jetlog.SubjectState) bool { n++; return true })
	return n, err
}

// countByFacts counts by what files say of subjects, which is much less work than to go through their names. exact is false
// if that does not tell.
func (t *Stream) countByFacts(ctx context.Context) (n int, exact bool, err error) {
	parts, purged, changed, key, leave, err := t.factSources()
	if err != nil || leave == nil {
		return 0, false, err
	}
	defer leave()
	return layer.CountSubjects(ctx, parts, purged, changed, key.Sum, t.statesOf)
}

// factSources returns the files that are asked about subjects, as it is now, up to where the stream was purged, and the
// subjects about which they may not know the newest. leave must be called; it is nil without files.
func (t *Stream) factSources() (parts []*layer.Part, purged uint64, changed []string, key siphash.Key, leave func(), err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	b := t.body
	if b == nil {
		return nil, 0, nil, key, nil, nil
	}
	for _, p := range b.Parts {
		if !p.Covered {
			now := *p // compaction may cover it
			parts = append(parts, &now)
		}
	}
	leave, err = layer.EnterAll(parts)
	return parts, b.Purged, b.Changed(), b.Key, leave, err
}

// Subjects calls yield for every subject with messages that the filter matches, in order, with its state, until yield
// is false. Like CountSubjects it holds nothing up: each state is as it was at some moment of the call.
func (t *Stream) Subjects(ctx context.Context, filter jetlog.Filter, yield func(string, jetlog.SubjectState) bool) error {
	return t.blame(t.walkSubjects(ctx, filter, func(batch []string) (bool, error) {
		states, err := t.statesOf(batch)
		for i := range states {
			if states[i].Count > 0 && !yield(batch[i], states[i]) {
				return false, err
			}
		}
		return true, err
	}))
}

// walkSubjects calls do with the subjects that the filter matches, some at a time, in order, until it is false. Nothing is
// locked while files are read and do runs.
func (t *Stream) walkSubjects(ctx context.Context, filter jetlog.Filter, do func([]string) (bool, error)) error {
	sources, leave, err := t.subjectSources(filter)
	if err != nil {
		return err
	}
	defer leave()
	batch := make([]string, 0, statesAtOnce)
	for s, err := range order.Merge(sources, strings.Compare) {
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
func (t *Stream) statesOf(batch []string) (states []jetlog.SubjectState, err error) {
	if len(batch) == 0 {
		return nil, nil
	}
	err = t.View(func(_ *jetlog.Stream, m jetlog.Messages) error {
		states = states[:0]
		for i := range batch {
			state, err := m.Subject(batch[i])
			if err != nil {
				return err
			}
			states = append(states, state)
		}
		return nil
	})
	return states, err
}

// subjectSources returns where subjects are found, as it is now. leave must be called when they are done with.
func (t *Stream) subjectSources(filter jetlog.Filter) (sources []iter.Seq2[string, error], leave func(), err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.state == nil {
		return nil, nil, t.Err()
	}
	leave = func() {}
	if t.body != nil {
		if leave, err = layer.EnterAll(t.body.Parts); err != nil {
			return nil, nil, err
		}
		for _, l := range t.body.Live() {
			sources = append(sources, subjectsIn(l, filter))
		}
	}
	names := t.memory().AppendSubjects(nil)
	return append(sources, func(yield func(string, error) bool) {
		names = slices.DeleteFunc(names, func(name string) bool { return !filter.Matches(name) })
		slices.Sort(names)
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}), leave, nil
}

// subjectsIn yields the subjects of a layer, a file's one by one.
func subjectsIn(l layer.Layer, filter jetlog.Filter) iter.Seq2[string, error] {
	p, ok := l.(*layer.Part)
	if !ok {
		return l.Subjects(nil, filter)
	}
	pattern := ""
	if len(filter) == 1 {
		pattern = filter[0]
	}
	return func(yield func(string, error) bool) {
		for s, err := range p.File.Segment.Subjects(p.Stream, pattern) {
			if (err != nil || filter.Matches(s.Subject)) && !yield(s.Subject, err) {
				return
			}
		}
	}
}
