package jetstream

import (
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delays"
	"runnel/server/jetstream/delivery"
)

// request is a call of the API that waits for its answer.
type request struct {
	account *account
	call    api.Call
	message *engine.Message // a clone
	subject string          // the message's
	stream  *stream         // that call.Stream names when it is handled, nil for none
	// finish waits for what handling the request has started, and answers it; nil if it is answered already.
	finish func()
	// answered is called once the answer is written, nil for nothing. A consumer delivers from then on: its client knows it
	// before the first message comes.
	answered func()
	header   []byte // of the answer, nil for none
	relay    string // not a call, but a message for this subject: of a bucket that was named by the domain
	// here is set where no other server of a cluster is to be thought of, late when somebody who leads was waited for.
	here, late bool
	local      bool   // its client is connected to this server
	restore    string // id of the restore that it has begun, empty for none
	// taken, orphaned and outdated are as in clustered.Case; came is when the request did.
	taken, orphaned, outdated bool
	came                      time.Time
}

// seed is for the choice of lanes only.
var seed = maphash.MakeSeed()

// lookSpread is on how many lanes requests are that only look at one stream: one that takes its time does not hold up
// all others.
const lookSpread = 4

// Lane says which lane the request belongs to: all that changes a stream is on one.
func (r *request) Lane() laneKey {
	key := laneKey{account: r.account, stream: r.call.Stream}
	switch {
	case r.relay != "": // one for all, since they keep their order
	case key.stream == "":
		key.spread = maphash.Bytes(seed, r.message.Reply) % lookWorkers
	case !r.changes():
		key.spread = maphash.Bytes(seed, r.message.Reply) % lookSpread
	}
	return key
}

// changes tells whether the request may change a stream. Those that do are carried out in the order in which they came.
func (r *request) changes() bool { return r.call.Endpoint.Mutates() }

// handlers are the account's subscriptions. They run on the publisher's worker.
func (a *account) handlers() map[string]func(*engine.Message) {
	h := map[string]func(*engine.Message){
		"$JS.API.>": a.takeRequest,
		"$JS.ACK.>": a.takeAck,
		"$JS.FC.>":  a.takeFlowControl,

		api.OwnPrefix + ">":             a.takeRequest,
		api.SnapshotAckPrefix + ">":     a.takeSnapshotAck,
		api.SnapshotRestorePrefix + ">": a.transfers.TakeChunk,
	}
	if d := a.service.cfg.Domain; d != "" {
		h["$JS."+d+".API.>"] = a.takeRequest
	}
	if a.service.cluster != nil {
		a.spread(h)
	}
	return h
}

// takeRequest files a call. Pull requests go to their consumer at once; the rest waits for a lane.
func (a *account) takeRequest(m *engine.Message) {
	subject := string(m.Subject)
	call, ok := api.ParseSubject(subject)
	if !ok {
		return
	}
	if meant, ok := api.FromDomain(a.service.cfg.Domain, subject); ok {
		if !m.Permitted(meant) {
			return
		}
		if call.Endpoint == api.CallUnknown && !strings.HasPrefix(meant, "$JS.") {
			a.service.file(&request{account: a, subject: subject, relay: meant, here: true}, m)
			return
		}
	}
	if call.Endpoint == api.CallUnknown && m.Crossed() {
		return // an import of all of the API leads here what another import of the subject is for
	}
	if call.Endpoint.Delayed() {
		call.Stream = delays.Companion(call.Stream) // who leads that answers
	}
	if call.Endpoint == api.CallConsumerNext {
		if a.pull(&call, m) {
			return
		}
	} else if call.Endpoint == api.CallDirectGet && a.stream(call.Stream).directNow(&call, m) {
		return
	} else if len(m.Reply) == 0 && !call.Endpoint.Mutates() {
		return // nobody wants to know
	}
	r := &request{account: a, call: call, subject: subject}
	a.service.file(r, m)
}

