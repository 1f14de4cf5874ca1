package group

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// canvassTime is how long answers to a canvass are waited for.
const canvassTime = 500 * time.Millisecond

// Canvass asks the other voters whether they would vote for this replica, and reports whether they are a majority with it. Nobody
// who has a leader would, and nobody whose log is further. It changes nothing: unlike a campaign that fails it disturbs no leader of
// whom this replica has not heard yet.
func (g *Group) Canvass(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, canvassTime)
	defer cancel()
	request, err := g.candidacy()
	if err != nil {
		return false
	}
	needed, voters, answers := 1, 0, make(chan bool, 1)
	for _, s := range g.raft.GetConfiguration().Configuration().Servers {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		if string(s.ID) == g.cfg.Self {
			needed--
			continue
		}
		g.spawn(func() {
			var would raft.RequestPreVoteResponse
			err := g.courier.prevote.RequestPreVote(s.ID, s.Address, request, &would)
			select {
			case answers <- err == nil && would.Granted && would.Term <= request.Term:
			case <-ctx.Done():
			}
		})
	}
	needed += voters / 2
	for asked := voters - 1; needed > 0 && asked > 0; asked-- {
		select {
		case would := <-answers:
			if would {
				needed--
			}
		case <-ctx.Done():
			return false
		}
	}
	return needed <= 0
}

// candidacy is what voters are to be asked.
func (g *Group) candidacy() (*raft.RequestPreVoteRequest, error) {
	last, l := g.raft.LastIndex(), raft.Log{}
	if last > 0 {
		if err := g.log.GetLog(last, &l); err != nil {
			return nil, err
		}
	}
	return &raft.RequestPreVoteRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(g.cfg.Self), Addr: []byte(g.cfg.Self)},
		Term:      g.raft.CurrentTerm() + 1, LastLogIndex: last, LastLogTerm: l.Term,
	}, nil
}
