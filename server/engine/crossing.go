package engine

import (
	"math/rand/v2"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine/chunks"
	"runnel/server/engine/latency"
	"runnel/server/engine/replies"
	"runnel/server/engine/reserved"
	"runnel/server/msgtrace"
	"runnel/server/wire"
)

// openBounds is how much of what one account has asked may wait for answers.
var openBounds = replies.Bounds{Requests: 1 << 16, Bytes: 32 << 20}

// question is what is known about a request in another account until it is answered.
type question struct {
	service *service // that it entered
	reply   string   // where the answer goes in the account that asked
	// importer is whose import the service is; the account that asked, unless this is a question of a service to who
	// asked it.
	importer *accounts.Account
	measured *latency.Measurement // nil for most
}

type (
	request  = replies.Request[*accounts.Account, question]
	requests = replies.Table[*accounts.Account, question]
)

// travels is the scratch of a worker for messages that go on into other accounts.
type travels struct {
	letters []*letter // the first is for what leaves the account of its publisher
	chain   int       // how many of them are in use
	asked   int       // how many services the message at hand has entered
	drawn   wire.Frame
}

// leave takes the worker's letter, which was delivered in the account of e, on into others: as a request to services,
// and as an answer to who has asked. It returns how many of them got it.
func (w *worker) leave(e *entry) (delivered int) {
	outer := w.letter
	if !w.depart() {
		return 0
	}
	defer w.comeBack(outer)
	if e.beyond != nil {
		for i := range e.beyond.services {
			if w.request(&e.beyond.services[i], outer) {
				delivered++
			}
		}
	}
	if reserved.Reply(outer.to) && w.passAnswer(e.profile.Account(), outer) {
		delivered++
	}
	return delivered
}

// depart makes the next letter the worker's. It fails for what has come too far already.
func (w *worker) depart() bool {
	t := &w.travels
	if t.chain == chainMost {
		return false
	}
	if t.chain == 0 {
		t.asked = 0
	}
	if t.chain == len(t.letters) {
		t.letters = append(t.letters, new(letter))
	}
	w.letter = t.letters[t.chain]
	t.chain++
	return true
}

func (w *worker) comeBack(outer *letter) {
	w.letter.header, w.letter.payload, w.letter.from, w.letter.traced = nil, nil, nil, nil
	w.letter = outer
	w.travels.chain--
}

// tooFar tells that a message in account a does not get everywhere: nobody may have configured that knowingly.
func (e *Engine) tooFar(a *accounts.Account, subject string) {
	now := e.env.Clock.Load()
	if told := e.toldFar.Load(); now-told >= int64(time.Minute) && e.toldFar.CompareAndSwap(told, now) {
		e.logger.Error("a message is not delivered everywhere: imports lead it on in too many ways; remove some of them",
			"account", a.Name(), "subject", subject, "limit", waysMost)
	}
}

// now is the time to within that of a batch or of housekeeping.
func (e *Engine) now() time.Time { return time.Unix(0, e.env.Clock.Load()) }

// request sends outer as a request to a service in the account that exports it, and tells whether somebody got it.
func (w *worker) request(s *service, outer *letter) bool {
	if w.travels.asked == waysMost {
		w.engine.tooFar(s.Importer, s.subject)
		return false
	}
	w.travels.asked++
	if outer.traced != nil {
		return w.requestTraced(s, outer)
	}
	return w.enter(s, outer, nil)
}

// enter is request; d is set when the way of the message is told there too.
func (w *worker) enter(s *service, outer *letter, d *traced) bool {
	l := w.letter
	l.to = append(l.to[:0], s.remote...)
	far := w.match.lookup(s.Account.Profile(), l.to, fromService)
	m := w.measure(s, outer)
	if far.nobody() {
		w.report(s, m, latency.Unavailable)
		return false
	}
	l.readdress(l.to)
	l.begin(w.introduce(s, outer), outer.payload)
	l.from, l.shy, l.traced = outer.from, outer.shy || !s.Share, d
	l.reply = l.reply[:0]
	if len(outer.reply) > 0 {
		l.reply = w.ask(l.reply, &request{
			From: s.Importer, To: s.Account, Lasting: s.Response != accounts.ResponseSingle, Patience: s.Threshold,
			Value: question{service: s, reply: string(outer.reply), importer: s.Importer, measured: m},
		})
	}
	if w.send(far, "") == 0 {
		if len(l.reply) > 0 {
			w.engine.requests.Close(l.reply)
		}
		w.report(s, m, latency.Unavailable)
		return false
	}
	if len(l.reply) == 0 {
		w.report(s, m, latency.BadRequest)
	}
	return true
}

// ask appends the reply subject for the answers to r.
func (w *worker) ask(reply []byte, r *request) []byte {
	r.Measured = r.Value.measured != nil
	r.Bytes = len(r.Value.reply)
	if r.Measured {
		r.Bytes += r.Value.measured.Bytes()
	}
	w.engine.expectAnswers(r.To)
	reply, evicted := w.engine.requests.Open(reply, *r, w.engine.now())
	for i := range evicted {
		q := &evicted[i].Value
		w.report(q.service, q.measured, latency.Timeout)
	}
	return reply
}