// file lets a request wait for a lane, or drops it if too many do.
func (s *Service) file(r *request, m *engine.Message) {
	r.local, r.came = m.From != nil, time.Now()
	if s.cluster != nil && !s.cluster.concerns(r, m) {
		return
	}
	r.message = m.Clone()
	if !s.offer(r) {
		m.Press()
	}
}

// offer lets a request wait for a lane. It is false when it is dropped since too many do.
func (s *Service) offer(r *request) bool {
	waiting := s.looks
	if r.changes() {
		waiting = s.changes
	}
	if waiting.Offer(r) {
		return true
	}
	s.dropped.Add(1)
	s.overload.Note()
	return false
}

// pull hands a pull request to its consumer; it is false when there is none, or what the request needs first has to
// be said by a lane.
func (a *account) pull(call *api.Call, m *engine.Message) bool {
	if a.limits.Load() == nil {
		return false
	}
	t := a.stream(call.Stream)
	if !t.leads() {
		return false
	}
	return t.deliver.Pull(call.Consumer, delivery.Request{Reply: string(m.Reply), Header: m.Header, Body: m.Payload})
}

// takeAck hands an acknowledgement to its consumer. One for a consumer that there is not, or that wants none, means
// nothing: who waits for it to be confirmed learns that nobody does.
func (a *account) takeAck(m *engine.Message) {
	ack, ok := api.ParseAck(string(m.Subject))
	if ok {
		if t := a.stream(ack.Stream); t.leads() &&
			t.deliver.Ack(ack.Consumer, delivery.Ack{Subject: ack, Payload: m.Payload, Reply: string(m.Reply)}) {
			return
		}
	}
	a.unheard(m, ack.Stream)
}

// unheard has who asked, if an answer is wanted, told that nobody is there: in the lane of a stream, where that is known.
func (a *account) unheard(m *engine.Message, stream string) {
	if len(m.Reply) > 0 {
		call := api.Call{Endpoint: api.CallConsumerNext, Stream: stream} // which nobody answers either
		a.service.file(&request{account: a, call: call, subject: string(m.Subject), here: true}, m)
	}
}

// takeFlowControl hands an answer to flow control to its consumer.
func (a *account) takeFlowControl(m *engine.Message) {
	flow, ok := api.ParseFlow(string(m.Subject))
	if !ok {
		return
	}
	if t := a.stream(flow.Stream); t.leads() {
		t.deliver.FlowControl(flow.Consumer, string(m.Subject), m.Header)
	}
}

// take hands what was published on one of the stream's subjects to ingest.
func (t *stream) take(m *engine.Message) {
	if !m.Since(t.fence) {
		t.refuse(t.account.account, m.Reply)
		return
	}
	var taken bool
	if m.Trace == nil {
		taken = t.ingest.Take(m.Subject, m.Reply, m.Header, m.Payload)
	} else {
		taken = t.ingest.TakeTraced(m.Subject, m.Reply, m.Header, m.Payload, m.Trace)
	}
	if taken {
		m.AtEnd(t.ingest)
	} else {
		m.Press()
	}
	if hold := t.account.service.hold(m); hold > 0 {
		m.Hold(hold)
	}
}

// hold is how long whoever has published a message to a stream is to be kept waiting, since memory is scarce.
func (s *Service) hold(m *engine.Message) time.Duration {
	hold := s.ingest.Hold(m.Bytes())
	if s.cfg.Hold != nil {
		hold = max(hold, s.cfg.Hold(m.Bytes()))
	}
	return hold
}

// wanted tells whether a message on the subject would be kept.
func (t *stream) wanted(subject string) bool {
	if t.config().Retention != config.InterestRetention {
		return true
	}
	wanted := false
	_ = t.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error { // a stream that is closed keeps nothing
		wanted = slices.ContainsFunc(s.Consumers(), func(c *jetlog.Consumer) bool { return c.Filter().Matches(subject) })
		return nil
	})
	return wanted
}
