package replicas

import (
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
