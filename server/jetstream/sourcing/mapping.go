package sourcing

import (
	"runnel/jetlog/config"
	"runnel/subjects"
)

// mapping says which messages of an origin are wanted, and under which subjects.
type mapping struct {
	filters []string // of the origin's consumer, none for all
	rules   []rule
	after   *rule // of the stream into which is copied, nil for none
}

// rule rewrites the subjects that match its pattern; without a transform they stay.
type rule struct {
	pattern   string
	transform *subjects.Transform
}

// newRule returns a rule; a transform that means nothing leaves subjects as they are, since the configuration was
// checked.
func newRule(t config.Transform) rule {
	r := rule{pattern: t.Source}
	if r.pattern == "" {
		r.pattern = ">"
	}
	if t.Destination != "" {
		r.transform, _ = subjects.NewTransform(t.Source, t.Destination)
	}
	return r
}

func newMapping(source *config.Source, after *config.Transform) mapping {
	var m mapping
	if source.FilterSubject != "" {
		m.filters = []string{source.FilterSubject}
	}
	for _, t := range source.Transforms {
		r := newRule(t)
		m.rules = append(m.rules, r)
		m.filters = append(m.filters, r.pattern)
	}
	if len(m.filters) == 1 && m.filters[0] == ">" {
		m.filters = nil
	}
	if after != nil {
		r := newRule(*after)
		m.after = &r
	}
	return m
}

// apply returns the subject under which a message is stored, false for one that is not wanted.
func (m *mapping) apply(subject string) (string, bool) {
	to, ok := subject, len(m.rules) == 0
	for i := range m.rules {
		if subjects.Match(m.rules[i].pattern, subject) {
			to, ok = m.rules[i].apply(subject), true
			break
		}
	}
	if !ok {
		return "", false
	}
	if m.after != nil && subjects.Match(m.after.pattern, to) {
		to = m.after.apply(to)
	}
	return to, true
}

func (r *rule) apply(subject string) string {
	if r.transform == nil {
		return subject
	}
	if to, ok := r.transform.Apply(subject); ok {
		return to
	}
	return subject
}
