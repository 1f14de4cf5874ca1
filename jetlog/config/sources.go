package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"runnel/subjects"
)

func quote(s string) string { return strconv.Quote(s) }

// generalized returns the pattern of all that a transform's destination can become.
func generalized(destination string) string {
	var b strings.Builder
	for token := range subjects.Tokens(destination) {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if strings.HasPrefix(token, "$") && len(token) > 1 && token[1] >= '0' && token[1] <= '9' ||
			strings.HasPrefix(token, "{{") {
			token = "*"
		}
		b.WriteString(token)
	}
	return b.String()
}

// checkMirror looks at what a mirror cannot have, since all it has is its origin's.
func (s *Stream) checkMirror() error {
	m := s.Mirror
	if m == nil {
		return nil
	}
	switch {
	case hasPathSeparator(m.Name) || !validName(m.Name):
		return refuse(MirrorNameInvalid)
	case len(s.Subjects) > 0:
		return refuse(MirrorWithSubjects)
	case len(s.Sources) > 0:
		return refuse(MirrorWithSources)
	case s.FirstSequence > 0:
		return refuse(MirrorFirstSequence)
	case m.StartSequence > 0 && m.StartTime != nil:
		return refuse(MirrorStartConflict)
	case m.FilterSubject != "" && len(m.Transforms) > 0:
		return refuse(MirrorFilterTransforms)
	case s.AllowAtomic:
		return refuse(MirrorAtomic)
	case s.AllowBatched:
		return refuse(MirrorBatched)
	case m.FilterSubject != "" && !subjects.ValidPattern(m.FilterSubject):
		return invalid("invalid subject")
	}
	return checkTransforms(m.Transforms, MirrorTransformSource, MirrorTransform, MirrorFiltersOverlap)
}

// checkSources looks at each source, and that no two are the same.
func (s *Stream) checkSources() error {
	var seen []string
	for _, src := range s.Sources {
		if src == nil || hasPathSeparator(src.Name) || !validName(src.Name) {
			return refuse(SourceNameInvalid)
		}
		if src.FilterSubject != "" && len(src.Transforms) > 0 {
			return refuse(SourceFilterTransforms)
		}
		if src.FilterSubject != "" && !subjects.ValidPattern(src.FilterSubject) {
			return invalid("invalid subject")
		}
		key := src.key()
		if slices.Contains(seen, key) {
			return refuse(DuplicateSource)
		}
		seen = append(seen, key)
		err := checkTransforms(src.Transforms, SourceTransformSource, SourceTransform, SourceFiltersOverlap)
		if err != nil {
			return err
		}
	}
	return nil
}

// key returns what makes a source another one.
func (s *Source) key() string {
	var external External
	var consumer string
	if s.External != nil {
		external = *s.External
	}
	if s.Consumer != nil {
		consumer = s.Consumer.Name
	}
	return fmt.Sprintf("%q %q %q %q %q", s.Name, s.FilterSubject, s.Transforms, external, consumer)
}

// checkTransforms looks at the transforms of a mirror or source, one at a time and against another.
func checkTransforms(list []Transform, badSource, bad, overlapping Code) error {
	for i, t := range list {
		if t.Source != "" && !subjects.ValidPattern(t.Source) {
			return refuseWith(badSource, "invalid transform source "+quote(t.Source))
		}
		if _, err := subjects.NewTransform(t.Source, t.Destination); err != nil {
			return refuseWith(bad, err.Error())
		}
		for _, other := range list[:i] {
			if subjects.Overlap(t.pattern(), other.pattern()) {
				return refuse(overlapping)
			}
		}
	}
	return nil
}

// Result returns a pattern of all that the transform makes of subjects.
func (t *Transform) Result() string { return generalized(t.Destination) }

// pattern returns what the transform applies to.
func (t *Transform) pattern() string {
	if t.Source == "" {
		return ">"
	}
	return t.Source
}
