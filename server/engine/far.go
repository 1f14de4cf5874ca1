package engine

import (
	"slices"
	"unsafe"

	"runnel/server/accounts"
	"runnel/server/engine/chunks"
	"runnel/server/engine/frames"
	"runnel/server/engine/peers"
	"runnel/server/wire"
)

// far is what an entry knows about other servers: who of them gets a message, once each.
type far struct {
	servers []server
	groups  []farGroup
	// subject is that of the messages, nil in entries that serve many subjects.
	subject []byte
	flags   uint8 // of the frames
}

// server is another server that gets messages: for itself (plain), or when one of its members of a queue group is chosen.
type server struct {
	route  *route
	number uint32 // of the account there
	plain  bool
	sub    *accounts.Subscription
}

// farGroup is a queue group with members on other servers. They get a message when those here do not.
type farGroup struct {
	name    string
	near    int // place of the group in the entry's queues, -1 when it has no members here
	members []farMember
	weight  int // of all members
}

type farMember struct{ server, weight int }

// abroad is the scratch of a worker for messages to and from other servers.
type abroad struct {
	frame    frames.Frame
	unserved []int    // places of the queue groups that no member here got the message at hand for
	picked   [][]byte // for each server the groups that were picked there
	again    []byte   // the group of a message that is passed on
	from     *route   // that is being read
	peer     string   // a node that the message at hand was sent to
	kept     bool     // its witness has taken it
}

// remoteOf returns who owns a subscription that stands for another server, and its weight; nil for any other.
func remoteOf(sub *accounts.Subscription) (r *peers.Remote, weight int) {
	switch owner := sub.Owner.(type) {
	case *peers.Remote:
		return owner, 1
	case *peers.Group:
		return owner.Remote, owner.Weight
	}
	return nil, 0
}

// add adds a subscription that stands for another server. weight is that of its queue group.
func (x *far) add(r *peers.Remote, sub *accounts.Subscription, weight int) {
	to, ok := r.Subscriber.(*route)
	if !ok {
		return
	}
	i := slices.IndexFunc(x.servers, func(s server) bool { return s.route.link.Peer.ID == to.link.Peer.ID })
	if i < 0 {
		i = len(x.servers)
		x.servers = append(x.servers, server{route: to, number: r.Number, sub: sub})
	}
	if sub.Queue == "" {
		x.servers[i].plain = true
		return
	}
	g := slices.IndexFunc(x.groups, func(g farGroup) bool { return g.name == sub.Queue })
	if g < 0 {
		g = len(x.groups)
		x.groups = append(x.groups, farGroup{name: sub.Queue, near: -1})
	}
	x.groups[g].members = append(x.groups[g].members, farMember{i, weight})
	x.groups[g].weight += weight
}

// far is what e knows about other servers, from now on.
func (e *entry) far() *far {
	b := e.extend()
	if b.far == nil {
		b.far = new(far)
		e.flags |= entryFar
	}
	return b.far
}

// pair finds out which groups have members both here and elsewhere.
func (e *entry) pair(subject string, from origin) {
	if e.flags&entryFar == 0 {
		return
	}
	x := e.beyond.far
	for i := range x.groups {
		x.groups[i].near = e.groupOf([]byte(x.groups[i].name))
	}
	if subject != "" {
		x.subject = []byte(subject)
	}
	if from == fromService {
		x.flags = frames.Service
	}
	e.takes(len(subject) + len(x.servers)*int(unsafe.Sizeof(server{})) + len(x.groups)*int(unsafe.Sizeof(farGroup{})+unsafe.Sizeof(farMember{})))
}

// forward sends a message on to other servers: f, or the worker's letter where f is nil. With a queue only to one member of
// that group. It returns how many servers get it.
func (w *worker) forward(e *entry, f *wire.Frame, queue string) (delivered int) {
	w.engine.tell() // who answers must know who wants the answer
	x := e.beyond.far
	picked := w.pick(x, queue)
	traced := w.letter.traced
	if f != nil {
		if traced = w.traced; traced != nil {
			w.letter.copyOf(f)
			w.letter.readdress(e.published(f.Subject))
		}
	}
	for i := range x.servers {
		s := &x.servers[i]
		var groups []byte
		if i < len(picked) {
			groups = picked[i]
		}
		if (!s.plain || queue != "") && len(groups) == 0 || s.route.Closing() || e.flags&entryWitnessed != 0 && s.route.silent.Load() {
			continue
		}
		if e.flags&entryWitnessed != 0 {
			w.far.peer = s.route.link.Peer.Node
		}
		switch {
		case traced != nil:
			w.stageTraced(traced, s, x, groups)
		case f != nil:
			w.stageFrame(s, x, groups, f)
		default:
			w.stageFarLetter(s, x, groups)
		}
		delivered++
	}
	w.far.unserved = w.far.unserved[:0]
	return delivered
}

