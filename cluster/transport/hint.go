package transport

import (
	"math"
	"time"

	"github.com/hashicorp/raft"
)

// hint tells a follower that entries up to index are committed, as an AppendEntries without entries would whose previous entry is
// the one at index. That entry must be of the term that is named, and the commit index one that this server had as the leader of the
// term: hints are made outside of raft, which may have been deposed a moment ago, and then another leader may have put another
// entry there, and committed that.
//
// So a hint is given for the term in which raft has sent entries last, for an index not below the first one that it has sent of
// that term, and not once any leader of a later term has sent anything here. What a commit index owes to a later leader comes after
// that, and as the leader of a later term itself raft can commit nothing before it has sent something.
type hint struct {
	group, term, index uint64
}

// noGroup stands for the commit index of the last hint to a follower whose server does not have the group, which may be about to be opened.
const noGroup = math.MaxUint64

const (
	hintBytes = 3 * 8
	// hintsAtOnce is how many hints go into one frame.
	hintsAtOnce = 1024
)

// hints are what the followers of the group should be told, by node.
func (g *Group) hints(now time.Time, up map[string]bool, to map[string][]hint) {
	if g.opts.Commit == nil {
		return
	}
	commit := g.clamp(g.opts.Commit())
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.own == 0 || commit < g.own || g.heard.Load() > g.term {
		return
	}
	for node, f := range g.followers {
		if up[node] && commit > f.told && commit <= max(f.sent, f.index) && f.pending == 0 && (commit > f.hinted || !now.Before(f.hintDue)) {
			f.hinted, f.hintDue = commit, now.Add(hintAgain)
			to[node] = append(to[node], hint{g.id, g.term, commit})
		}
	}
}

// sendHints sends them in frames of bounded length.
func (l *lane) sendHints(list []hint) {
	for len(list) > 0 {
		n := min(len(list), hintsAtOnce)
		l.control(kindHints, false, func(b []byte) []byte {
			for _, h := range list[:n] {
				b = putUint64s(b, h.group, h.term, h.index)
			}
			return b
		})
		list = list[n:]
	}
}

// handleHints gives hints to the groups, by way of raft's main loop like everything that may commit.
func (l *lane) handleHints(body []byte) error {
	if len(body)%hintBytes != 0 {
		return errFrame
	}
	for c := (cursor{b: body}); len(c.b) > 0; {
		h := hint{c.uint64(), c.uint64(), c.uint64()}
		g := l.t.group(h.group)
		if g == nil {
			l.answerHint(h, raft.RPCResponse{Error: ErrNoGroup})
			continue
		}
		g.hear(h.term)
		head := appendHead{term: h.term, prev: h.index, prevTerm: h.term, commit: h.index}
		g.in.push(inbound{lane: l, kind: kindHints, hint: h, command: head.request(nil, l.peer.header)}) // if not, it comes again
	}
	return nil
}

// What a follower says of a hint.
const (
	hintTaken = iota
	hintRefused
	hintNoGroup
)

func (l *lane) answerHint(h hint, a raft.RPCResponse) {
	verdict := byte(hintRefused)
	if a.Error != nil {
		verdict = hintNoGroup
	} else if r, ok := a.Response.(*raft.AppendEntriesResponse); ok && r.Success {
		verdict = hintTaken
	} else if ok && r.Term > h.term {
		return // who has given it does not lead any more, and hears that from raft
	}
	l.control(kindHintAnswer, true, func(b []byte) []byte {
		return append(putUint64s(b, h.group, h.term, h.index), verdict)
	})
}

func (l *lane) handleHintAnswer(body []byte) error {
	c := cursor{b: body}
	h, verdict := hint{c.uint64(), c.uint64(), c.uint64()}, c.uint8()
	if err := c.end(); err != nil {
		return err
	}
	if g := l.t.group(h.group); g != nil {
		g.hinted(l.peer.node, h, verdict)
	}
	return nil
}

// hinted notes what a follower has said of a hint.
func (g *Group) hinted(node string, h hint, verdict byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.followers[node]
	if f == nil || h.term != g.term {
		return
	}
	f.hintDue = time.Time{}
	switch verdict {
	case hintTaken:
		f.told, f.index, f.contact = max(f.told, h.index), max(f.index, h.index), time.Now()
		f.refused = 0
		if h.index >= f.sent {
			f.failed = false
		}
	case hintNoGroup: // until raft reaches it
		f.hinted, f.hintDue = noGroup, time.Now().Add(nudgeLast)
	default:
		if f.pending == 0 {
			f.refused++
		}
	}
}
