package sourcing

import (
	"reflect"
	"sync"
	"time"

	"runnel/jetlog/config"
	"runnel/jetlog/content"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
)

const (
	// silenceMost is after which silence the consumer on the origin is given up: it sends a heartbeat every second.
	silenceMost = 10 * time.Second
	// answerMost is how long the origin may take to answer.
	answerMost = 10 * time.Second
	// retryLeast and retryMost bound the pause before another attempt, which doubles.
	retryLeast = 100 * time.Millisecond
	retryMost  = 10 * time.Second
	// flightsMost and flightBytesMost bound what was started and is not applied yet.
	flightsMost     = 512
	flightBytesMost = 4 << 20
	// inboxBytes bounds what an origin sends without being asked to go on. It is more than the largest window of flow
	// control, each message counted with what it takes besides.
	inboxBytes      = 96 << 20
	messageOverhead = 128
)

// puller copies from one origin.
type puller struct {
	stream *Stream
	source config.Source
	mirror bool
	maps   mapping
	// filter says which messages are taken over, nil for all, and pattern is its text.
	filter  *content.Filter
	pattern string
	// name is that of the consumer on the origin, or how it begins.
	name string

	mu      sync.Mutex // guards everything up to timer
	box     mailbox
	session *session // whose messages are wanted, nil for none
	bytes   int      // of the messages in the mailbox, and of those that were taken out of it and not looked at
	full    bool     // there was no room for a message of the session: those behind it mean nothing
	heard   time.Time
	running bool // the goroutine exists
	closed  bool
	forget  bool // closed for ever
	ended   bool // closed, and nothing is left to be given back
	shown   shown
	timer   *time.Timer

	run running // belongs to the goroutine
}

// mailbox is what a puller was told and has not looked at.
type mailbox struct {
	messages []*engine.Message
	answer   *engine.Message
	outcomes []*outcome
	hurry    bool // the origin may be there now
	renew    bool // the origin is another one
	tick     bool // time has passed
}

func (b *mailbox) empty() bool {
	return len(b.messages) == 0 && b.answer == nil && len(b.outcomes) == 0 && !b.hurry && !b.renew && !b.tick
}

// shown is what infos say.
type shown struct {
	lag, sequence uint64
	failed        *api.Error
}

func newPuller(s *Stream, source config.Source, cfg *config.Stream, mirror bool) *puller {
	p := &puller{stream: s, source: source, mirror: mirror}
	p.maps = newMapping(&source, cfg.SubjectTransform)
	if !mirror {
		p.pattern = cfg.Metadata[config.MetadataFilterSourcePrefix+source.Name]
		filters, err := cfg.Filters()
		if err != nil {
			s.sourcing.cfg.Logger.Error("a content filter of a stream does not work", "stream", cfg.Name, "error", err)
		}
		p.filter = filters.Sources[source.Name]
	}
	p.name = consumerName(s.account.Name(), s.log.Name(), &source, mirror)
	p.run.level = levelFull
	if mirror {
		p.run.sink = &mirrorSink{p: p}
		p.run.level = levelMirror
	} else {
		p.run.sink = newSourceSink(p)
	}
	return p
}

// same tells whether another puller would do just the same.
func (p *puller) same(q *puller) bool {
	return p.mirror == q.mirror && p.pattern == q.pattern && reflect.DeepEqual(&p.source, &q.source) &&
		reflect.DeepEqual(p.maps.after, q.maps.after)
}

// post puts something into the mailbox, and has the goroutine look at it.
func (p *puller) post(put func(b *mailbox)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	put(&p.box)
	p.wake()
}

// wake lets the goroutine run, if there is something for it. The caller holds mu.
func (p *puller) wake() {
	if !p.running && !p.box.empty() {
		p.running = true
		go p.work()
	}
}

// appeared has the puller look at once: it begins, does not rest any longer, or, to renew it, leaves the consumer
// that it has.
func (p *puller) appeared(renew bool) {
	p.post(func(b *mailbox) { b.hurry, b.renew = true, b.renew || renew })
}

// receive is the handler of a session's messages.
func (p *puller) receive(s *session, m *engine.Message) {
	size := m.Bytes() + messageOverhead
	p.post(func(b *mailbox) {
		switch {
		case p.session != s, p.full:
		case p.bytes+size > inboxBytes:
			p.full = true // seen when those that had room are looked at
		default:
			p.heard = time.Now()
			p.bytes += size
			b.messages = append(b.messages, m.Clone())
		}
	})
}

// reply is the handler of the answer to a session's request.
func (p *puller) reply(s *session, m *engine.Message) {
	p.post(func(b *mailbox) {
		if p.session == s {
			b.answer = m.Clone()
		}
	})
}

// work looks at the mailbox until it is empty.
func (p *puller) work() {
	for {
		b, ok := p.take()
		if !ok {
			return
		}
		p.turn(&b)
	}
}

// take empties the mailbox; it is false when there is nothing more to do for now.
func (p *puller) take() (mailbox, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.end()
	}
	if p.box.empty() {
		p.running = false
		return mailbox{}, false
	}
	b := p.box
	p.box = mailbox{}
	return b, true
}

// close ends the puller. With forget the origin is told that nobody comes back. Who closes does not wait for what is
// under way.
func (p *puller) close(forget bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed, p.forget = true, forget
	p.box = mailbox{outcomes: p.box.outcomes}
	if !p.running {
		p.end()
	}
}

// end gives back what a closed puller has. The caller holds mu.
func (p *puller) end() {
	if p.ended {
		return
	}
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	s := p.session
	p.session = nil
	if s != nil {
		s.cancel()
	}
	if s != nil || p.forget {
		go p.farewell(s, p.forget) // on a goroutine of its own: it publishes
	}
}

// farewell tells the origin that a session, if there is one, has ended, and with forget that none will follow.
func (p *puller) farewell(s *session, forget bool) {
	if s != nil {
		s.leave()
	}
	if forget && p.source.Consumer == nil {
		// Where messages go when they are acknowledged, the consumer has this name and would hold them for ever.
		p.publish(p.call("CONSUMER.DELETE", p.source.Name, p.name), "", nil, nil)
	}
}

// alarm has the puller woken at a time.
func (p *puller) alarm(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	wait := max(0, time.Until(at))
	if p.timer == nil {
		p.timer = time.AfterFunc(wait, func() { p.post(func(b *mailbox) { b.tick = true }) })
		return
	}
	p.timer.Reset(wait)
}

// isClosed tells whether the puller has ended.
func (p *puller) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// overflown tells whether all messages of the session that had room were looked at, and there were more.
func (p *puller) overflown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.full && len(p.box.messages) == 0 && len(p.run.held) == 0
}

// lastHeard is when the origin was last heard of.
func (p *puller) lastHeard() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard
}

// show changes what infos say.
func (p *puller) show(change func(*shown)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.shown)
}

// info tells how far the puller is.
func (p *puller) info() *api.SourceInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := &api.SourceInfo{
		Name: p.source.Name, External: p.source.External, Lag: p.shown.lag, Sequence: p.shown.sequence,
		Active: api.Never, Error: p.shown.failed,
		FilterSubject: p.source.FilterSubject, Transforms: p.source.Transforms,
	}
	if !p.heard.IsZero() {
		i.Active = time.Since(p.heard)
	}
	return i
}