// pick chooses a server for each queue group that nobody here serves, by weight, and returns the groups for each
// server; nil when there are none.
func (w *worker) pick(x *far, queue string) [][]byte {
	if len(x.groups) == 0 {
		return nil
	}
	a := &w.far
	for len(a.picked) < len(x.servers) {
		a.picked = append(a.picked, nil)
	}
	picked := a.picked[:len(x.servers)]
	for i := range picked {
		picked[i] = picked[i][:0]
	}
	for i := range x.groups {
		g := &x.groups[i]
		served := g.near >= 0 && !slices.Contains(a.unserved, g.near)
		if served || queue != "" && g.name != queue {
			continue
		}
		if to := w.pickServer(x, g); to >= 0 {
			picked[to], _ = frames.AppendQueue(picked[to], g.name)
		}
	}
	return picked
}

// passOn sends a message of another server on to a third one, for a queue group whose members have left this server while it
// was on the way here: or a service that moves would lose the requests of a moment. It is sent on once at most.
func (w *worker) passOn(e *entry, m *frames.Frame, group []byte) {
	if e.flags&entryFar == 0 || m.Flags&frames.Again != 0 {
		return
	}
	x := e.beyond.far
	i := slices.IndexFunc(x.groups, func(g farGroup) bool { return g.name == string(group) })
	if i < 0 {
		return
	}
	to := w.pickServer(x, &x.groups[i])
	if to < 0 {
		return
	}
	w.far.again, _ = frames.AppendQueue(w.far.again[:0], x.groups[i].name)
	h := frames.Head{
		Number: x.servers[to].number, Flags: m.Flags | frames.Again, Queues: w.far.again, Subject: m.Subject, Told: m.Told,
		ReplyBytes: len(m.Reply), HeaderBytes: m.HeaderBytes, BodyBytes: m.BodyBytes, TailBytes: len(m.Tail),
	}
	s := w.stageHead(&x.servers[to], &h, chunks.OwnBytes(m.Tail))
	s.Add(m.Tail)
}

// pickServer chooses one of the servers that have members of g, passing over those whose route is closing, and if there are
// others those that are silent; -1 for none.
func (w *worker) pickServer(x *far, g *farGroup) int {
	at := w.random.IntN(g.weight)
	first := 0
	for i, m := range g.members {
		if at -= m.weight; at < 0 {
			first = i
			break
		}
	}
	last := -1
	for i := range g.members {
		m := g.members[(first+i)%len(g.members)]
		switch r := x.servers[m.server].route; {
		case r.Closing():
		case !r.silent.Load():
			return m.server
		case last < 0:
			last = m.server
		}
	}
	return last
}

// stageFrame appends a published message to the stage of another server.
func (w *worker) stageFrame(to *server, x *far, groups []byte, f *wire.Frame) {
	h := frames.Head{
		Number: to.number, Flags: x.flags, Queues: groups, Subject: x.subject,
		ReplyBytes: len(f.Reply), HeaderBytes: f.HeaderBytes, BodyBytes: f.BodyBytes, TailBytes: len(f.Tail),
	}
	if h.Subject == nil {
		h.Subject = f.Subject
	}
	s := w.stageHead(to, &h, chunks.OwnBytes(f.Tail))
	s.Add(f.Tail)
}

// stageFarLetter appends the worker's letter to the stage of another server.
func (w *worker) stageFarLetter(to *server, x *far, groups []byte) {
	l := w.letter
	text := l.headFor(false)
	h := frames.Head{
		Number: to.number, Flags: x.flags, Queues: groups, Subject: l.to,
		ReplyBytes: len(l.reply), HeaderBytes: len(l.header), BodyBytes: len(l.header) + len(l.payload),
		TailBytes: len(text) + len(l.header) + len(l.payload) + len("\r\n"),
	}
	if !l.plain() {
		h.Told = l.subject
	}
	s := w.stageHead(to, &h, len(text)+chunks.OwnBytes(l.header)+chunks.OwnBytes(l.payload)+len("\r\n"))
	s.Own = append(s.Own, text...)
	s.Add(l.header)
	s.Add(l.payload)
	s.Own = append(s.Own, "\r\n"...)
}

// stageHead begins a message in the stage of another server, of which tailBytes will be copied.
func (w *worker) stageHead(to *server, h *frames.Head, tailBytes int) *stage {
	s := w.stageFor(&to.route.Line)
	if s.Full(frames.MessageBytes + len(h.Queues) + len(h.Subject) + len(h.Told) + tailBytes) {
		w.flushStage(s)
	}
	s.Own = h.Append(s.Own)
	s.messages++
	s.payload += h.BodyBytes
	s.last, s.from = to.sub, w.from
	return s
}

// await has w woken when a route that is behind has drained, of those that a message or one for a queue group goes to. It
// tells whether there is one whose drain must be waited for.
func (x *far) await(queue string, w interface{ Wake() }) bool {
	for i := range x.servers {
		s := &x.servers[i]
		goes := s.plain && queue == "" || slices.ContainsFunc(x.groups, func(g farGroup) bool {
			return g.near < 0 && (queue == "" || g.name == queue) && slices.ContainsFunc(g.members, func(m farMember) bool { return m.server == i })
		})
		if goes && s.route.Crowded() && s.route.Park(w) {
			return true
		}
	}
	return false
}
