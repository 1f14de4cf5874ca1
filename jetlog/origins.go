package jetlog

import (
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/origin"
	"runnel/jetlog/terms"
)

// Origin returns how far the stream is with a source, by its origin.Key. That survives whatever happens to the
// messages.
func (s *Stream) Origin(key string) origin.Position { return s.origins.Of(key) }

// publishFrom publishes a message of a source. One that is refused has come all the same, unless it is because
// nothing can be stored.
func (s *Stream) publishFrom(c *command.Publish, m Messages) (Result, error) {
	h, ok := s.origins.Read(terms.Read(c.Header).Source)
	if !ok {
		return refusedWith(config.BadRequest, "the header does not say where the message comes from"), nil
	}
	if !s.origins.Follows(h, c.Previous) {
		return refusedWith(config.BadRequest, "messages of a source are not in order"), nil
	}
	r, err := s.publishOne(c, m)
	if err == nil && r.Code != config.StoreFailed && r.Code != config.Sealed {
		s.origins.Arrive(h, s.state.Last)
	}
	return r, err
}

// arriveAll notes how far the original was with its sources: a copy that becomes a stream of its own goes on there.
func (s *Stream) arriveAll(all []terms.Terms) {
	for i := range all {
		if !all[i].HasSource {
			continue
		}
		if h, ok := s.origins.Read(all[i].Source); ok {
			s.origins.Arrive(h, s.state.Last)
		}
	}
}
