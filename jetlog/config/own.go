package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ownPrefix is what keys of metadata begin with that ask us for something. One that we do not know is refused: what it
// asks for cannot be left out silently.
const ownPrefix = "runnel."

// foreignKey returns the first key, in their order, that begins with ownPrefix and is none of those known.
func foreignKey(metadata map[string]string, known ...string) string {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if strings.HasPrefix(key, ownPrefix) && !slices.Contains(known, key) {
			return key
		}
	}
	return ""
}

// checkOwn looks at what a stream's metadata asks for.
func (s *Stream) checkOwn() error {
	if key := foreignKey(s.Metadata, MetadataSync); key != "" {
		return invalid("metadata " + strconv.Quote(key) + " is not known: what begins with runnel. and is known of streams is " + MetadataSync)
	}
	if _, err := ParseSync(s.Metadata[MetadataSync]); err != nil {
		return invalid("metadata " + strconv.Quote(MetadataSync) + ": " + err.Error())
	}
	return nil
}

// checkOwn looks at what a consumer's metadata asks for.
func (c *Consumer) checkOwn() error {
	if key := foreignKey(c.Metadata); key != "" {
		return refuseWith(ConsumerUpdateRefused, "metadata "+strconv.Quote(key)+" is not known: nothing that begins with runnel. is known of consumers yet")
	}
	return nil
}