// passAnswer takes outer, which was published on a reply subject in account at, back to who asked, and tells whether
// somebody got it. An answer may ask in turn: then the one who asked answers in the same way.
func (w *worker) passAnswer(at *accounts.Account, outer *letter) bool {
	end := len(outer.header)+len(outer.payload) == 0
	r, ok := w.engine.requests.Answer(at, outer.to, end, w.engine.now())
	if !ok {
		return false
	}
	q := &r.Value
	if !w.stands(q) {
		w.engine.requests.Close(outer.to)
		return false
	}
	arrived := time.Time{}
	if q.measured != nil {
		arrived = time.Now()
	}
	l := w.letter
	l.readdress([]byte(q.reply))
	if !outer.plain() {
		l.subject = append(l.subject[:0], outer.subject...)
	}
	l.begin(outer.header, outer.payload)
	l.from = outer.from
	l.reply = l.reply[:0]
	switch {
	case len(outer.reply) == 0:
	case reserved.Ack(outer.reply):
		l.reply = append(l.reply, outer.reply...) // clients find in it where the message is in its stream
	default:
		l.reply = w.ask(l.reply, &request{
			From: at, To: r.From, Patience: r.Patience,
			Value: question{service: q.service, reply: string(outer.reply), importer: q.importer},
		})
	}
	delivered := w.send(w.match.lookup(r.From.Profile(), l.to, fromElsewhere), "")
	if q.measured != nil {
		responder := brief(outer.from)
		if responder != nil && responder.Account == q.service.Account.Name() {
			responder = w.engine.describe(outer.from) // of another account only what anybody may know
		}
		text := q.measured.Answered(responder, arrived, time.Now())
		w.tell(q.service, text)
	}
	return delivered > 0
}

// stands tells whether the import by which a question was asked is still there.
func (w *worker) stands(q *question) bool {
	l := w.letter
	l.to = append(l.to[:0], q.service.subject...)
	e := w.match.lookup(q.importer.Profile(), l.to, fromElsewhere)
	if e.beyond == nil {
		return false
	}
	for i := range e.beyond.services {
		if s := &e.beyond.services[i]; s.Account == q.service.Account && s.remote == q.service.remote {
			return true
		}
	}
	return false
}

// introduce is the header of a request to s: that of outer, and who asks, when that is a client; nobody else can say so. It is the memory of the
// worker's letter unless it is large.
func (w *worker) introduce(s *service, outer *letter) []byte {
	c, header := outer.from, latency.Strip(outer.header)
	if c == nil {
		return header // what a stream delivers, say, was written by a client too
	}
	if !s.AllowTrace {
		header = msgtrace.Disable(header)
	}
	l := w.letter
	b := l.memory[:0]
	if len(header) > 0 {
		b = append(b, header[:len(header)-len("\r\n")]...)
	} else {
		b = append(b, "NATS/1.0\r\n"...)
	}
	b = append(append(b, latency.InfoHeader...), ": "...)
	switch {
	case s.Share && !outer.shy:
		who := w.engine.describe(c)
		b = append(b, via(who, s).JSON()...)
	case c.Account() == s.Importer:
		b = latency.AppendRTT(append(b, s.brief...), c.RTT())
	default:
		b = append(b, via(brief(c), s).JSON()...)
	}
	b = append(b, "\r\n\r\n"...)
	if len(b) < chunks.BorrowBytes {
		l.memory = b
	}
	return b
}

// via adds to what is told about a client which account it came through, if that is another than its own.
func via(c *latency.Client, s *service) *latency.Client {
	if name := s.Importer.Name(); name != c.Account {
		c.Service = name
	}
	return c
}

// brief is what anybody may know about a client that asks; nil for the server itself.
func brief(c *Conn) *latency.Client {
	if c == nil {
		return nil
	}
	who := &latency.Client{RTT: c.RTT()}
	if a := c.Account(); a != nil {
		who.Account = a.Name()
	}
	return who
}

// describe is all that is told about a client; nil for the server itself.
func (e *Engine) describe(c *Conn) *latency.Client {
	who := brief(c)
	if who == nil {
		return nil
	}
	about, start := c.Client(), c.meta.Start.UTC()
	who.Start, who.Host, who.ID, who.User = &start, c.meta.IP, c.ID(), c.User()
	who.Name, who.Language, who.Version = about.Name, about.Lang, about.Version
	who.Server, who.Kind, who.ClientType = e.serverName, "Client", c.meta.ClientType()
	if e.routing != nil && e.routing.cfg.Cluster != nil {
		who.Cluster = e.routing.cfg.Cluster()
	}
	return who
}

// measure begins to measure a request to s, if it is to be; else it returns nil.
func (w *worker) measure(s *service, outer *letter) *latency.Measurement {
	if s.Latency == nil {
		return nil
	}
	var header map[string][]string
	if s.Latency.Sampling == 0 {
		var asked bool
		if header, asked = latency.Asked(outer.header); !asked {
			return nil
		}
	} else if rand.IntN(100) >= s.Latency.Sampling {
		return nil
	}
	m := &latency.Measurement{Requester: brief(outer.from), Header: header, Start: time.Now()}
	if s.Share && !outer.shy {
		m.Requester = w.engine.describe(outer.from)
	}
	return m
}

// report publishes that a measured request got no answer.
func (w *worker) report(s *service, m *latency.Measurement, status int) {
	if m != nil {
		w.tell(s, m.Failed(status, time.Now()))
	}
}

// tell publishes a metric of a service in the account that exports it.
func (w *worker) tell(s *service, text []byte) {
	outer := w.letter
	if !w.depart() {
		return
	}
	defer w.comeBack(outer)
	w.letter.address(s.Latency.Subject, s.Latency.Subject, "", nil, text)
	w.send(w.match.lookup(s.Account.Profile(), w.letter.to, fromElsewhere), "")
}

// expire gives up requests that were not answered in time.
func (e *Engine) expire(now time.Time) {
	for _, r := range e.requests.Expire(now) {
		if q := &r.Value; q.measured != nil {
			text := q.measured.Failed(latency.Timeout, now)
			e.Publish(q.service.Account, q.service.Latency.Subject, "", nil, text)
		}
	}
}
