package config

import (
	"maps"
	"slices"
	"time"

	"runnel/subjects"
)

// The bounds and defaults of a stream's values.
const (
	maxReplicas            = 5
	minMaxAge              = 100 * time.Millisecond
	minMarkerTTL           = time.Second
	defaultDuplicateWindow = 2 * time.Minute
	maxFirstSequence       = 1 << 62 // more are left than will ever be given
)

// Normalized returns the configuration with its defaults filled in, or an *Error. What is given is
// not changed. A pedantic caller gets an error instead where a value would be changed that he gave.
func (s Stream) Normalized(limits Limits, pedantic bool) (Stream, error) {
	s.Subjects = slices.Clone(s.Subjects)
	s.Metadata = maps.Clone(s.Metadata)
	steps := [...]func(*Stream) error{
		(*Stream).checkNames,
		(*Stream).checkOwn,
		(*Stream).normalizeNumbers,
		func(s *Stream) error { return s.normalizeWindow(limits, pedantic) },
		func(s *Stream) error { return s.normalizeMarkers(pedantic) },
		(*Stream).normalizeSealed,
		(*Stream).checkPolicies,
		(*Stream).checkCounters,
		(*Stream).checkMirror,
		(*Stream).checkSources,
		(*Stream).normalizeSubjects,
		(*Stream).checkRewriting,
	}
	for _, step := range steps {
		if err := step(&s); err != nil {
			return Stream{}, err
		}
	}
	return s, nil
}

// checkNames looks at what people write.
func (s *Stream) checkNames() error {
	switch {
	case hasPathSeparator(s.Name):
		return refuse(StreamNamePath)
	case !validName(s.Name):
		return invalid(`stream name is required and can not contain '.', '*', '>', '\', '/'`)
	case len(s.Description) > descriptionBytes:
		return invalid("stream description is too long, maximum allowed is 4096")
	case metadataSize(s.Metadata) > metadataBytes:
		return invalid("stream metadata exceeds maximum size of 131072")
	}
	return nil
}

// normalizeNumbers gives what has no limit the one form of it.
func (s *Stream) normalizeNumbers() error {
	unlimited(&s.MaxConsumers)
	unlimited(&s.MaxMessages)
	unlimited(&s.MaxBytes)
	unlimited(&s.MaxPerSubject)
	unlimited(&s.MaxMessageBytes)
	switch {
	case s.Replicas < 0:
		return refuse(NegativeReplicas)
	case s.Replicas > maxReplicas:
		return invalid("maximum replicas is 5")
	case s.Replicas == 0:
		s.Replicas = 1
	}
	switch {
	case s.MaxAge < 0:
		return invalid("max age can not be negative")
	case s.MaxAge > 0 && s.MaxAge < minMaxAge:
		return invalid("max age needs to be >= 100ms")
	case s.FirstSequence > maxFirstSequence:
		return invalid("first sequence leaves too few for messages, maximum allowed is 4611686018427387904")
	}
	return nil
}

// unlimited turns what is no limit into -1.
func unlimited[T int | int32 | int64](n *T) {
	if *n <= 0 {
		*n = -1
	}
}

// normalizeWindow fills in how long message ids are remembered: not longer than messages live, nor than
// the server allows. What is only copied has its ids checked at its origin.
func (s *Stream) normalizeWindow(limits Limits, pedantic bool) error {
	ceiling := limits.DuplicateWindow
	if s.DuplicateWindow == 0 && s.Mirror == nil && (len(s.Sources) == 0 || len(s.Subjects) > 0) {
		s.DuplicateWindow = defaultDuplicateWindow
		for _, most := range [...]time.Duration{s.MaxAge, ceiling} {
			if most > 0 && most < s.DuplicateWindow {
				s.DuplicateWindow = most
			}
		}
	}
	switch window := s.DuplicateWindow; {
	case window < 0:
		return invalid("duplicates window can not be negative")
	case s.MaxAge > 0 && window > s.MaxAge:
		return invalid("duplicates window can not be larger then max age")
	case ceiling > 0 && window > ceiling && pedantic:
		return refuseWith(Pedantic, "pedantic mode: duplicate window exceeds the server limit")
	case ceiling > 0 && window > ceiling:
		return invalid("duplicates window can not be larger then server limit of " + ceiling.String())
	case window > 0 && window < minMaxAge:
		return invalid("duplicates window needs to be >= 100ms")
	}
	return nil
}

// normalizeMarkers turns on what markers and schedules are made of.
func (s *Stream) normalizeMarkers(pedantic bool) error {
	switch {
	case s.MarkerTTL < 0:
		return invalid("subject delete marker TTL must not be negative")
	case s.MarkerTTL > 0 && s.MarkerTTL < minMarkerTTL:
		return invalid("subject delete marker TTL must be at least 1 second")
	case s.MarkerTTL > 0 && s.Mirror != nil:
		return invalid("subject delete markers forbidden on mirrors")
	case s.MarkerTTL > 0 && pedantic && (!s.AllowTTL || !s.AllowRollup):
		return refuseWith(Pedantic, "pedantic mode: subject delete marker cannot be set if message TTLs or roll-ups are disabled")
	case s.MarkerTTL > 0 && s.DenyPurge:
		return invalid("roll-ups require the purge permission")
	}
	if s.MarkerTTL > 0 {
		s.AllowTTL, s.AllowRollup = true, true
	}
	if s.AllowSchedules && !s.AllowRollup {
		if pedantic {
			return refuseWith(Pedantic, "pedantic mode: message schedules cannot be set if roll-ups are disabled")
		}
		s.AllowRollup = true
	}
	return nil
}

