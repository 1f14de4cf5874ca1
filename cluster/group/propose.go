package group

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// line is where proposals wait and what of them is on its way. Group.mu guards it.
type line struct {
	term    uint64 // proposals are taken for this term; 0: this replica does not lead
	paused  bool   // nothing is handed to raft: leadership is being handed over
	handed  bool   // that is how the last leadership ended
	packing bool   // somebody packs, or hands what is packed to raft
	number  uint64 // of the last entry
	waiting []Proposal
	bytes   int           // of what waits
	room    chan struct{} // closed when there is room again; nil if nobody waits for it
	sent    []batch       // handed to raft and not returned, in order; at most maxInFlight
	drained chan struct{} // closed when sent is empty; nil if nobody waits for it
	orphans []batch       // that an ended leadership has left in the log, see orphans.go
	seen    uint64        // the term of the last entry that was applied
}

// batch is what one entry was made from.
type batch struct {
	number    uint64
	term      uint64 // in which raft has stored it, 0 if it has not, or if that says nothing any more
	proposals []Proposal
}

// Propose puts a proposal into the line. It waits while there is no room; if ctx has ended it does not wait and
// fails with the error of ctx. After an error the proposal is not answered otherwise.
func (g *Group) Propose(ctx context.Context, p Proposal) error {
	size := p.Bytes()
	for {
		room, err := g.enqueue(p, size)
		if err != nil {
			return err
		}
		if room == nil {
			g.pump(false)
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// enqueue lets p wait to be packed, or says what to wait for until there is room for it.
func (g *Group) enqueue(p Proposal, size int) (room <-chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &g.line
	if l.term == 0 {
		return nil, ErrNotLeader
	}
	if l.bytes > 0 && l.bytes+size > g.cfg.QueueBytes {
		if l.room == nil {
			l.room = make(chan struct{})
		}
		return l.room, nil
	}
	l.waiting = append(l.waiting, p)
	l.bytes += size
	return nil, nil
}

// pump packs what waits and hands it to raft, as long as it is its turn to. returned says that an entry has just come
// back, so that one may go although others are on their way.
//
// It is called by whoever proposes and by raft's goroutine that applies; handing over must not block that one. It does not, as raft's
// buffer (maxAppend) has room for all that is on its way: entries of an earlier leadership that are still in it were put there before
// the barrier that opened this one, and only one packer at a time can be late.
func (g *Group) pump(returned bool) {
	for {
		term, b, size := g.take(returned)
		if term == 0 {
			return
		}
		data := envelope{group: g.cfg.ID, instance: g.instance, number: b.number}.append(make([]byte, 0, envelopeBytes+size))
		for _, p := range b.proposals {
			data = p.Append(data)
		}
		if !g.send(term, b) {
			// Packed for a leadership that has ended: it never left.
			for _, p := range b.proposals {
				p.Fail(ErrNotLeader)
			}
		} else {
			// What becomes of it is seen when it is applied, or when leadership ends.
			g.raft.ApplyLog(raft.Log{Data: data}, 0)
		}
		g.packed()
		returned = false
	}
}

// take takes the next entry's proposals out of the line, if it is time to pack one, and marks that somebody packs.
// The term is 0 if it is not.
func (g *Group) take(returned bool) (term uint64, b batch, size int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &g.line
	if l.term == 0 || l.paused || l.packing || len(l.waiting) == 0 || len(l.sent) >= maxInFlight {
		return 0, b, 0
	}
	// Group commit: while something is on its way, gather.
	if len(l.sent) > 0 && !returned && l.bytes < entryBytes {
		return 0, b, 0
	}
	n := 0
	for n < len(l.waiting) {
		more := l.waiting[n].Bytes()
		if n > 0 && size+more > entryBytes {
			break
		}
		size += more
		n++
	}
	b.proposals = l.waiting[:n:n]
	if l.waiting = l.waiting[n:]; len(l.waiting) == 0 {
		l.waiting = nil
	}
	l.bytes -= size
	l.packing = true
	l.number++
	b.number = l.number
	l.makeRoom()
	return l.term, b, size
}

// makeRoom wakes who waits for room.
func (l *line) makeRoom() {
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
}

// send notes that a batch goes to raft, unless the leadership that it was packed for is over.
func (g *Group) send(term uint64, b batch) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line.term != term {
		return false
	}
	g.line.sent = append(g.line.sent, b)
	return true
}

// packed says that nobody packs any more.
func (g *Group) packed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.line.packing = false
}

// arrived takes the proposals of an entry that is committed; nil if they were failed already. Entries come in the order
// in which they were handed over.
func (g *Group) arrived(number uint64) []Proposal {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &g.line
	i := indexOf(l.sent, number)
	if i < 0 {
		return l.adopt(number)
	}
	b := l.sent[i]
	l.sent = slices.Delete(l.sent, i, i+1)
	if len(l.sent) == 0 && l.drained != nil {
		close(l.drained)
		l.drained = nil
	}
	return b.proposals
}

func indexOf(list []batch, number uint64) int {
	return slices.IndexFunc(list, func(b batch) bool { return b.number == number })
}

// abandon ends the line of a leadership. What waits will never be done, and fails: with ErrHandedOver if there is a successor who was
// chosen. What was handed to raft may still be applied, by the next leader: it becomes an orphan, or, if the group is closed, fails.
func (g *Group) abandon(refusal error) {
	g.mu.Lock()
	l := &g.line
	waiting, sent := l.waiting, l.sent
	if l.handed && refusal == ErrNotLeader {
		refusal = ErrHandedOver
	}
	l.waiting, l.sent, l.bytes, l.paused, l.handed = nil, nil, 0, false, false
	l.makeRoom()
	if l.drained != nil {
		close(l.drained)
		l.drained = nil
	}
	l.orphans = append(l.orphans, sent...)
	unknown, dead := l.part(refusal == ErrClosed)
	if len(l.orphans) > 0 {
		time.AfterFunc(orphanTime, g.forsake)
	}
	g.mu.Unlock()
	fail(unknown, ErrLeadershipLost)
	fail(dead, ErrNotLeader)
	for _, p := range waiting {
		p.Fail(refusal)
	}
}
