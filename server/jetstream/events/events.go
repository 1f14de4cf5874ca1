// Package events tells those who listen what happens to streams and consumers: advisories and metrics.
package events

import (
	"context"
	"time"

	"github.com/nats-io/nuid"

	"runnel/jetlog"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

// eventsWaiting bounds what waits to be published; events beyond are dropped, as nobody waits for them.
const eventsWaiting = 4096

// event is one that waits to be published.
type event struct {
	account *accounts.Account
	what    api.Event
}

// Outlet stages messages and writes them out. One goroutine uses it.
type Outlet interface {
	Publish(a *accounts.Account, subject, reply string, header, payload []byte) int
	Flush()
	Close()
}

// Config is what events are made of. All of it is required but for Domain.
type Config struct {
	Outlet func() Outlet
	// System returns the account of those who look after the server, nil for none.
	System func() *accounts.Account
	// Server is the name of the server, Domain that of JetStream's.
	Server, Domain string
	Clock          func() time.Time
	// Inactive is called when nobody has used a consumer for as long as it says, from a goroutine that must not wait.
	Inactive func(s *delivery.Stream, consumer string)
	// Tripped is called when a consumer is to be paused, likewise.
	Tripped func(s *delivery.Stream, consumer string, t delivery.Trip)
}

// Events publishes advisories and metrics, on a goroutine of its own, to those who listen. Its methods are safe for concurrent use, and
// do not wait. It is what the deliveries tell their events to.
type Events struct {
	cfg   Config
	queue chan event
}

// New returns events that are published once Run is called.
func New(cfg Config) *Events { return &Events{cfg: cfg, queue: make(chan event, eventsWaiting)} }

// Run publishes until the context ends.
func (e *Events) Run(ctx context.Context) {
	out := e.cfg.Outlet()
	defer out.Close()
	for {
		select {
		case v := <-e.queue:
			e.publish(out, v)
			out.Flush()
		case <-ctx.Done():
			return
		}
	}
}

// publish stages an event, which gets its id and its time here.
func (e *Events) publish(out Outlet, v event) {
	body := api.EncodeEvent(v.what, nuid.Next(), e.cfg.Clock())
	out.Publish(v.account, v.what.Subject(), "", nil, body)
}

// Tell has an event published, if anybody listens.
func (e *Events) Tell(a *accounts.Account, what api.Event) {
	if !heard(a, what) {
		return
	}
	select {
	case e.queue <- event{a, what}:
	default:
	}
}

// System has an event published in the system account, if there is one.
func (e *Events) System(what api.Event) {
	if a := e.cfg.System(); a != nil {
		e.Tell(a, what)
	}
}

// heard tells whether anybody listens to such an event.
func heard(a *accounts.Account, what api.Event) bool {
	return len(a.Interest().Match([]byte(what.Subject()), nil)) > 0
}

// StreamAction tells that a stream was created, changed or deleted.
func (e *Events) StreamAction(a *accounts.Account, stream string, action string) {
	e.Tell(a, &api.StreamAction{Stream: stream, Action: action, Domain: e.cfg.Domain})
}

// ConsumerAction tells that a consumer was created or deleted.
func (e *Events) ConsumerAction(a *accounts.Account, stream string, name, action string) {
	e.Tell(a, &api.ConsumerAction{Stream: stream, Consumer: name, Action: action, Domain: e.cfg.Domain})
}

// ConsumerPause tells that a consumer rests, and until when, or goes on.
func (e *Events) ConsumerPause(a *accounts.Account, stream string, name string, p *api.PauseAnswer) {
	what := &api.ConsumerPaused{Stream: stream, Consumer: name, Paused: p.Paused, Domain: e.cfg.Domain}
	if p.Paused {
		what.Until = &p.Until
	}
	e.Tell(a, what)
}

// BatchAbandoned tells why the messages of a batch were not stored: its publisher may be gone, and nobody else would
// know.
func (e *Events) BatchAbandoned(a *accounts.Account, stream string, batch, reason string) {
	e.Tell(a, &api.BatchAbandoned{Account: a.Name(), Stream: stream, Batch: batch, Reason: reason, Domain: e.cfg.Domain})
}

// Audit tells of a request of the API and its answer.
func (e *Events) Audit(m *engine.Message, a *accounts.Account, subject string, answer []byte) {
	if !heard(a, new(api.APIAudit)) {
		return
	}
	e.Tell(a, &api.APIAudit{
		Server: e.cfg.Server, Client: e.client(m.From), Request: subject, Body: string(m.Payload), Response: string(answer), Domain: e.cfg.Domain,
	})
}

// client is who made a request, nil if the server did.
func (e *Events) client(c *engine.Conn) *api.Client {
	if c == nil {
		return nil
	}
	m := c.Meta()
	about := c.Client()
	out := &api.Client{
		Start: &m.Start, Host: m.IP, ID: c.ID(), Name: about.Name, Language: about.Lang, Version: about.Version,
		RTT: c.RTT(), Server: e.cfg.Server, Kind: "Client", ClientType: "nats",
	}
	if m.Type == accounts.WebSocket {
		out.ClientType = "websocket"
	}
	if id := c.Identity(); id != nil {
		out.Account, out.User = id.Account.Name(), id.DisplayName()
	}
	return out
}

// MaxDeliveries implements delivery.Events.
func (e *Events) MaxDeliveries(s *delivery.Stream, consumer string, sequence, deliveries uint64) {
	e.Tell(s.Account(), &api.MaxDeliveries{
		Stream: s.Name(), Consumer: consumer, Sequence: sequence, Deliveries: deliveries, Domain: e.cfg.Domain,
	})
}

// Nak implements delivery.Events.
func (e *Events) Nak(s *delivery.Stream, consumer string, d delivery.Delivered) {
	e.Tell(s.Account(), &api.Naked{Delivery: delivered(s, consumer, d), Domain: e.cfg.Domain})
}

// Terminated implements delivery.Events.
func (e *Events) Terminated(s *delivery.Stream, consumer string, d delivery.Delivered, reason string) {
	e.Tell(s.Account(), &api.Terminated{Delivery: delivered(s, consumer, d), Reason: reason, Domain: e.cfg.Domain})
}

// Withdrawn tells that a consumer gets no answer to a message any more, since the message has gone.
func (e *Events) Withdrawn(a *accounts.Account, stream string, w *jetlog.Withdrawn) {
	e.Tell(a, &api.Terminated{
		Delivery: api.Delivery{
			Stream: stream, Consumer: w.Consumer, ConsumerSequence: w.ConsumerSequence, StreamSequence: w.Sequence,
			Deliveries: w.Deliveries,
		},
		Reason: api.ReasonUnackedDeleted, Domain: e.cfg.Domain,
	})
}

// AckSample implements delivery.Events.
func (e *Events) AckSample(s *delivery.Stream, consumer string, d delivery.Delivered, took time.Duration) {
	e.Tell(s.Account(), &api.AckMetric{Delivery: delivered(s, consumer, d), AckTime: took, Domain: e.cfg.Domain})
}

// Pinned implements delivery.Events.
func (e *Events) Pinned(s *delivery.Stream, consumer, group, id string) {
	e.Tell(s.Account(), &api.Pinned{Stream: s.Name(), Consumer: consumer, Group: group, PinnedID: id, Domain: e.cfg.Domain})
}

// Unpinned implements delivery.Events.
func (e *Events) Unpinned(s *delivery.Stream, consumer, group, reason string) {
	e.Tell(s.Account(), &api.Unpinned{Stream: s.Name(), Consumer: consumer, Group: group, Reason: reason, Domain: e.cfg.Domain})
}

// Inactive implements delivery.Events.
func (e *Events) Inactive(s *delivery.Stream, consumer string) { e.cfg.Inactive(s, consumer) }

// Tripped implements delivery.Events.
func (e *Events) Tripped(s *delivery.Stream, consumer string, t delivery.Trip) {
	e.cfg.Tripped(s, consumer, t)
}

// delivered is a delivery in the form that events have it.
func delivered(s *delivery.Stream, consumer string, d delivery.Delivered) api.Delivery {
	return api.Delivery{
		Stream: s.Name(), Consumer: consumer, ConsumerSequence: d.Consumer, StreamSequence: d.Stream, Deliveries: d.Deliveries,
	}
}
