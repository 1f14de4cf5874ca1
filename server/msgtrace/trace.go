package msgtrace

import (
	"strconv"
	"sync"
	"time"
)

// maxEvents bounds a report; who comes after that is only counted.
const maxEvents = 4096

// Trace takes the steps of one message. It is safe for concurrent use. It is complete when everybody who has a part in it
// has released it: its maker, and each Storing.
type Trace struct {
	only        bool
	headerBytes int    // of what is shown of it
	hop         string // of this server, empty for the first one
	done        func(*Trace)

	mu      sync.Mutex // guards what follows; nobody is called while it is held
	report  Report
	entered *ingress
	holds   int
}

// Report is what is published about a message, besides who says so.
type Report struct {
	Request Request `json:"request"`
	Hops    int     `json:"hops,omitempty"` // reports of other servers to expect
	Events  []any   `json:"events"`
	Omitted int     `json:"omitted,omitempty"` // events that are too many for one report
}

// Request is the message that is reported about.
type Request struct {
	Header map[string][]string `json:"header,omitempty"`
	Bytes  int                 `json:"msgsize"` // header block and payload
}

// New begins the trace of a message with that header and size. only says that it is delivered to nobody. The maker
// releases it; done is called when the trace is complete, from whoever releases it last, and must be quick.
func New(header []byte, bytes int, only bool, done func(*Trace)) *Trace {
	t := &Trace{only: only, hop: hopOf(header), headerBytes: min(len(header), headerShownBytes), done: done, holds: 1}
	t.report.Request = Request{Header: shown(header), Bytes: bytes}
	return t
}

// Only tells whether the message is to be delivered to nobody.
func (t *Trace) Only() bool { return t.only }

// Enter notes that the message came in, in the account.
func (t *Trace) Enter(from Peer, account, subject string) {
	e := &ingress{step: now("in"), Peer: from, Account: account, Subject: subject}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entered = e
	t.addLocked(e)
}

// Refuse notes why the message that has come in goes no further.
func (t *Trace) Refuse(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entered.Error = why
}

// Hop numbers one more server that the message goes on to, which reports about the rest of its way.
func (t *Trace) Hop() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Hops++
	hop := strconv.Itoa(t.report.Hops)
	if t.hop != "" {
		hop = t.hop + "." + hop
	}
	return hop
}

// Map notes that the subject became another one.
func (t *Trace) Map(to string) { t.add(&mapping{now("sm"), to}) }

// Export notes that the message goes on into an account that imports the stream.
func (t *Trace) Export(account, to string) { t.add(&export{now("se"), account, to}) }

// Request notes that the message goes to a service of an account.
func (t *Trace) Request(account, from, to string) { t.add(&request{now("si"), account, from, to}) }

// Leave notes a subscriber.
func (t *Trace) Leave(e *Egress) {
	t.add(&egress{now("eg"), e.Peer, e.Hop, e.Account, e.Subscription, e.Queue, e.Error})
}

// Store notes that a stream is about to decide about the message, and holds the trace until that is done.
func (t *Trace) Store(stream string) *Storing {
	s := &Storing{trace: t, event: &stored{step: now("js"), Stream: stream}}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holds++
	t.addLocked(s.event)
	return s
}

func now(kind string) step { return step{kind, time.Now().UTC()} }

func (t *Trace) add(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addLocked(event)
}

func (t *Trace) addLocked(event any) {
	if len(t.report.Events) == maxEvents {
		t.report.Omitted++
		return
	}
	t.report.Events = append(t.report.Events, event)
}

// Release says that its maker has nothing to add.
func (t *Trace) Release() {
	if t.release() {
		t.done(t)
	}
}

// release tells whether nobody holds the trace any more.
func (t *Trace) release() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holds--
	return t.holds == 0
}

// Report returns what to publish. It is to be called on a complete trace.
func (t *Trace) Report() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.report
}

// eventBytes is about what an event takes in memory.
const eventBytes = 256

// Bytes is about what the trace takes in memory.
func (t *Trace) Bytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.headerBytes + eventBytes*(1+len(t.report.Events))
}

// Storing is a stream's part in a trace.
type Storing struct {
	trace *Trace
	event *stored
}

// Done says what has become of the message: under which subject it is stored, and that nobody is interested in it, so
// that it is not kept; or why not. It is called once.
func (s *Storing) Done(subject string, noInterest bool, refused string) {
	s.trace.mu.Lock()
	s.event.Time = time.Now().UTC()
	s.event.Subject, s.event.NoInterest, s.event.Error = subject, noInterest, refused
	s.trace.mu.Unlock()
	s.trace.Release()
}