// normalizeSealed lets a sealed stream refuse whatever would change it.
func (s *Stream) normalizeSealed() error {
	if s.Sealed {
		s.MaxAge = 0
		s.Discard = DiscardNew
		s.DenyDelete, s.DenyPurge, s.AllowRollup = true, true, false
	}
	return nil
}

// checkPolicies looks at values that exclude others.
func (s *Stream) checkPolicies() error {
	switch {
	case s.DenyPurge && s.AllowRollup:
		return invalid("roll-ups require the purge permission")
	case s.DiscardNewPerSubject && s.Discard != DiscardNew:
		return invalid("discard new per subject requires discard new policy to be set")
	case s.DiscardNewPerSubject && s.MaxPerSubject <= 0:
		return invalid("discard new per subject requires max msgs per subject > 0")
	case s.Persist == PersistAsync && (s.Storage != FileStorage || s.Replicas > 1):
		return invalid("async persist mode is only supported on file storage with one replica")
	case s.Persist == PersistAsync && s.AllowAtomic:
		return invalid("async persist mode is not supported with atomic batch publish")
	case s.ConsumerLimits.InactiveThreshold < 0:
		return invalid("consumer limits inactive threshold can not be negative")
	case s.ConsumerLimits.MaxAckPending < 0:
		return invalid("consumer limits max ack pending can not be negative")
	case s.Placement != nil && s.Placement.Preferred != "":
		return invalid("preferred server not permitted in placement")
	}
	if p := s.Placement; p != nil && p.Cluster == "" && len(p.Tags) == 0 {
		s.Placement = nil // some clients write down that they have no wish
	}
	return nil
}

// checkCounters looks at what counters and schedules do not go together with.
func (s *Stream) checkCounters() error {
	if s.AllowCounter {
		switch {
		case s.Mirror != nil:
			return refuse(MirrorCounters)
		case s.Retention != LimitsRetention:
			return invalid("counter stream can only be used with limits retention")
		case s.Discard == DiscardNew:
			return invalid("counter stream cannot use discard new")
		case s.AllowTTL:
			return invalid("counter stream cannot use message TTLs")
		case s.AllowSchedules:
			return invalid("counter stream cannot use message schedules")
		}
	}
	if s.AllowSchedules {
		switch {
		case s.Mirror != nil:
			return refuse(MirrorSchedules)
		case len(s.Sources) > 0:
			return refuse(SourceSchedules)
		case s.Discard == DiscardNew:
			return invalid("message schedules cannot use discard new")
		}
	}
	return nil
}

// normalizeSubjects fills in the subject of a stream that has none, and lets no message match two.
func (s *Stream) normalizeSubjects() error {
	if len(s.Subjects) == 0 && s.Mirror == nil && len(s.Sources) == 0 {
		s.Subjects = []string{s.Name}
	}
	for i, subject := range s.Subjects {
		if !subjects.ValidPattern(subject) {
			return invalid("invalid subject")
		}
		if err := s.checkReserved(subject); err != nil {
			return err
		}
		for _, other := range s.Subjects[:i] {
			switch {
			case subject == other:
				return invalid("duplicate subjects detected")
			case subjects.Overlap(subject, other):
				return invalid("subject " + quote(subject) + " overlaps with " + quote(other))
			}
		}
	}
	return nil
}

// checkReserved looks at subjects on which the server itself speaks: to answer what comes there could
// go round in circles.
func (s *Stream) checkReserved(subject string) error {
	if s.NoAck {
		if subject == ">" && s.Replicas > 1 {
			return invalid("capturing all subjects requires replicas of 1")
		}
		return nil
	}
	if subject == ">" {
		return invalid("capturing all subjects requires no-ack to be true")
	}
	for _, own := range [...]string{"$JS.>", "$JSC.>", "$NRG.>", "$RUNNEL.API.>"} {
		if subjects.Overlap(subject, own) && !subjects.Subset(subject, "$JS.EVENT.>") {
			return invalid("subjects that overlap with jetstream api require no-ack to be true")
		}
	}
	if subjects.Overlap(subject, "$SYS.>") && !subjects.Subset(subject, "$SYS.ACCOUNT.>") {
		return invalid("subjects that overlap with system api require no-ack to be true")
	}
	return nil
}

// checkRewriting looks at the transform on the way in and at what is published again.
func (s *Stream) checkRewriting() error {
	if t := s.SubjectTransform; t != nil {
		if t.Source != "" && !subjects.ValidPattern(t.Source) {
			return refuseWith(TransformSource, "invalid transform source "+quote(t.Source))
		}
		if _, err := subjects.NewTransform(t.Source, t.Destination); err != nil {
			return refuseWith(TransformInvalid, err.Error())
		}
	}
	if r := s.Republish; r != nil {
		if _, err := subjects.NewTransform(r.Source, r.Destination); err != nil || r.Destination == "" {
			return invalid("stream configuration for republish with transform from " + quote(r.Source) +
				" to " + quote(r.Destination) + " not valid")
		}
		for _, subject := range s.Subjects {
			if subjects.Overlap(subject, generalized(r.Destination)) {
				return invalid("stream configuration for republish destination forms a cycle")
			}
		}
	}
	return nil
}
