package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"runnel/jetlog/breaker"
	"runnel/jetlog/content"
	"runnel/jetlog/keyed"
	"runnel/jetlog/retry"
)

// ownPrefix is what keys of metadata begin with that ask us for something, in small letters. One that we do not know is refused, in whatever
// letters it is written: what it asks for cannot be left out silently.
const ownPrefix = "runnel."

// foreignKey returns the first key, in their order, that begins with ownPrefix and is none of those known.
func foreignKey(metadata map[string]string, known ...string) string {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if len(key) >= len(ownPrefix) && strings.EqualFold(key[:len(ownPrefix)], ownPrefix) && !slices.Contains(known, key) {
			return key
		}
	}
	return ""
}

// checkOwn looks at what a stream's metadata asks for.
func (s *Stream) checkOwn() error {
	if key := foreignKey(s.Metadata, append(s.filterKeys(), MetadataSync, MetadataDelayed)...); key != "" {
		return invalid("metadata " + strconv.Quote(key) + " is not known: what begins with runnel. and is known of streams is " + MetadataSync + ", " + MetadataFilterRepublish + " and " + MetadataFilterSourcePrefix + "NAME")
	}
	if _, err := ParseSync(s.Metadata[MetadataSync]); err != nil {
		return invalid("metadata " + strconv.Quote(MetadataSync) + ": " + err.Error())
	}
	_, err := s.Filters()
	return err
}

// Own is what a consumer's metadata ask for. The zero value asks for nothing.
type Own struct {
	// Retry says when a message comes again that was not answered, or that was asked for again without a time. It is nil for
	// at once.
	Retry *retry.Policy
	// Filter says which messages the consumer gets of those that its subject filter matches, nil for all. FilterFails is set
	// when one that it cannot decide about has failed; otherwise the consumer does not get it.
	Filter      *content.Filter
	FilterFails bool
	// Key says what the key of a message is, nil if keys mean nothing. Blocks is set when a message that has failed for good
	// keeps those behind it from being delivered.
	Key    *keyed.Expression
	Blocks bool
	// Breaker says when the consumer is paused since most of what is tried fails, nil for never.
	Breaker *breaker.Policy
	// DeadLetter is the stream that gets what the consumer gives up, empty for none.
	DeadLetter string
}

// Level returns the level of commands that all who have the stream must know, see package command.
func (o *Own) Level() int {
	if o.Filter != nil || o.Key != nil || o.DeadLetter != "" {
		return 2
	}
	return 1
}

// ownOfConsumers are the keys that are known.
func ownOfConsumers() []string {
	return []string{MetadataRetry, MetadataFilter, MetadataFilterFailed, MetadataKey, MetadataKeyFailed, MetadataBreaker, MetadataDeadLetter}
}

// Own returns what the metadata ask for. An error is a refusal that says what is wrong with which key.
func (c *Consumer) Own() (own Own, err error) {
	if len(c.Metadata) == 0 {
		return Own{}, nil
	}
	known := ownOfConsumers()
	if key := foreignKey(c.Metadata, known...); key != "" {
		return Own{}, refuseOwn(key, "is not known: what begins with runnel. and is known of consumers is "+strings.Join(known, ", "))
	}
	for _, read := range []func(*Own) error{c.ownRetry, c.ownFilter, c.ownKey, c.ownBreaker, c.ownDeadLetter} {
		if err := read(&own); err != nil {
			return Own{}, err
		}
	}
	return own, nil
}

// refuseOwn is the refusal of a consumer for one of its keys.
func refuseOwn(key, why string) error {
	return refuseWith(ConsumerUpdateRefused, "metadata "+strconv.Quote(key)+" "+why)
}

// checkOwn looks at what the metadata of a consumer of the stream ask for.
func (c *Consumer) checkOwn(stream *Stream) error {
	own, err := c.Own()
	if err == nil && own.DeadLetter == stream.Name && own.DeadLetter != "" {
		return refuseOwn(MetadataDeadLetter, "needs another stream than the consumer's own")
	}
	if err == nil && own.Key != nil {
		return c.checkKey(own.Key, stream)
	}
	return err
}

// checkKey refuses a key that no message can have, since their subjects have fewer tokens than it asks for: then nothing would be in
// order. What has no key among others is nobody's mistake.
func (c *Consumer) checkKey(key *keyed.Expression, stream *Stream) error {
	patterns := c.FilterSubjects
	switch {
	case c.FilterSubject != "":
		patterns = []string{c.FilterSubject}
	case len(patterns) == 0 && stream.Mirror == nil && len(stream.Sources) == 0 && stream.SubjectTransform == nil:
		patterns = stream.Subjects
	}
	if len(patterns) == 0 {
		return nil // nobody knows the subjects
	}
	most := ""
	for _, p := range patterns {
		if strings.HasSuffix(p, ">") || strings.Count(p, ".") >= key.Tokens()-1 {
			return nil
		}
		if most == "" || strings.Count(p, ".") > strings.Count(most, ".") {
			most = p
		}
	}
	return refuseOwn(MetadataKey, "asks for token "+strconv.Itoa(key.Tokens())+" of the subject, and there is no message with so many: "+
		strconv.Quote(most)+" has "+strconv.Itoa(strings.Count(most, ".")+1)+"; take a smaller number")
}
