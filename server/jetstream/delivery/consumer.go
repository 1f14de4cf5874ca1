package delivery

import (
	"sync"
	"sync/atomic"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/breaker"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/pace"
)

// phase is where a consumer is between two turns.
type phase uint8

const (
	resting phase = iota // in no queue; a mail makes it ready
	ready                // in the queue of the pool
	running              // a worker has it
	again                // a worker has it, and something came in
	gone                 // it has ended
)

// consumer is one that may be delivered to. Others put what happens into its mailbox; a worker runs it.
//
// Invariants: it is in the queue of the pool exactly when it is ready; one worker at most runs it; its cursor is not
// behind the applied state once that was seen.
type consumer struct {
	stream   *Stream
	name     string
	next     *consumer // in the queue of the pool, which guards it
	settings atomic.Pointer[settings]
	// hungry is set while the consumer would take a message and there is none. Whoever clears it rouses it.
	hungry atomic.Bool
	// sent is the cursor's sequence, and sentAs the incarnation that it belongs to, for others.
	sent, sentAs atomic.Uint64

	mu    sync.Mutex // guards the next four
	phase phase
	box   *mailbox   // nil when it is empty
	shown shown      // what others may see
	pace  *pace.Pace // of the messages that it is through with, nil as long as there were none

	// What follows belongs to the worker that runs the consumer.
	incarnation uint64
	epoch       uint32 // changed when the cursor goes back to the applied state
	known       bool   // there is a cursor
	at          jetlog.Position
	entries     []*interestEntry
	timer       *time.Timer
	rings       int64            // when the timer does, 0 when it is not set
	used        int64            // when somebody last wanted something
	session     *session         // nil when nothing is going on
	pusher      *pusher          // nil unless it is a push consumer
	pin         *pin             // nil unless the consumer pins clients
	replay      *replay          // nil unless messages come as far apart as they were stored
	breaker     *breaker.Breaker // nil unless the consumer is paused when most fails
	lookout     *lookout         // nil unless some messages are left out, or come later
}

// session is what a consumer has while something is going on.
type session struct {
	turns   uint64
	unsure  bool    // the last look found nothing, by what may have gone since
	waiting waiting // requests
	flights []flight
	outbox  []flight // those that could not be started yet
	unnoted []delivered
	started uint64 // flights that were ever put into the outbox
	landed  uint64 // of these, those that are done
	settles []settle
	asked   []asked
	writing retry            // of commands
	reading retry            // of messages
	samples map[uint64]int64 // when a message was last sent, for samples

	patience  int64   // until when what is in the outbox may wait for more
	parcel    *parcel // of what is unnoted, what is sent later
	heldBytes int     // by this and the flights
	full      bool    // there was more than could be held at once
}

// shown is what others may see of a consumer, as of the end of its last turn.
type shown struct {
	waiting int
	bound   bool // somebody subscribed to where it delivers
	demand  bool // it would take messages
	busy    bool // commands are under way
	stall   Stall
	until   int64 // when that ends, 0 if it is not known
}

// settle is somebody who waits until as many flights have landed.
type settle struct {
	flights uint64
	done    chan struct{}
}

// mailbox is what happened to a consumer since its last turn.
type mailbox struct {
	bytes    int // of what clients have sent
	answers  []answer
	requests []Request
	landings []landing
	flows    []flow
	settles  []chan struct{}
	asked    []asked
	spent    []uint64 // messages that were not answered in time, for the last time
	acked    []uint64 // messages that were acknowledged in another way than by an answer
	news     bool     // there may be something to send for a reason that is not in here
	rang     bool     // the timer did
	update   bool     // the configuration, or the place, may have changed
	unpin    string
	end      *ending

	listening listening // its pusher is nil when there is nothing new
}

// ending says how a consumer ends.
type ending struct {
	status api.Status    // what those who wait are told
	told   chan struct{} // closed when those who wait were told
}

// clear empties the mailbox.
func (b *mailbox) clear() {
	clear(b.answers)
	clear(b.requests)
	clear(b.landings)
	clear(b.flows)
	clear(b.settles)
	clear(b.asked)
	*b = mailbox{
		answers: b.answers[:0], requests: b.requests[:0], landings: b.landings[:0], flows: b.flows[:0],
		settles: b.settles[:0], asked: b.asked[:0], spent: b.spent[:0], acked: b.acked[:0],
	}
}

// post lets put add to the mailbox and sees to it that there will be a turn. It is false when the consumer has ended.
func (c *consumer) post(put func(*mailbox)) bool {
	rouse, ok := c.drop(put)
	if rouse {
		c.stream.pool.enqueue(c)
	}
	return ok
}

func (c *consumer) drop(put func(*mailbox)) (rouse, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == gone {
		return false, false
	}
	if c.box == nil {
		c.box = c.stream.pool.boxes.Get().(*mailbox)
	}
	put(c.box)
	return c.rouse(), true
}

// Wake sees to it that there will be a turn that looks for something to send.
func (c *consumer) Wake() { c.post(func(b *mailbox) { b.news = true }) }

// wakeIfWanting is Wake for a consumer that would take messages.
func (c *consumer) wakeIfWanting() {
	c.mu.Lock()
	wanting := c.shown.demand || c.phase != resting
	c.mu.Unlock()
	if wanting {
		c.Wake()
	}
}

// rouse moves the phase and reports whether the caller has to put the consumer into the queue.
func (c *consumer) rouse() bool {
	switch c.phase {
	case resting:
		c.phase = ready
		return true
	case running:
		c.phase = again
	}
	return false
}

// begin starts a turn and returns the mailbox, nil for an empty one.
func (c *consumer) begin() *mailbox {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = running
	box := c.box
	c.box = nil
	return box
}

// rest ends a turn. If there is more, there is another one; that is also so when something came in meanwhile.
func (c *consumer) rest(e *ended) {
	if c.restLocked(e) {
		c.stream.pool.enqueue(c)
	}
}

func (c *consumer) restLocked(e *ended) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown = e.shown
	if e.served > 0 {
		if c.pace == nil {
			c.pace = &pace.Pace{}
		}
		c.pace.Add(uint64(e.served), e.at)
	}
	if e.more || c.phase == again {
		c.phase = ready
		return true
	}
	c.phase = resting
	return false
}

// leave ends the consumer and returns the mail that it did not read.
func (c *consumer) leave() *mailbox {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = gone
	c.shown = shown{}
	box := c.box
	c.box = nil
	return box
}

// idle reports whether nothing is going on and nothing has come in.
func (c *consumer) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == gone || c.phase == resting && !c.shown.busy && c.shown.waiting == 0
}

// setHungry says whether the consumer would take a message that is not there.
func (c *consumer) setHungry(hungry bool) {
	if c.hungry.CompareAndSwap(!hungry, hungry) {
		if hungry {
			c.stream.hungry.Add(1)
		} else {
			c.stream.hungry.Add(-1)
		}
	}
}

// feed rouses the consumer if it is hungry.
func (c *consumer) feed() {
	if c.hungry.Load() && c.hungry.CompareAndSwap(true, false) {
		c.stream.hungry.Add(-1)
		c.Wake()
	}
}
