package relay

import (
	"strings"
	"sync"
	"time"

	"runnel/headers"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
)

const (
	// lasting is how long a pull is remembered at most, and one that does not say when it expires.
	lasting = 5 * time.Minute
	// heldMost bounds the pulls that are held, heldBytes the size of one: those of clients are far smaller.
	heldMost  = 4096
	heldBytes = 4 << 10
)

// Config is what a Relay stands on; all members are required.
type Config struct {
	// View is the cluster as this server sees it.
	View clustered.View
	// Domain is the other name of the API, empty for none.
	Domain string
	// Publish sends a message to the subscribers in an account, and returns how many got it.
	Publish func(a *accounts.Account, subject, reply string, header, payload []byte) int
}

// Relay is what one server remembers. Its methods are safe for concurrent use.
type Relay struct {
	cfg     Config
	pulls   sent
	reads   sent
	waiting clustered.Waiting[*request]

	mu      sync.Mutex // guards closed
	closed  bool
	running sync.WaitGroup // who tells of servers that are lost
}

// request is a call of the API for messages.
type request struct {
	account *accounts.Account
	call    api.Call
	message *engine.Message // a clone
	came    time.Time
}

// New returns a Relay that remembers nothing yet.
func New(cfg Config) *Relay {
	r := &Relay{cfg: cfg}
	r.waiting.Judge, r.waiting.Done = r.judge, r.waited
	r.waiting.Most = func() int { return heldMost }
	r.waiting.Gone = func(string) bool { return false }
	r.waiting.Orphan = func(*request) {}
	return r
}

// Close forgets all.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.waiting.Close()
	r.running.Wait()
}

// Witness returns who is shown messages on a subject, nil if they are no requests for messages: see [engine.RouteConfig].
func (r *Relay) Witness(a *accounts.Account, subject string) func(*engine.Message) {
	call, ok := api.ParseSubject(subject)
	if !ok || call.Domain != "" && call.Domain != r.cfg.Domain {
		return nil
	}
	call.Stream, call.Filter = strings.Clone(call.Stream), strings.Clone(call.Filter)
	switch call.Endpoint {
	case api.CallConsumerNext:
		return func(m *engine.Message) { r.pull(a, call, m) }
	case api.CallDirectGet:
		return func(m *engine.Message) { r.read(a, call, m) }
	}
	return nil
}

// pull remembers who was sent a pull, or holds it.
func (r *Relay) pull(a *accounts.Account, call api.Call, m *engine.Message) {
	if len(m.Reply) == 0 {
		return
	}
	s, ok := r.cfg.View.Stream(a.Name(), call.Stream)
	switch {
	case !ok:
	case m.Got > 0:
		if by := r.puller(s, m.Peer); by != "" {
			r.pulls.note(by, &request{account: a, call: call, message: m.Clone()}, expiry(m.Payload))
		}
	case m.From != nil && m.Bytes() <= heldBytes: // what is sent again is held already
		now := time.Now()
		if r.waiting.Add(&request{account: a, call: call, message: m.Clone(), came: now}, now) {
			m.Keep()
		}
	}
}

// puller is the other server that answers a pull which was sent to a peer, empty for this one.
func (r *Relay) puller(s *clustered.Assignment, peer string) string {
	leader := r.cfg.View.StreamLeader(s)
	switch {
	case leader == r.cfg.View.Self().ID && peer == "":
		return ""
	case leader != "" && leader != r.cfg.View.Self().ID && r.cfg.View.Online(leader):
		return leader
	}
	return peer
}

// expiry is until when a pull with this body waits.
func expiry(body []byte) time.Time {
	after := lasting
	if q, err := api.ParsePull(body); err == nil {
		switch {
		case q.Expires > 0:
			after = min(after, q.Expires)
		case q.NoWait:
			after = clustered.Grace
		}
	}
	return time.Now().Add(after)
}

// read remembers who was sent a direct get.
func (r *Relay) read(a *accounts.Account, call api.Call, m *engine.Message) {
	if m.Got > 0 && m.Peer != "" && len(m.Reply) > 0 {
		r.reads.note(m.Peer, &request{account: a, call: call, message: m.Clone()}, time.Now().Add(clustered.Grace))
	}
}

// Lost tells that a server, by its node, cannot be reached any more, or that the links to it have ended. It does not wait.
func (r *Relay) Lost(node string) {
	pulls, reads := r.pulls.take(node), r.reads.take(node)
	if len(pulls)+len(reads) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.running.Go(func() {
		for _, q := range pulls {
			r.answer(q, api.StatusLeadershipChange.Block())
		}
		for _, q := range reads {
			r.again(q)
		}
	})
}

// again puts a direct get to another server if it is for one message, or ends it.
func (r *Relay) again(q *request) {
	get, status := api.ParseDirectGet(q.call.Filter, q.message.Payload)
	if status != api.StatusNone || get.Several() || r.send(q) == 0 {
		r.answer(q, headers.Status(503, ""))
	}
}

// send publishes a request once more.
func (r *Relay) send(q *request) int {
	m := q.message
	return r.cfg.Publish(q.account, string(m.Subject), string(m.Reply), m.Header, m.Payload)
}

// answer answers a request with a status.
func (r *Relay) answer(q *request, status []byte) {
	r.cfg.Publish(q.account, string(q.message.Reply), "", status, nil)
}

// judge says what is to be done with a pull that is held: Answer is to send it to who leads the stream now.
func (r *Relay) judge(q *request, late bool) clustered.Verdict {
	s, ok := r.cfg.View.Stream(q.account.Name(), q.call.Stream)
	if !ok || late {
		return clustered.Unavailable
	}
	if leader := r.cfg.View.StreamLeader(s); leader != "" && r.cfg.View.Online(leader) {
		return clustered.Answer
	}
	return clustered.Wait
}

// waited goes on with a pull that was held.
func (r *Relay) waited(q *request, v clustered.Verdict) {
	if v == clustered.Answer && (r.send(q) > 0 || r.waiting.Add(q, q.came)) {
		return // who leads may not have told all yet where it is to be asked
	}
	r.answer(q, api.StatusLeadershipChange.Block())
}
