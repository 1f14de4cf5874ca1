package sourcing

import (
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/origin"
	"runnel/server/jetstream/api"
)

// sourceSink publishes messages anew, each with a header that says where it comes from. The stream takes one only
// behind the one before it, so what is in flight can be given up at any time.
type sourceSink struct {
	p      *puller
	header sourceValue // as it is written into headers, but for what is of one message
	at     position
	gone   string // identity of an origin that there is no more, empty for none
}

func newSourceSink(p *puller) *sourceSink {
	return &sourceSink{p: p, header: newValue(&p.source)}
}

func (k *sourceSink) start() (position, error) {
	key := origin.Key(k.header.name, k.header.filters, k.header.destinations)
	err := k.p.stream.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		o := state.Origin(key)
		k.at = position{last: o.Sequence, identity: o.Identity}
		return nil
	})
	if err != nil {
		return position{}, err
	}
	if k.gone != "" && k.at.identity == k.gone {
		k.at = position{}
	}
	last := k.at.last
	k.p.show(func(v *shown) { v.sequence = last })
	return k.at, nil
}

// from notes which stream the origin is, and is false if it is not the one that messages have come from.
func (k *sourceSink) from(identity string) bool {
	if k.at.identity != "" && identity != "" && k.at.identity != identity {
		return false
	}
	if identity != "" {
		k.at.identity = identity
	}
	return true
}

// pass does nothing: the next message says itself where it was.
func (k *sourceSink) pass(uint64) {}

func (k *sourceSink) forget() { k.gone = k.at.identity }

func (k *sourceSink) add(m *incoming) {
	if m.sequence <= k.at.last || !k.p.admits(len(m.subject)+len(m.header)+len(m.payload)) {
		return
	}
	from := k.header
	from.sequence, from.subject, from.identity = m.sequence, m.original, k.at.identity
	c := &command.Publish{
		Time: time.Now().UnixNano(), Subject: m.subject,
		Header: headers.Set(m.header, SourceHeader, from.String()), Payload: m.payload, Internal: true,
		Sourced: true, Previous: k.at.last,
	}
	k.at.last = m.sequence
	o := &outcome{sequence: m.sequence, bytes: len(c.Subject) + len(c.Header) + len(c.Payload)}
	o.messages = []jetlog.Message{{Time: c.Time, Subject: c.Subject, Header: c.Header, Payload: c.Payload}}
	k.p.launch(c, o)
}

func (k *sourceSink) flush() {}

func (k *sourceSink) settled(o *outcome) bool {
	if o.err != nil {
		return false
	}
	refusal := api.NewError(o.result.Code, o.result.Detail)
	k.p.refuse(refusal)
	switch o.result.Code {
	case 0:
	case config.StoreFailed, config.Sealed, config.BadRequest:
		return false // once more, when there may be room
	default:
		// It will be refused for ever, and must not hold up those behind it.
		k.p.stream.sourcing.cfg.Logger.Warn("a message of a source is refused and passed over",
			"stream", k.p.stream.log.Name(), "origin", k.p.source.Name, "sequence", o.sequence, "error", refusal)
		return true
	}
	k.p.show(func(v *shown) { v.sequence = o.sequence })
	if o.result.Stored {
		m := o.messages[0]
		m.Sequence = o.result.Sequence
		k.p.stream.hooks.Stored(m, o.result)
	}
	return true
}
