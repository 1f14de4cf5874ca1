package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"runnel/jetlog/retry"
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

// MetadataRetry is the key of a consumer's metadata that says when what failed comes again; see package retry.
const MetadataRetry = "runnel.retry"

// Own is what a consumer's metadata ask for. The zero value asks for nothing.
type Own struct {
	// Retry says when a message comes again that was not answered, or that was asked for again without a time. It is nil for
	// at once.
	Retry *retry.Policy
}

// Own returns what the metadata ask for. An error is a refusal that says what is wrong with which key.
func (c *Consumer) Own() (Own, error) {
	if len(c.Metadata) == 0 {
		return Own{}, nil
	}
	refuse := func(key, why string) (Own, error) {
		return Own{}, refuseWith(ConsumerUpdateRefused, "metadata "+strconv.Quote(key)+" "+why)
	}
	if key := foreignKey(c.Metadata, MetadataRetry); key != "" {
		return refuse(key, "is not known: what begins with runnel. and is known of consumers is "+MetadataRetry)
	}
	var own Own
	if text, asked := c.Metadata[MetadataRetry]; asked {
		policy, err := retry.Parse(text)
		switch {
		case err != nil:
			return refuse(MetadataRetry, "cannot be followed: "+err.Error())
		case c.Ack != AckExplicit:
			return refuse(MetadataRetry, "needs ack_policy explicit")
		case len(c.Backoff) > 0:
			return refuse(MetadataRetry, "and backoff say the same thing: leave one of them out")
		}
		own.Retry = &policy
	}
	return own, nil
}

// checkOwn looks at what a consumer's metadata asks for.
func (c *Consumer) checkOwn() error {
	_, err := c.Own()
	return err
}
