package sourcing

import (
	"slices"
	"strings"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/subjects"
)

// Streams returns the configuration of a stream of the account, nil if there is none of that name.
type Streams func(name string) *config.Stream

// Check refuses a mirror or sources that cannot work next to the other streams of the account, with an error of the API.
func Check(cfg *config.Stream, streams Streams) error {
	if cfg.Mirror == nil && len(cfg.Sources) == 0 {
		return nil
	}
	for _, s := range origins(cfg) {
		if err := checkConsumer(s, cfg); err != nil {
			return err
		}
		if s.External != nil {
			if err := checkExternal(s.External, cfg); err != nil {
				return err
			}
			continue
		}
		if origin := streams(s.Name); origin != nil {
			if err := checkMessageBytes(cfg, origin); err != nil {
				return err
			}
		}
	}
	if cyclic(cfg, streams) {
		return api.NewError(config.StreamInvalidConfig, "detected cycle")
	}
	return nil
}

// origins returns what a stream copies.
func origins(cfg *config.Stream) []*config.Source {
	if cfg.Mirror != nil {
		return []*config.Source{cfg.Mirror}
	}
	return cfg.Sources
}

// checkMessageBytes refuses a stream that has no room for the largest messages of what it copies.
func checkMessageBytes(cfg, origin *config.Stream) error {
	if cfg.MaxMessageBytes <= 0 || origin.MaxMessageBytes <= cfg.MaxMessageBytes {
		return nil
	}
	if cfg.Mirror != nil {
		return api.NewError(api.MirrorMessageBytes)
	}
	return api.NewError(api.SourceMessageBytes)
}

// checkExternal refuses prefixes that cannot reach another API, or by which messages would come to the stream itself.
func checkExternal(e *config.External, cfg *config.Stream) error {
	const own = "$JS.API"
	switch {
	case e.API == own:
		return api.NewError(api.ExternalAPIOverlap, e.API, own)
	case e.API != "" && !subjects.ValidLiteral(e.API):
		return api.NewError(config.StreamInvalidConfig,
			`stream external api prefix "`+e.API+`" must be a valid subject without wildcards`)
	case e.Deliver != "" && !subjects.ValidLiteral(e.Deliver):
		return api.NewError(api.ExternalDeliverWildcard, e.Deliver)
	}
	for _, subject := range cfg.Subjects {
		if e.Deliver != "" && subjects.Overlap(subject, e.Deliver+".>") {
			return api.NewError(api.ExternalDeliverOverlap, e.Deliver, subject)
		}
	}
	return nil
}

// checkConsumer refuses a consumer that somebody has made if it is not told completely, or if the source says for
// itself what the consumer decides.
func checkConsumer(s *config.Source, cfg *config.Stream) error {
	c := s.Consumer
	if c == nil {
		return nil
	}
	wrong := c.Name == "" || strings.ContainsAny(c.Name, ". *>/\\\t\r\n\f") || !subjects.ValidLiteral(c.DeliverSubject) ||
		s.StartSequence > 0 || s.StartTime != nil || s.FilterSubject != "" ||
		slices.ContainsFunc(cfg.Subjects, func(p string) bool { return subjects.Overlap(p, c.DeliverSubject) })
	switch {
	case wrong && cfg.Mirror != nil:
		return api.NewError(api.MirrorConsumerInvalid)
	case wrong:
		return api.NewError(api.SourceConsumerInvalid)
	}
	for _, other := range origins(cfg) {
		if other != s && other.Name == s.Name && other.Consumer != nil && other.Consumer.Name == c.Name && sameAPI(other, s) {
			return api.NewError(api.SourceConsumerDuplicate)
		}
	}
	return nil
}

// sameAPI reports whether two origins are asked through the same API.
func sameAPI(a, b *config.Source) bool {
	if a.External == nil || b.External == nil {
		return a.External == b.External
	}
	return a.External.API == b.External.API
}

// cyclic tells whether a message could come back to a stream by what it copies, or come to it both from a source and
// by way of another one, as far as that can be seen in this account.
func cyclic(cfg *config.Stream, streams Streams) bool {
	walk := cycle{streams: streams, stream: cfg}
	for _, s := range local(cfg) {
		for _, p := range parts(s) {
			if s.Name == cfg.Name || walk.copies(s.Name, p.filter) {
				return true
			}
		}
	}
	return false
}

// cycle follows what streams copy, back to where it comes from.
type cycle struct {
	streams Streams
	stream  *config.Stream // where it begins
	path    []string       // streams and patterns that were looked at
}

// copies tells whether the messages of a stream that match a pattern may be copied from where the walk must not come.
func (c *cycle) copies(name, pattern string) bool {
	step := name + " " + pattern
	origin := c.streams(name)
	if origin == nil || slices.Contains(c.path, step) {
		return false
	}
	c.path = append(c.path, step)
	for _, s := range local(origin) {
		for _, p := range parts(s) {
			if !subjects.Overlap(p.becomes, pattern) {
				continue
			}
			if before := p.before(pattern); c.known(s.Name, before) || c.copies(s.Name, before) {
				return true
			}
		}
	}
	return false
}

// known tells whether the walk has come to its beginning, or to what the stream copies itself.
func (c *cycle) known(name, pattern string) bool {
	if name == c.stream.Name {
		return true
	}
	return slices.ContainsFunc(local(c.stream), func(s *config.Source) bool {
		return s.Name == name && slices.ContainsFunc(parts(s), func(p part) bool { return subjects.Overlap(p.filter, pattern) })
	})
}

// local returns what a stream copies from streams of its account.
func local(cfg *config.Stream) []*config.Source {
	return slices.DeleteFunc(slices.Clone(origins(cfg)), func(s *config.Source) bool { return s.External != nil })
}

// part is some of what a source brings: what it is in the origin, and what it becomes.
type part struct{ filter, becomes string }

// before returns what was in the origin of what matches the pattern here, or more than that.
func (p *part) before(pattern string) string {
	if p.becomes == p.filter && subjects.Subset(pattern, p.filter) {
		return pattern
	}
	return p.filter
}

// parts returns all that a source brings.
func parts(s *config.Source) []part {
	if len(s.Transforms) == 0 {
		filter := orAll(s.FilterSubject)
		return []part{{filter, filter}}
	}
	var all []part
	for _, t := range s.Transforms {
		p := part{orAll(t.Source), orAll(t.Source)}
		if t.Destination != "" {
			p.becomes = t.Result()
		}
		all = append(all, p)
	}
	return all
}
