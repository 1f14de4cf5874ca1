package replicas

import (
	"time"

	"runnel/cluster/group"
	"runnel/cluster/meta/state"
)

// Decide is what a leader does next, in words.
func Decide(a *state.Assignment, self string, s *group.Status) string {
	what, node := decide(a, self, s)
	words := map[deed]string{nothing: "nothing", add: "add", promote: "promote", remove: "remove", handOver: "hand over to", settle: "settle"}
	if node == "" {
		return words[what]
	}
	return words[what] + " " + node
}

// Step is what is said of a move that the leader of a group works at; nodes are their own names.
func Step(a *state.Assignment, self string, s *group.Status) (text, kind string) {
	return step(a, self, s, func(node string) string { return node })
}

// Turn is when a voter campaigns, after its leader was found to be missing, that has so many others before it, while the term rises at some
// times.
func Turn(rank int, leaderless bool, rises ...time.Duration) time.Duration {
	var w watch
	term, begin := uint64(7), time.Unix(1000, 0)
	for now := begin; ; now = now.Add(lookEvery) {
		for len(rises) > 0 && now.Sub(begin) >= rises[0] {
			term, rises = term+1, rises[1:]
		}
		w.wait(now, term, leaderless, func() int { return rank })
		if !now.Before(w.next) {
			return now.Sub(begin)
		}
	}
}
