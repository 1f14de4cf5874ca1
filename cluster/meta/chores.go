package meta

import (
	"context"
	"time"

	"runnel/cluster/meta/state"
)

const (
	// movesAtOnce bounds the streams that are given other servers in one go, so that proposals of clients come in between.
	movesAtOnce = 64
	// tidyEvery is how often all streams are looked at if no member has changed: a server may have come back that one can move to, or a
	// stream may have been made on one that is being left.
	tidyEvery = 5 * time.Second
)

// tidied is the last state in which no stream was to be moved, and when that was so.
type tidied struct {
	view *state.View
	at   time.Time
}

// chores proposes what mends what is not as it should be. Whatever fails is tried again the next time.
func (m *Meta) chores(ctx context.Context, g *group, last *tidied) {
	view := m.View()
	m.forget(view)
	for _, c := range m.due(view) {
		m.propose(ctx, g, c)
	}
	if err := m.mendVotes(ctx, g, m.View()); err != nil && ctx.Err() == nil {
		m.logger.Debug("change who votes in the meta group", "error", err)
	}
	view = m.View()
	if last.view != nil && !view.MembersDiffer(last.view) && time.Since(last.at) < tidyEvery {
		return
	}
	moves := m.moves(view)
	for _, c := range moves {
		m.propose(ctx, g, c)
	}
	if len(moves) == 0 {
		*last = tidied{view, time.Now()}
	}
}

// forget drops what servers have said that are no members any more.
func (m *Meta) forget(view *state.View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for node := range m.reports {
		if view.Member(node) == nil {
			delete(m.reports, node)
		}
	}
}

// propose proposes one thing of the leader's own.
func (m *Meta) propose(ctx context.Context, g *group, c state.Command) {
	if ctx.Err() != nil {
		return
	}
	r, err := m.apply(ctx, g, c)
	if err == nil {
		err = r.Err()
	}
	if err != nil && ctx.Err() == nil {
		m.logger.Debug("a chore of the leader of the meta group", "command", c, "error", err)
	}
}

// due lists what has to be proposed about members: what they say of themselves anew, who has been evacuated, a higher level.
func (m *Meta) due(view *state.View) []state.Command {
	var due []state.Command
	now := time.Now().UnixNano()
	level, known := 0, true
	for member := range view.Members() {
		r, ok := m.freshReport(member.Node)
		if ok && !member.Describes(&r.Member) {
			due = append(due, &state.Admit{Member: r.Member, Time: now})
		}
		known = known && ok
		if level == 0 || member.Level < level {
			level = member.Level
		}
		if member.Evacuating && view.Load(member.Node).Streams == 0 && view.Size() > 1 {
			due = append(due, &state.RemoveMember{Node: member.Node, Time: now})
		}
	}
	if known && level > view.Level() {
		due = append(due, &state.Raise{Level: level})
	}
	return due
}
