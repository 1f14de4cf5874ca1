package meta

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// leaderless is how long nobody has to lead before a server stands for election without being told by its timeout.
	leaderless = time.Second
	// turn is how long a candidate has before it is the next one's turn.
	turn = time.Second
)

// campaign decides when this server stands for election before its timeouts would have it do so. Raft's timeouts are long,
// so that nobody who is merely slow is taken for dead; that a majority does not reach the leader any more is known much earlier. All voters that
// can be reached take turns, since one of them may have too short a log to be elected.
type campaign struct {
	m     *Meta
	since time.Time // since when there is nobody who could lead; zero if there is
	stood time.Time // when this server has stood for election last
}

// look is called often.
func (c *campaign) look(g *group) {
	if c.m.cfg.Campaign == nil || g.raft.State() != raft.Follower {
		c.since = time.Time{}
		return
	}
	connected := c.m.cfg.Connected()
	var voters, reachable []string
	for _, s := range g.raft.GetConfiguration().Configuration().Servers {
		if node := string(s.ID); s.Suffrage == raft.Voter {
			voters = append(voters, node)
			if node == c.m.self || slices.Contains(connected, node) {
				reachable = append(reachable, node)
			}
		}
	}
	slices.Sort(reachable)
	leader, since, _ := c.m.leader.get()
	if !slices.Contains(reachable, c.m.self) || len(reachable) <= len(voters)/2 || !c.lost(leader, since, voters, connected) {
		c.since = time.Time{}
		return
	}
	now := time.Now()
	if c.since.IsZero() {
		c.since = now
	}
	whose := reachable[int(now.Sub(c.since)/turn)%len(reachable)]
	if whose == c.m.self && now.Sub(c.stood) >= turn {
		c.stood = now
		err := c.m.cfg.Campaign()
		c.m.logger.Info("this server stands for election in the meta group", "leader_lost", leader, "error", err)
	}
}

// lost tells whether nobody leads, or somebody whom most voters do not reach.
func (c *campaign) lost(leader string, since time.Time, voters, connected []string) bool {
	if leader == "" {
		return len(voters) == 1 || time.Since(since) >= leaderless
	}
	return leader != c.m.self && !slices.Contains(connected, leader) && c.m.cfg.Reached != nil && !c.m.cfg.Reached(voters, leader)
}
