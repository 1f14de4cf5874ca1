package sourcing

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/nats-io/nuid"

	"runnel/headers"
	"runnel/jetlog/config"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
)

// session is one consumer on the origin, from the request for it on.
type session struct {
	p              *puller
	deliver, reply string // subjects
	cancels        []func()

	// The rest belongs to the puller's goroutine.
	consumer     string // the origin's name for it
	answered     bool
	acknowledges bool   // answers to flow control acknowledge
	shared       bool   // the consumer was there before, and delivers where it did
	rewound      bool   // it was asked for what had been acknowledged
	comparing    bool   // the origin was asked how far it is
	next         uint64 // sequence of the consumer that comes next
	from         uint64 // sequence of the origin that was here when it began
}

// The levels of the API that are asked for, and below them none at all.
const (
	levelFull   = 5 // with the identity of the origin
	levelMirror = 4
	levelNone   = 0
)

// ReplyPrefix is how subjects begin to which origins answer.
const ReplyPrefix = "$JSC.R."

// consumerWait is the ack_wait of consumers that need none.
const consumerWait = 22 * time.Hour

const (
	heartbeat = time.Second
	inactive  = 10 * time.Second
)

// publish sends a message of the puller's account.
func (p *puller) publish(subject, reply string, header, payload []byte) int {
	return p.stream.sourcing.cfg.Publish(p.stream.account, subject, reply, header, payload)
}

// cancel ends the subscriptions.
func (s *session) cancel() {
	for _, cancel := range s.cancels {
		cancel()
	}
}

// leave has the origin forget the consumer, which would go by itself a little later.
func (s *session) leave() {
	if s.consumer != "" && !s.acknowledges {
		s.p.publish(s.p.call("CONSUMER.DELETE", s.p.source.Name, s.consumer), "", nil, nil)
	}
}

// call returns the subject of a call of the origin's API.
func (p *puller) call(words ...string) string {
	subject := "$JS.API"
	if e := p.source.External; e != nil && e.API != "" {
		subject = e.API
	}
	for _, w := range words {
		subject += "." + w
	}
	return subject
}

// Token returns eight random characters, for a name or a subject.
func Token() string {
	id := nuid.Next()
	return id[len(id)-tokenLength:]
}

// connect asks the origin for a consumer.
func (p *puller) connect() {
	at, err := p.run.sink.start()
	if err != nil {
		p.stream.sourcing.cfg.Logger.Error("cannot tell where to go on copying",
			"stream", p.stream.log.Name(), "origin", p.source.Name, "error", err)
		p.fail(nil)
		return
	}
	s := &session{p: p, next: 1, from: at.last, reply: ReplyPrefix + Token(), deliver: p.deliverSubject()}
	s.shared = p.source.Consumer != nil
	p.run.applied = at.last
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.session = s
	p.mu.Unlock()
	subscribe := p.stream.sourcing.cfg.Subscribe
	account := p.stream.account
	s.cancels = []func(){
		subscribe(account, s.reply, func(m *engine.Message) { p.reply(s, m) }),
		subscribe(account, s.deliver, func(m *engine.Message) { p.receive(s, m) }),
	}
	p.run.due = time.Now().Add(answerMost)
	subject, body := p.request(s, at)
	if p.publish(subject, s.reply, p.requestHeader(at), body) == 0 {
		p.fail(nil)
	}
}

// deliverSubject returns where the origin is to deliver.
func (p *puller) deliverSubject() string {
	if c := p.source.Consumer; c != nil {
		return c.DeliverSubject
	}
	if e := p.source.External; e != nil && e.Deliver != "" {
		return e.Deliver + "." + Token()
	}
	if p.mirror {
		return "$JS.M." + Token()
	}
	return "$JS.S." + Token()
}

// requestHeader says what the origin has to know to be a good one.
func (p *puller) requestHeader(at position) []byte {
	if p.run.level == levelNone {
		return nil
	}
	fields := []headers.Field{{Name: api.LevelHeader, Value: strconv.Itoa(p.run.level)}}
	if p.run.level == levelFull {
		fields = append(fields, headers.Field{Name: IdentityHeader, Value: at.identity})
	}
	return headers.Build(fields...)
}

// request returns the call that has the origin deliver what follows a position.
func (p *puller) request(s *session, at position) (subject string, body []byte) {
	if c := p.source.Consumer; c != nil {
		return p.call("CONSUMER.RESET", p.source.Name, c.Name), nil // to what is not acknowledged
	}
	cfg := config.Consumer{
		Name: p.name, Deliver: config.DeliverAll, Ack: config.AckNone, AckWait: consumerWait, MaxDeliver: 1,
		FlowControl: true, Heartbeat: heartbeat, Inactive: inactive, DeliverSubject: s.deliver,
		Direct: true, Sourcing: true, Metadata: p.metadata(),
	}
	switch {
	case at.last > 0:
		cfg.Deliver, cfg.StartSequence = config.DeliverByStartSequence, at.last+1
	case p.source.StartSequence > 0:
		cfg.Deliver, cfg.StartSequence = config.DeliverByStartSequence, p.source.StartSequence
	case p.source.StartTime != nil:
		cfg.Deliver, cfg.StartTime = config.DeliverByStartTime, p.source.StartTime
	}
	subject = p.call("CONSUMER.CREATE", p.source.Name)
	switch filters := p.maps.filters; len(filters) {
	case 0:
	case 1:
		cfg.FilterSubject = filters[0]
		subject += "." + p.name + "." + filters[0]
	default:
		cfg.FilterSubjects = filters
	}
	body, _ = json.Marshal(api.ConsumerRequest{Stream: p.source.Name, Config: cfg}) // cannot fail
	return subject, body
}

