package delivery

import (
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

const (
	// turnMessages and turnBytes bound what a consumer sends in one turn.
	turnMessages = 256
	turnBytes    = 256 << 10
)

// turn is one turn of a consumer. It is a part of the worker, which uses it again.
type turn struct {
	w       *worker
	c       *consumer
	set     *settings
	session *session
	ns      int64 // now, in nanoseconds since 1970
	due     int64 // when there has to be another turn, 0 for not by itself

	applied applied
	// commits is set when what is chosen is held until it is in the state, together when several commands go at once.
	commits, together bool
	picks             []pick
	roused            int    // messages that rest in the applied state, and are sent again
	stall             Stall  // why nothing more is sent
	until             int64  // when that ends, 0 if it is not known
	news              bool   // something has happened that may let something be sent
	looked            bool   // the state was read, and all that was chosen was sent
	end               bool   // there is nothing more to send
	more              bool   // there may be more to send at once
	further           bool   // nothing was found, but not all was looked at
	passed            uint64 // up to where messages were passed over that are for other consumers alone
	gave              bool   // something was sent
	wants             bool   // more would be taken
	served            int    // messages that it is through with
}

// applied is what a turn has seen of the consumer's state.
type applied struct {
	exists      bool
	delivered   jetlog.Position
	pending     uint64
	ackPending  int // of these that do not rest
	resting     int
	letters     int // that are not handed over yet
	pausedUntil int64
	passed      bool // messages were passed over
}

// pick is a message that was chosen.
type pick struct {
	jetlog.Message
	deliveries uint64 // how often it is delivered, this time included
	reply      string // the ack subject
}

// run gives a consumer a turn.
func (t *turn) run(w *worker, c *consumer) {
	picks := t.picks[:0]
	*t = turn{w: w, c: c, picks: picks, ns: c.stream.now()}
	box := c.begin()
	if box == nil {
		box = w.pool.boxes.Get().(*mailbox)
	}
	defer func() {
		box.clear()
		w.pool.boxes.Put(box)
		clear(t.picks)
	}()
	if c.session == nil {
		c.session = &session{}
	}
	t.session = c.session
	t.session.turns++
	if box.end != nil {
		t.finish(box)
		return
	}
	t.work(box)
	t.rest()
}

// work does what a turn does.
func (t *turn) work(box *mailbox) {
	c := t.c
	t.news = box.news || box.rang || box.update || box.unpin != "" || box.listening.from != nil ||
		len(box.requests) > 0 || len(box.flows) > 0
	t.set = c.settings.Load()
	t.landings(box.landings)
	if box.rang {
		c.rings = 0
	}
	if c.settings.Load() == nil || box.update || !c.known {
		t.configure()
	}
	if t.set = c.settings.Load(); t.set == nil {
		t.absent(box)
		return
	}
	t.together = t.set.commits() && c.stream.log.Replicated()
	t.commits = t.together || t.set.ahead.Keyed()
	t.listen(box.listening)
	t.mindPin(box.unpin)
	t.answers(box.answers)
	t.ackedElsewhere(box.acked)
	for _, seq := range box.spent {
		t.lapsed(seq)
		t.givenUp(seq)
	}
	t.flows(box.flows)
	t.requests(box.requests)
	if !t.commits || t.session.writing.at != 0 {
		t.send() // otherwise it goes with what is delivered
	}
	t.lapse()
	t.deliver()
	t.afterwards()
	t.showKeys(box.asked)
	t.settle(box.settles)
}

// configure reads the configuration.
func (t *turn) configure() {
	c := t.c
	var set *settings
	err := c.stream.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		if consumer := state.Consumer(c.name); consumer != nil {
			set = c.stream.settingsOf(consumer)
			t.follow(consumer)
			c.seePin(set, consumer, t.ns)
		}
		return nil
	})
	switch {
	case err != nil:
		t.unreadable(err)
	case set != nil:
		if c.settings.Swap(set) == nil {
			c.used = t.ns
			if set.original {
				c.replay = &replay{}
			}
		}
		c.stream.interest.change(c, set.filter)
		c.measure(set.breaker)
		t.configurePush(set)
	}
}

// follow makes sure that the cursor fits the applied state.
func (t *turn) follow(a *jetlog.Consumer) {
	c, at := t.c, a.Delivered()
	if !c.known || c.incarnation != a.Incarnation() || at.Consumer > c.at.Consumer {
		if c.known {
			c.epoch++
			t.session.unnoted, c.lookout = nil, nil
		}
		c.known, c.incarnation, c.at = true, a.Incarnation(), at
	}
	// A purge moves the place of a consumer, without a delivery.
	c.at.Stream = max(c.at.Stream, at.Stream)
}

