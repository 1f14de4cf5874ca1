package sourcing

import (
	"runnel/headers"
	"runnel/jetlog"
)

// find returns how far the messages are that came from the source.
func (k *sourceSink) find() (at position, err error) {
	err = k.p.stream.log.View(func(state *jetlog.Stream, messages jetlog.Messages) error {
		for seq := state.State().Last; seq > 0; seq-- {
			if seq, err = messages.LastOf(nil, seq); err != nil || seq == 0 {
				return err
			}
			m, err := messages.Load(seq)
			if err != nil {
				return err
			}
			value, ok := headers.Get(m.Header, SourceHeader)
			if !ok {
				continue
			}
			o, ok := parseOrigin(string(value))
			if ok && o.name == k.origin.name && o.filters == k.origin.filters && o.destinations == k.origin.destinations {
				at = position{last: o.sequence, identity: o.identity}
				return nil
			}
		}
		return nil
	})
	return at, err
}
