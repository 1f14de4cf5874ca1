package sourcing

import (
	"bytes"
	"crypto/sha256"
	"strconv"
	"strings"

	"runnel/headers"
	"runnel/jetlog/config"
)

// The headers of sourcing.
const (
	// SourceHeader says of a message which one it was in the stream it comes from.
	SourceHeader = "Nats-Stream-Source"
	// IdentityHeader tells a stream from another one of the same name.
	IdentityHeader = "Nats-Stream-Identity"
)

// listSeparator stands between several filters, and between what they become.
const listSeparator = "\f"

// sourceValue is what SourceHeader says: fields with a space between them. Older servers wrote only the first two, or all
// but the last.
type sourceValue struct {
	name         string // of the stream, with what tells it from others of that name
	sequence     uint64
	filters      string
	destinations string
	subject      string // under which it was there
	identity     string // of the stream
}

// newValue returns what all messages of a source have in common.
func newValue(s *config.Source) sourceValue {
	o := sourceValue{name: s.Name, filters: ">", destinations: ">"}
	if s.External != nil {
		o.name += ":" + digest(s.External.API)
	}
	if s.Consumer != nil {
		o.name += ":C=" + digest(s.Consumer.Name)
	}
	if s.FilterSubject != "" {
		o.filters = s.FilterSubject
	}
	if len(s.Transforms) > 0 {
		var from, to []string
		for _, t := range s.Transforms {
			from, to = append(from, orAll(t.Source)), append(to, orAll(t.Destination))
		}
		o.filters, o.destinations = strings.Join(from, listSeparator), strings.Join(to, listSeparator)
	}
	return o
}

func orAll(pattern string) string {
	if pattern == "" {
		return ">"
	}
	return pattern
}

// expectation is how headers begin that expect something of a stream.
const expectation = "Nats-Expected-"

// expectNothing returns a header block without what the publisher expected of the origin.
func expectNothing(block []byte) []byte {
	if !bytes.Contains(block, []byte(expectation)) {
		return block
	}
	var names []string
	for name := range headers.All(block) {
		if strings.HasPrefix(string(name), expectation) {
			names = append(names, string(name))
		}
	}
	for _, name := range names {
		block = headers.Delete(block, name)
	}
	return block
}

// String returns the value of the header.
func (o *sourceValue) String() string {
	out := make([]byte, 0, len(o.name)+len(o.filters)+len(o.destinations)+len(o.subject)+len(o.identity)+32)
	out = append(append(out, o.name...), ' ')
	out = append(strconv.AppendUint(out, o.sequence, 10), ' ')
	out = append(append(out, o.filters...), ' ')
	out = append(append(out, o.destinations...), ' ')
	out = append(out, o.subject...)
	if o.identity != "" {
		out = append(append(out, ' '), o.identity...)
	}
	return string(out)
}

// tokenLength is how long names and tokens are that are made up.
const tokenLength = 8

// letters are what digests are made of.
const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// digest returns eight letters and digits that differ for different texts.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	var out [tokenLength]byte
	for i := range out {
		out[i] = letters[int(sum[i])%len(letters)]
	}
	return string(out[:])
}

// Identity returns what tells a stream from all others, by its unique id and when it was made, in nanoseconds since
// 1970.
func Identity(id uint64, created int64) string {
	return digest(strconv.FormatUint(id, 10) + " " + strconv.FormatInt(created, 10))
}

// consumerName returns the name of the consumer that a stream's mirror or source has on the origin.
func consumerName(account, stream string, s *config.Source, mirror bool) string {
	if mirror {
		return "JS_MIRROR_" + digest(account+" "+stream)
	}
	o := newValue(s)
	return "JS_SRC_" + digest(account+" "+stream+" "+o.name+" "+o.filters+" "+o.destinations)
}
