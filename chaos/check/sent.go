package check

import (
	"math"

	"runnel/chaos/history"
)

// never is when that ends which may still happen.
const never = math.MaxInt64

// sent is all that clients sent to one stream, by value. Sending a value again is another try of it.
type sent struct {
	values []value // in the order of their first tries
	index  map[string]int32
}

// value is what is known of the tries of one value.
type value struct {
	first *history.Operation // the first try
	last  *history.Operation // the try that began last
	acked *history.Operation // the first try that was acknowledged; nil if none was
	tries int32              // all tries
	fails int32              // of these, the ones that surely did not happen
}

// refused says that no try can have happened.
func (v *value) refused() bool { return v.tries == v.fails }

// once says that the value was sent a single time.
func (v *value) once() bool { return v.tries == 1 }

// sends says whether operations of the kind put their value into a stream.
func sends(kind string) bool {
	switch kind {
	case history.Publish, history.Swap, history.Put, history.Add, history.Commit:
		return true
	}
	return false
}

// gatherSent finds what was sent to a stream. Deletes of a bucket have no value and are not among it.
func gatherSent(ops []history.Operation, stream string) *sent {
	s := &sent{index: map[string]int32{}}
	for i := range ops {
		o := &ops[i]
		if o.Stream != stream || o.Value == "" || !sends(o.Kind) {
			continue
		}
		at, ok := s.index[o.Value]
		if !ok {
			at = int32(len(s.values))
			s.index[o.Value] = at
			s.values = append(s.values, value{first: o, last: o})
		}
		v := &s.values[at]
		v.tries++
		if o.Start < v.first.Start {
			v.first = o
		}
		if o.Start > v.last.Start {
			v.last = o
		}
		switch {
		case o.Result == history.Failed:
			v.fails++
		case o.Result == history.OK && v.acked == nil:
			v.acked = o
		}
	}
	return s
}

// find is the value of that text; nil if nobody sent it.
func (s *sent) find(text string) *value {
	at, ok := s.index[text]
	if !ok {
		return nil
	}
	return &s.values[at]
}

// foreign reports a message that was found and that nobody sent, or whose sender was told that it is refused.
func (s *sent) foreign(c *collector, found *history.Operation) bool {
	v := s.find(found.Value)
	switch {
	case v == nil:
		c.add(Unexpected, found.Node, of(found), "%q at sequence %d was never sent", found.Value, found.Sequence)
		return true
	case v.refused():
		c.add(Refused, found.Node, of(v.first, found), "%q at sequence %d was refused (%s)", found.Value, found.Sequence, v.first.Error)
		return true
	}
	return false
}
