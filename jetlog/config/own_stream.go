package config

import (
	"slices"
	"strings"

	"runnel/jetlog/content"
)

// The keys of a stream's metadata that say which messages are published again that it has stored, and, with the name of the
// stream behind it, which are taken over from a source; see package content.
const (
	MetadataFilterRepublish    = "runnel.filter.republish"
	MetadataFilterSourcePrefix = "runnel.filter.source."
)

// StreamFilters are the content filters of a stream.
type StreamFilters struct {
	// Republish says what is published again, nil for all.
	Republish *content.Filter
	// Sources say, by the name of the origin, what is taken over from it; where there is none that is all.
	Sources map[string]*content.Filter
}

// filterKeys are those keys of the metadata that are about content filters.
func (s *Stream) filterKeys() []string {
	var keys []string
	for key := range s.Metadata {
		if key == MetadataFilterRepublish || strings.HasPrefix(key, MetadataFilterSourcePrefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Filters returns the content filters that the metadata ask for. An error is a refusal that says what is wrong with which key.
func (s *Stream) Filters() (f StreamFilters, err error) {
	for _, key := range s.filterKeys() {
		filter, err := content.Compile(s.Metadata[key])
		if err != nil {
			return f, invalid("metadata " + key + " cannot be followed: " + err.Error())
		}
		if key == MetadataFilterRepublish {
			if s.Republish == nil {
				return f, invalid("metadata " + key + " says what is published again: set republish too, or leave this out")
			}
			f.Republish = filter
			continue
		}
		name := strings.TrimPrefix(key, MetadataFilterSourcePrefix)
		if !slices.ContainsFunc(s.Sources, func(o *Source) bool { return o.Name == name }) {
			return f, invalid("metadata " + key + " says what is taken over from the source " + name + ", which there is not: name one of the sources (a mirror takes over all)")
		}
		if f.Sources == nil {
			f.Sources = make(map[string]*content.Filter)
		}
		f.Sources[name] = filter
	}
	return f, nil
}
