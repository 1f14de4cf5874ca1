package jetlog

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// originsMost bounds the sources that are remembered. It is far more than a stream has, and of those that it
// has had the one that brought nothing for the longest time is forgotten.
const originsMost = 4096

// Origin is how far a stream is with one of its sources: what the header of the last message from there says.
type Origin struct {
	// Sequence is that of the message in the stream it comes from.
	Sequence uint64
	// Identity tells that stream from others that have had its name, empty if it is not known.
	Identity string
	// at is the last sequence of this stream at that time.
	at uint64
}

// origins are all sources that a stream has or had, by OriginKey.
type origins map[string]*Origin

// OriginKey returns what tells a source from others: the stream, the filters, and what becomes of the subjects, as
// a Nats-Stream-Source header has them.
func OriginKey(stream, filters, destinations string) string {
	return stream + " " + filters + " " + destinations
}

// Origin returns how far the stream is with a source, by its OriginKey. It survives whatever happens to the
// messages.
func (s *Stream) Origin(key string) Origin {
	if o := s.origins[key]; o != nil {
		return *o
	}
	return Origin{}
}

// sourced is what a Nats-Stream-Source header says.
type sourced struct {
	key      []byte
	sequence uint64
	identity []byte
}

// The fields of the header: stream, sequence, filters, destinations, subject, identity. Older servers wrote only
// the first two.
const (
	sourceFilters  = 2
	sourceSubject  = 4
	sourceIdentity = 5
)

// readSource reads the header. It is false for one that tells nothing.
func (p *scratch) readSource(value []byte) (sourced, bool) {
	var fields [sourceIdentity + 1][]byte
	n := 0
	for field := range bytes.SplitSeq(value, []byte(" ")) {
		if n < len(fields) {
			fields[n] = field
		}
		n++
	}
	seq, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil || len(fields[0]) == 0 {
		return sourced{}, false
	}
	p.key = append(p.key[:0], fields[0]...)
	for i := sourceFilters; i < sourceSubject; i++ {
		p.key = append(p.key, ' ')
		if n > sourceSubject {
			p.key = append(p.key, fields[i]...)
		} else {
			p.key = append(p.key, '>')
		}
	}
	return sourced{key: p.key, sequence: seq, identity: fields[sourceIdentity]}, true
}

// arrive notes that a message of a source has come, whether or not it was stored.
func (s *Stream) arrive(from *sourced) {
	o := s.origins[string(from.key)]
	if o == nil {
		if s.origins == nil {
			s.origins = origins{}
		}
		if len(s.origins) >= originsMost {
			s.origins.forgetOldest()
		}
		o = &Origin{}
		s.origins[string(from.key)] = o
	}
	o.Sequence, o.at = from.sequence, s.state.Last
	if string(from.identity) != o.Identity {
		o.Identity = string(from.identity)
	}
}

// follows reports whether a message of a source is the one behind what has come from there.
func (s *Stream) follows(from *sourced, previous uint64) bool {
	o := s.origins[string(from.key)]
	switch {
	case o == nil:
		return previous == 0
	case o.Identity != "" && len(from.identity) > 0 && o.Identity != string(from.identity):
		return previous == 0 // the stream there is a new one
	}
	return previous == o.Sequence
}

// publishFrom publishes a message of a source. One that is refused has come all the same, unless it is because
// nothing can be stored.
func (s *Stream) publishFrom(c *command.Publish, m Messages) (Result, error) {
	from, ok := s.scratch.readSource(readTerms(c.Header).source)
	if !ok {
		return refusedWith(config.BadRequest, "the header does not say where the message comes from"), nil
	}
	if !s.follows(&from, c.Previous) {
		return refusedWith(config.BadRequest, "messages of a source are not in order"), nil
	}
	r, err := s.publishOne(c, m)
	if err == nil && r.Code != config.StoreFailed && r.Code != config.Sealed {
		s.arrive(&from)
	}
	return r, err
}

// forgetOldest forgets the source that brought nothing for the longest time.
func (o origins) forgetOldest() {
	oldest := ""
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if oldest == "" || o[key].at < o[oldest].at {
			oldest = key
		}
	}
	delete(o, oldest)
}

// appendSnapshot appends all, by key.
func (o origins) appendSnapshot(out []byte) []byte {
	out = codec.AppendUint(out, uint64(len(o)))
	for _, key := range slices.Sorted(maps.Keys(o)) {
		out = codec.AppendBytes(out, key)
		out = codec.AppendUint(out, o[key].Sequence)
		out = codec.AppendBytes(out, o[key].Identity)
		out = codec.AppendUint(out, o[key].at)
	}
	return out
}

// minOriginBytes is the least that one takes in a snapshot.
const minOriginBytes = 4

// readOrigins reads them, and is false if they are not in order.
func readOrigins(r *codec.Reader) (origins, bool) {
	var all origins
	last, sound := "", true
	for range r.Count(minOriginBytes) {
		if all == nil {
			all = origins{}
		}
		key := r.String()
		all[key] = &Origin{Sequence: r.Uint(), Identity: r.String(), at: r.Uint()}
		sound = sound && (key > last)
		last = key
	}
	return all, sound
}
