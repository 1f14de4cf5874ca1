package jetstream

import (
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

// events publishes advisories and metrics, on a goroutine of its own, to those who listen. It is what the deliveries
// tell their events to.
type events struct {
	service *Service
	queue   chan event
}

// newEvents returns the events of a service. They are published once run is called.
func newEvents(s *Service) *events {
	return &events{service: s, queue: make(chan event, eventsWaiting)}
}

// run publishes until the service ends.
func (e *events) run() {
	out := e.service.newOutlet()
	defer out.Close()
	for {
		select {
		case v := <-e.queue:
			e.publish(out, v)
			out.Flush()
		case <-e.service.ctx.Done():
			return
		}
	}
}

// publish stages an event, which gets its id and its time here.
func (e *events) publish(out Outlet, v event) {
	body := api.EncodeEvent(v.what, nuid.Next(), e.service.cfg.Clock())
	out.Publish(v.account, v.what.Subject(), "", nil, body)
}

// tell has an event published, if anybody listens.
func (e *events) tell(a *accounts.Account, what api.Event) {
	if !heard(a, what) {
		return
	}
	select {
	case e.queue <- event{a, what}:
	default:
	}
}

// system has an event published in the system account, if there is one.
func (e *events) system(what api.Event) {
	if get := e.service.cfg.System; get != nil {
		if a := get(); a != nil {
			e.tell(a, what)
		}
	}
}

// heard tells whether anybody listens to such an event.
func heard(a *accounts.Account, what api.Event) bool {
	return len(a.Interest().Match([]byte(what.Subject()), nil)) > 0
}

// domain is the one that events name.
func (e *events) domain() string { return e.service.cfg.Domain }

// streamAction tells that a stream was created, changed or deleted.
func (e *events) streamAction(t *stream, action string) {
	e.tell(t.account.account, &api.StreamAction{Stream: t.log.Name(), Action: action, Domain: e.domain()})
}

// consumerAction tells that a consumer was created or deleted.
func (e *events) consumerAction(t *stream, name, action string) {
	e.tell(t.account.account, &api.ConsumerAction{Stream: t.log.Name(), Consumer: name, Action: action, Domain: e.domain()})
}

// consumerPause tells that a consumer rests, and until when, or goes on.
func (e *events) consumerPause(t *stream, name string, a *api.PauseAnswer) {
	what := &api.ConsumerPaused{Stream: t.log.Name(), Consumer: name, Paused: a.Paused, Domain: e.domain()}
	if a.Paused {
		what.Until = &a.Until
	}
	e.tell(t.account.account, what)
}

// batchAbandoned tells why the messages of a batch were not stored: its publisher may be gone, and nobody else would
// know.
func (e *events) batchAbandoned(t *stream, batch, reason string) {
	e.tell(t.account.account, &api.BatchAbandoned{Account: t.log.Account(), Stream: t.log.Name(), Batch: batch, Reason: reason, Domain: e.domain()})
}

// audit tells of a request and its answer.
func (e *events) audit(r *request, answer []byte) {
	a := r.account.account
	if !heard(a, new(api.APIAudit)) {
		return
	}
	what := &api.APIAudit{
		Server: e.service.cfg.ServerName, Request: r.subject, Body: string(r.message.Payload),
		Response: string(answer), Domain: e.domain(),
	}
	if r.message.From != nil {
		what.Client = client(r.message.From, e.service.cfg.ServerName)
	}
	e.tell(a, what)
}

// client is who made a request.
func client(c *engine.Conn, server string) *api.Client {
	m := c.Meta()
	about := c.Client()
	out := &api.Client{
		Start: &m.Start, Host: m.IP, ID: c.ID(), Name: about.Name, Language: about.Lang, Version: about.Version,
		RTT: c.RTT(), Server: server, Kind: "Client", ClientType: "nats",
	}
	if m.Type == accounts.WebSocket {
		out.ClientType = "websocket"
	}
	if id := c.Identity(); id != nil {
		out.Account, out.User = id.Account.Name(), id.DisplayName()
	}
	return out
}

// of returns the stream whose deliveries s are, nil if it has gone.
func (e *events) of(s *delivery.Stream) *stream {
	a := e.service.account(s.Account())
	if a == nil {
		return nil
	}
	return a.stream(s.Name())
}

// MaxDeliveries implements delivery.Events.
func (e *events) MaxDeliveries(s *delivery.Stream, consumer string, sequence, deliveries uint64) {
	e.tell(s.Account(), &api.MaxDeliveries{
		Stream: s.Name(), Consumer: consumer, Sequence: sequence, Deliveries: deliveries, Domain: e.domain(),
	})
}

// Nak implements delivery.Events.
func (e *events) Nak(s *delivery.Stream, consumer string, d delivery.Delivered) {
	e.tell(s.Account(), &api.Naked{Delivery: delivered(s, consumer, d), Domain: e.domain()})
}

// Terminated implements delivery.Events.
func (e *events) Terminated(s *delivery.Stream, consumer string, d delivery.Delivered, reason string) {
	e.tell(s.Account(), &api.Terminated{Delivery: delivered(s, consumer, d), Reason: reason, Domain: e.domain()})
}

// withdrawn tells that a consumer gets no answer to a message any more, since the message has gone.
func (e *events) withdrawn(t *stream, w *jetlog.Withdrawn) {
	e.tell(t.account.account, &api.Terminated{
		Delivery: api.Delivery{
			Stream: t.log.Name(), Consumer: w.Consumer, ConsumerSequence: w.ConsumerSequence, StreamSequence: w.Sequence,
			Deliveries: w.Deliveries,
		},
		Reason: api.ReasonUnackedDeleted, Domain: e.domain(),
	})
}

// AckSample implements delivery.Events.
func (e *events) AckSample(s *delivery.Stream, consumer string, d delivery.Delivered, took time.Duration) {
	e.tell(s.Account(), &api.AckMetric{Delivery: delivered(s, consumer, d), AckTime: took, Domain: e.domain()})
}

// Pinned implements delivery.Events.
func (e *events) Pinned(s *delivery.Stream, consumer, group, id string) {
	e.tell(s.Account(), &api.Pinned{Stream: s.Name(), Consumer: consumer, Group: group, PinnedID: id, Domain: e.domain()})
}

// Unpinned implements delivery.Events.
func (e *events) Unpinned(s *delivery.Stream, consumer, group, reason string) {
	e.tell(s.Account(), &api.Unpinned{Stream: s.Name(), Consumer: consumer, Group: group, Reason: reason, Domain: e.domain()})
}

// Inactive implements delivery.Events.
func (e *events) Inactive(s *delivery.Stream, consumer string) {
	// On a goroutine of its own, since it waits for a command. Events come before the deliveries are closed, so that Close
	// waits for it.
	e.service.running.Go(func() {
		if t := e.of(s); t != nil {
			t.inactive(consumer)
		}
	})
}

// delivered is a delivery in the form that events have it.
func delivered(s *delivery.Stream, consumer string, d delivery.Delivered) api.Delivery {
	return api.Delivery{
		Stream: s.Name(), Consumer: consumer, ConsumerSequence: d.Consumer, StreamSequence: d.Stream, Deliveries: d.Deliveries,
	}
}

// tellDropped says that requests were dropped, to whoever looks after the server.
func (s *Service) tellDropped(dropped int64) {
	s.logger.Warn("too many requests to the JetStream API wait: some were dropped without an answer",
		"dropped", dropped, "in_total", s.dropped.Load())
	s.events.system(&api.APILimitReached{Server: s.cfg.ServerName, Dropped: dropped, Domain: s.cfg.Domain})
}