// metadata tells whoever looks at the origin whose consumer it is.
func (p *puller) metadata() map[string]string {
	prefix := "_nats.src."
	if p.mirror {
		prefix = "_nats.mirror."
	}
	return map[string]string{
		prefix + "acc":    p.stream.account.Name(),
		prefix + "stream": p.stream.log.Name(),
	}
}

// consumerAnswer is what is read of the answer to a create or a reset, or, for its state, to a stream info.
type consumerAnswer struct {
	Error *api.Error `json:"error"`
	State *struct {
		Last uint64 `json:"last_seq"`
	} `json:"state"`
	Name    string `json:"name"`
	Pending uint64 `json:"num_pending"`
	Config  struct {
		Ack            string `json:"ack_policy"`
		DeliverSubject string `json:"deliver_subject"`
	} `json:"config"`
	Delivered struct {
		Stream uint64 `json:"stream_seq"`
	} `json:"delivered"`
}

// answered takes the origin's answer.
func (p *puller) answered(m *engine.Message) {
	s := p.session
	switch {
	case s != nil && s.comparing:
		p.compare(s, m)
		return
	case s == nil || s.answered:
		return
	}
	var a consumerAnswer
	if code, _ := headers.StatusOf(m.Header); code >= 300 {
		p.fail(nil) // nobody there
		return
	}
	if err := json.Unmarshal(m.Payload, &a); err != nil {
		p.stream.sourcing.cfg.Logger.Warn("the origin's answer cannot be read",
			"stream", p.stream.log.Name(), "origin", p.source.Name, "error", err)
		p.fail(nil)
		return
	}
	if a.Error != nil {
		p.refused(a.Error)
		return
	}
	if refusal := p.unfit(s, &a); refusal != nil {
		p.fail(refusal)
		return
	}
	s.consumer = a.Name
	s.acknowledges = a.Config.Ack == "flow_control"
	if identity, _ := headers.Get(m.Header, IdentityHeader); !p.run.sink.from(string(identity)) {
		p.refused(api.NewError(api.IdentityMismatch))
		return
	}
	if s.shared && s.from > 0 && a.Delivered.Stream > s.from && !s.rewound {
		s.rewound = true
		p.rewind(s)
		return
	}
	s.answered = true
	p.mu.Lock()
	p.heard = time.Now()
	p.shown.lag, p.shown.failed = a.Pending, p.run.refusal
	p.mu.Unlock()
	if s.shared || s.acknowledges || !p.mirror {
		return
	}
	p.run.sink.pass(min(a.Delivered.Stream, sequenceMost))
	if s.from > 0 && a.Pending == 0 {
		s.comparing = true
		p.publish(p.call("STREAM.INFO", p.source.Name), s.reply, nil, nil)
	}
}

// compare takes what the origin of a mirror says of itself. If it ends before what is here it was made anew, or has lost
// what it had: until it has come as far nothing of it is copied, which its owner has to know.
func (p *puller) compare(s *session, m *engine.Message) {
	s.comparing = false
	var a consumerAnswer
	if json.Unmarshal(m.Payload, &a) != nil || a.State == nil || a.State.Last >= s.from {
		return // or nobody who may tell
	}
	p.stream.sourcing.cfg.Logger.Warn("the origin ends before what its mirror has: it was made anew, or has lost messages; nothing is copied until it has come as far",
		"stream", p.stream.log.Name(), "origin", p.source.Name, "origin_last", a.State.Last, "last", s.from)
	p.show(func(v *shown) {
		v.failed = api.NewError(api.IdentityMismatch, "stream "+p.source.Name+" ends at "+strconv.FormatUint(a.State.Last, 10)+
			", before what was copied of it: it was made anew, or has lost messages")
	})
}

// rewind asks a consumer that somebody has made for what was acknowledged and is not here: messages have been lost
// since, as when a backup was restored.
func (p *puller) rewind(s *session) {
	body, _ := json.Marshal(api.ResetRequest{Sequence: s.from + 1}) // a number cannot fail
	p.publish(p.call("CONSUMER.RESET", p.source.Name, p.source.Consumer.Name), s.reply, nil, body)
}

// unfit tells why a consumer that somebody has made cannot be used, nil if it can.
func (p *puller) unfit(s *session, a *consumerAnswer) *api.Error {
	if !s.shared {
		return nil
	}
	wrongAck, wrong := api.SourceConsumerFlow, api.SourceConsumerInvalid
	if p.mirror {
		wrongAck, wrong = api.MirrorConsumerFlow, api.MirrorConsumerInvalid
	}
	switch {
	case a.Config.Ack != "flow_control":
		return api.NewError(wrongAck)
	case a.Config.DeliverSubject != p.source.Consumer.DeliverSubject && p.source.External == nil:
		return api.NewError(wrong)
	}
	return nil
}

// refused takes an error of the origin.
func (p *puller) refused(e *api.Error) {
	switch config.Code(e.ErrCode) {
	case api.LevelRequired:
		switch p.run.level {
		case levelFull:
			p.run.level = levelMirror
		default:
			p.run.level = levelNone
		}
	case api.IdentityMismatch:
		p.stream.sourcing.cfg.Logger.Warn("the origin was made anew: it is copied from its beginning",
			"stream", p.stream.log.Name(), "origin", p.source.Name)
		p.run.sink.forget()
	}
	p.fail(e)
}
