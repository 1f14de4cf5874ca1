package accounts

import (
	"iter"
	"slices"
	"sync"
	"time"

	"runnel/subjects"
)

// Crossings is what leads subjects of an account elsewhere: its mappings, its imports, and the
// imports of others from it. It is safe for concurrent use; what its methods return is immutable.
//
// Whoever remembers what it says takes a stamp of the account's interest first: every change
// makes these invalid after it was made.
//
// A message that has come through a stream import goes on through Streams only, a request that has come
// through a service import through Services only, and neither meets a Mapping. So nothing goes in a
// circle, and each of the two kinds must be free of cycles only by itself.
type Crossings struct {
	mu       sync.RWMutex // guards all below; nothing else is locked while it is held
	mappings *mappings
	// services are the account's imports by local pattern, streams the imports of others by
	// remote pattern, sources the account's own imports of streams by local pattern.
	services subjects.Patterns[*ServiceImport]
	streams  subjects.Patterns[*StreamImport]
	sources  subjects.Patterns[*StreamImport]
}

// StreamImport is an import of a stream: it leads what is published in the exporting account to
// another. It is immutable.
type StreamImport struct {
	// Account is the importer, Exporter the account that the messages come from.
	Account, Exporter *Account
	// AllowTrace lets message traces cross.
	AllowTrace bool

	*passage
}

// Local returns the subject in the importing account of what is published on subject in the
// exporting one, and false when that is not imported.
func (i *StreamImport) Local(subject string) (string, bool) { return i.toLocal.Apply(subject) }

// Patterns returns what is imported, as the exporting account and as the importing one name it.
func (i *StreamImport) Patterns() (remote, local string) { return i.remote, i.local }

// ServiceImport is an import of a service: it leads requests of the importing account to another.
// It is immutable.
type ServiceImport struct {
	// Account is the exporter, which the requests go to, Importer where they come from.
	Account, Importer *Account
	// Share shows the service who asks.
	Share bool
	// Response is how the service answers, Threshold how long that may take, which is never 0.
	Response  ResponseType
	Threshold time.Duration
	// Latency says what is measured, nil for nothing. It must not be changed.
	Latency *LatencyConfig
	// AllowTrace lets message traces cross.
	AllowTrace bool

	*passage
}

// Remote returns the subject in the exporting account of a request on subject in the importing
// one, and false when that is not imported.
func (i *ServiceImport) Remote(subject string) (string, bool) { return i.toRemote.Apply(subject) }

// Mapping returns the mapping of what clients publish on subject: the one whose source is that
// subject, or else the first configured one that matches; nil for none.
func (x *Crossings) Mapping(subject string) *Mapping {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.mappings.find(subject)
}

// Services iterates over the services imported by the account that a request on subject enters.
func (x *Crossings) Services(subject string) iter.Seq[*ServiceImport] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Values(slices.Collect(x.services.Match(subject)))
}

// HasServices reports whether the account imports a service for subjects that pattern covers.
func (x *Crossings) HasServices(pattern string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return some(x.services.Overlapping(pattern))
}

// Streams iterates over the imports by other accounts of what is published in this one on subject.
func (x *Crossings) Streams(subject string) iter.Seq[*StreamImport] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Values(slices.Collect(x.streams.Match(subject)))
}

// Sources iterates over the imports of streams by the account that feed subscriptions to pattern,
// each with the pattern of the exporting account's subjects that do.
func (x *Crossings) Sources(pattern string) iter.Seq2[*StreamImport, string] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	found := slices.Collect(x.sources.Overlapping(pattern))
	return func(yield func(*StreamImport, string) bool) {
		for _, i := range found {
			local, _ := subjects.Intersection(pattern, i.local)
			remote, ok := i.toRemote.Apply(local)
			if ok && !yield(i, remote) {
				return
			}
		}
	}
}

// Imports reports whether messages on a subject may come from another account, by an import of a stream.
func (a *Account) Imports(subject string) bool {
	x := a.Crossings()
	if x == nil {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return some(x.sources.Overlapping(subject))
}

// Concerns reports whether a mapping, service or stream of the account could be about a subject
// that begins with prefix, which ends in a dot.
func (x *Crossings) Concerns(prefix string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	below := prefix + ">"
	if !subjects.ValidPattern(below) {
		return true // it overlaps with no pattern, but is matched, since subjects are taken literally
	}
	return x.mappings != nil && some(x.mappings.table.Overlapping(below)) ||
		some(x.services.Overlapping(below)) || some(x.streams.Overlapping(below))
}

// some reports whether there is a value.
func some[V any](values iter.Seq[V]) bool {
	for range values {
		return true
	}
	return false
}