// deliver sends what there is, as much as is wanted and as a turn may.
func (t *turn) deliver() {
	c, want := t.c, t.want()
	if want == 0 || t.hindered() {
		c.setHungry(false)
		t.looked = want == 0
		return
	}
	if t.commits && t.gathers() {
		c.setHungry(false) // there is another turn when something lands
		return
	}
	if c.hungry.Load() && !t.news && !t.session.unsure && !c.lookout.isDue(t.ns) {
		t.stillBehindKeys() // there was nothing, and nothing has come
		return
	}
	// Before the look, so that a message that comes behind it finds a hungry consumer.
	c.setHungry(true)
	if !t.look(want) {
		c.setHungry(false)
		return
	}
	sent := t.stage()
	t.sentAhead(sent)
	t.note(false)
	t.send()
	t.gave = sent > 0
	t.more = (sent > 0 && (sent < len(t.picks) || !t.end) || t.further) && t.want() > 0
	t.looked = sent == len(t.picks)
	t.end = t.end && t.looked
	t.session.full = t.more
	if t.end {
		c.replay = nil
	}
	if t.commits && sent > 0 || !t.end && !(t.set.priority == config.PriorityOverflow && len(t.session.waiting.list) > 0) {
		c.setHungry(false)
	}
}

// hindered reports whether commands or messages are to be tried again later.
func (t *turn) hindered() bool {
	s := t.session
	if s.reading.at <= t.ns && (s.writing.at == 0 || s.writing.at <= t.ns && len(s.outbox) == 0) {
		return false
	}
	t.stall = Storage
	if s.reading.at > t.ns {
		t.mustBy(s.reading.at)
	}
	return true
}

// absent answers those who want something of a consumer that does not exist yet, or any more.
func (t *turn) absent(box *mailbox) {
	for i := range box.requests {
		t.status(box.requests[i].Reply, api.StatusConsumerDeleted.Block())
	}
	t.release(box.settles)
}

// events returns who hears of what happens.
func (t *turn) events() Events { return t.w.pool.cfg.Events }

// mustBy makes sure that there is another turn at a time, 0 for never.
func (t *turn) mustBy(at int64) {
	if at != 0 && (t.due == 0 || at < t.due) {
		t.due = at
	}
}

// afterwards answers those who want no more to wait, and says when there is to be another turn.
func (t *turn) afterwards() {
	s := t.session
	if t.looked {
		t.refuse()
	}
	if t.set.push() {
		t.beat()
	}
	t.mindPin("")
	t.mindLookout()
	t.note(false)
	if t.waits() {
		t.mustBy(s.patience)
	} else {
		t.send()
	}
	t.mustBy(s.writing.at)
	if len(s.waiting.list) == 0 {
		s.waiting.due = 0
	}
	t.mustBy(s.waiting.due)
	t.wants = t.want() > 0
	if t.until != 0 {
		t.mustBy(max(t.until, t.ns+int64(time.Microsecond)))
	}
	t.checkUse()
	t.trip()
}

// checkUse looks whether nobody uses the consumer, and tells.
func (t *turn) checkUse() {
	c := t.c
	if t.set.inactive == 0 || t.inUse() {
		return
	}
	limit := jetlog.Later(c.used, t.set.inactive)
	if t.ns >= limit {
		t.events().Inactive(c.stream, c.name)
		c.used = t.ns
		limit = jetlog.Later(t.ns, t.set.inactive)
	}
	t.mustBy(limit)
}

// inUse reports whether somebody waits for messages. Whoever does counts as using the consumer until now.
func (t *turn) inUse() bool {
	c := t.c
	if t.set.push() {
		if c.pusher.bound {
			c.used = t.ns
		}
		return c.pusher.bound
	}
	w := &t.session.waiting
	if len(w.list) > 0 && t.ns-c.used >= int64(t.set.inactive) {
		c.used = t.ns
		t.sweep()
	}
	if len(w.list) == 0 {
		return false
	}
	if w.due == 0 || w.due > jetlog.Later(t.ns, t.set.inactive) {
		t.mustBy(jetlog.Later(t.ns, t.set.inactive)) // they may go without a word
	}
	return true
}

