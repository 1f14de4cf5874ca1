package accounts

import (
	"errors"
	"fmt"

	"runnel/subjects"
)

// allWeights is what the weights of a mapping amount to together, at most.
const allWeights = 100

// Mapping rewrites subjects that match a source. It is immutable and safe for concurrent use.
type Mapping struct {
	source string
	// order is the place in the configuration.
	order   int
	literal bool
	choices []choice
}

// choice is one destination. It is taken when a number of 0 to 99 is below limit, and not below
// that of the choice before.
type choice struct {
	limit int
	to    *subjects.Transform
}

// newMapping compiles a mapping.
func newMapping(cfg *MappingConfig, order int) (*Mapping, error) {
	m := &Mapping{source: cfg.Source, order: order, literal: subjects.IsLiteral(cfg.Source)}
	if !subjects.ValidPattern(cfg.Source) {
		return nil, fmt.Errorf("the source %q is not a valid subject", cfg.Source)
	}
	limit, lossy := 0, false
	seen := make(map[string]bool, len(cfg.Destinations))
	for _, d := range cfg.Destinations {
		if seen[d.Subject] {
			return nil, fmt.Errorf("the destination %q is there twice", d.Subject)
		}
		seen[d.Subject] = true
		if d.Weight < 0 || d.Weight > allWeights-limit {
			return nil, fmt.Errorf("the weights add up to more than 100, or one is below 0, at the destination %q", d.Subject)
		}
		to, err := newDestination(cfg.Source, d.Subject)
		if err != nil {
			return nil, err
		}
		limit += d.Weight
		lossy = lossy || d.Subject == cfg.Source
		if d.Weight > 0 {
			m.choices = append(m.choices, choice{limit, to})
		}
	}
	if limit < allWeights && !lossy {
		same, err := subjects.NewTransform(cfg.Source, "")
		if err != nil {
			return nil, err
		}
		m.choices = append(m.choices, choice{allWeights, same})
	}
	return m, nil
}

// newDestination compiles a destination. The source itself, as it is written, stands for the
// subject as it is.
func newDestination(source, destination string) (*subjects.Transform, error) {
	switch destination {
	case "":
		return nil, errors.New("a destination is empty")
	case source:
		return subjects.NewTransform(source, "")
	}
	return subjects.NewTransform(source, destination)
}

// Source returns the pattern of the subjects that the mapping is for.
func (m *Mapping) Source() string { return m.source }

// Fixed returns what subject becomes, and true, when that does not depend on chance and no share
// of the messages is lost.
func (m *Mapping) Fixed(subject string) (to string, ok bool) {
	if len(m.choices) == 0 || m.choices[0].limit < allWeights || m.choices[0].to.Random() {
		return "", false
	}
	return m.choices[0].to.Apply(subject)
}

// Choose returns what one message's subject becomes, or false when the message is lost. random
// returns a number of at least 0 and less than n.
func (m *Mapping) Choose(subject string, random func(n int) int) (to string, ok bool) {
	n := 0
	if len(m.choices) > 0 && m.choices[0].limit < allWeights {
		n = random(allWeights)
	}
	for _, c := range m.choices {
		if n < c.limit {
			return c.to.ApplyWith(subject, random)
		}
	}
	return "", false
}

// mappings finds the mapping of a subject. It is immutable, and a nil one has none.
type mappings struct {
	config []MappingConfig
	table  subjects.Patterns[*Mapping]
}

// newMappings compiles mappings, and leaves out those that it returns an error for.
func newMappings(cfg []MappingConfig) (*mappings, []error) {
	if len(cfg) == 0 {
		return nil, nil
	}
	x := &mappings{config: cfg}
	var errs []error
	seen := make(map[string]bool)
	for i := range cfg {
		m, err := newMapping(&cfg[i], i)
		if err == nil && seen[m.source] {
			err = fmt.Errorf("there is another mapping of the source %q", m.source)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("mappings[%d]: %w", i, err))
			continue
		}
		seen[m.source] = true
		x.table.Add(m.source, m)
	}
	if x.table.Len() == 0 {
		return nil, errs
	}
	return x, errs
}

// find returns the mapping of subject, nil for none: the one of exactly this source, or else the
// first configured that matches.
func (x *mappings) find(subject string) (best *Mapping) {
	if x == nil {
		return nil
	}
	for m := range x.table.Match(subject) {
		if m.literal {
			return m
		}
		if best == nil || m.order < best.order {
			best = m
		}
	}
	return best
}