// settle lets those wait who want to know when all is applied.
func (t *turn) settle(list []chan struct{}) {
	s := t.session
	if len(list) > 0 {
		t.sweep()
		t.payLater(true)
		t.note(true)
		t.send()
		for _, done := range list {
			s.settles = append(s.settles, settle{s.started, done})
		}
	}
	n := 0
	for n < len(s.settles) && s.settles[n].flights <= s.landed {
		t.w.settled = append(t.w.settled, s.settles[n].done)
		n++
	}
	s.settles = s.settles[n:]
}

// release lets go who waits for something that does not come.
func (t *turn) release(list []chan struct{}) {
	t.w.settled = append(t.w.settled, list...)
	for _, w := range t.session.settles {
		t.w.settled = append(t.w.settled, w.done)
	}
	t.session.settles = nil
}

// rest sets the timer, shows what others may see, and ends the turn.
func (t *turn) rest() {
	c, s := t.c, t.session
	t.setTimer()
	see := shown{
		waiting: len(s.waiting.list), demand: t.wants, stall: t.stall, until: t.until,
		busy: len(s.flights)+len(s.outbox)+len(s.unnoted) > 0 || c.lookout.owes(),
	}
	t.showPush(&see)
	if s.idle() {
		c.session = nil
	}
	t.w.done = append(t.w.done, ended{consumer: c, shown: see, more: t.more, served: t.served, at: t.ns})
}

// idle reports whether there is nothing in the session.
func (s *session) idle() bool {
	return len(s.waiting.list) == 0 && len(s.flights) == 0 && len(s.outbox) == 0 && len(s.unnoted) == 0 &&
		len(s.settles) == 0 && len(s.asked) == 0 && len(s.samples) == 0 && s.writing.at == 0 && s.reading.at == 0
}

// setTimer lets the timer ring when there has to be another turn. One that rings too early does no harm.
func (t *turn) setTimer() {
	c := t.c
	switch {
	case t.due == 0 && c.timer != nil:
		c.timer.Stop()
		c.timer, c.rings = nil, 0
	case t.due == 0 || c.rings != 0 && c.rings <= t.due:
	default:
		wait := time.Duration(t.due - t.ns)
		if c.timer == nil {
			c.timer = time.AfterFunc(wait, c.ring)
		} else {
			c.timer.Reset(wait)
		}
		c.rings = t.due
	}
}

// ring is what the timer calls.
func (c *consumer) ring() { c.post(func(b *mailbox) { b.rang = true }) }

// finish ends the consumer, and tells all who wait.
func (t *turn) finish(box *mailbox) {
	c, s := t.c, t.session
	t.set = c.settings.Load()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.setHungry(false)
	c.stream.interest.leave(c)
	t.landings(box.landings)
	if t.set != nil {
		t.answers(box.answers)
		t.forget(true) // nobody would send it
		t.note(true)
		t.send()
	}
	if box.end.status == api.StatusLeadershipChange {
		t.disown(s.flights)
		t.disown(s.outbox)
	}
	late := c.leave()
	t.tell(box, late)
	t.release(box.settles)
	if late != nil {
		t.release(late.settles)
	}
	t.w.told = append(t.w.told, box.end.told)
	if late != nil && late.end != nil {
		t.w.told = append(t.w.told, late.end.told)
	}
	t.weigh(-s.heldBytes)
	c.session, c.timer, c.lookout = nil, nil, nil
	s.waiting = waiting{}
	t.w.flush()
}

// disown has those told who wait until their acknowledgements are applied, which nobody here will see any more. They may be applied
// all the same: to acknowledge once more does no harm.
func (t *turn) disown(list []flight) {
	refuse := t.w.pool.cfg.Refuse
	for i := range list {
		for _, reply := range list[i].replies {
			if refuse != nil {
				refuse(t.c.stream.account, []byte(reply))
			}
		}
	}
}

// tell lets everybody who waits for messages know that none will come.
func (t *turn) tell(boxes ...*mailbox) {
	status := boxes[0].end.status
	for _, r := range t.session.waiting.list {
		t.finishPull(r, status)
	}
	for _, b := range boxes {
		if b == nil {
			continue
		}
		for i := range b.requests {
			t.status(b.requests[i].Reply, status.Block())
		}
	}
	t.endPush()
}

// status sends a status to somebody.
func (t *turn) status(to string, header []byte) int {
	return t.w.out.Publish(t.c.stream.account, to, "", header, nil)
}

// cumulative reports whether an acknowledgement covers all earlier messages.
func (s *settings) cumulative() bool { return s.ack == config.AckAll || s.ack == config.AckFlowControl }
