// Package meta keeps the group of servers that agree on who belongs to a cluster and who has which stream. What they agree
// on is in package state; here it is carried by raft, as group 0.
//
// # How a cluster begins
//
// Servers that have never been in a cluster tell one another who they are, whom they see and how many servers the cluster is to
// have. When as many as that see exactly one another, the one with the smallest node id draws a cluster id and writes
// both down as a plan. Each of the others, if its view is the same, writes the same plan down. That is a promise, and it
// is on disk before anybody hears of it. A server that knows that all in the plan have promised it writes
// down that the cluster is formed, and begins its raft log with just these servers. All logs begin the same.
//
//	unformed ──equal views──▶ promised ──all have promised──▶ formed ──▶ raft runs
//	    └────────somebody is formed: asks to join──────────────▶ formed
//
// A promise that cannot come true, since one of its servers was replaced before it heard, gives way to a later one, for which again all
// must have the same view; all in the old plan that are left take part in it, so that none of them has formed the old one. Who is formed never forms again. Servers that see others
// with another cluster id say so and have nothing to do with them.
//
// # Members and voters
//
// Later servers ask the leader to be let in. They begin without a vote and get one when they have caught up, as long
// as there are fewer voters than there should be: 3, and from five members on 5. A server that has lost its disk comes back as another node
// under its old name: it takes the place of the old node, vote included, once that one cannot be reached.
// A node that has kept its id but lost this directory is refused, since it may have forgotten how it voted.
//
// # Proposals
//
// [Meta.Propose] takes a command to the leader, which chooses servers for streams where that is needed and hands it to raft.
// The verdict comes from applying it. Without a leader the answer is [ErrNoLeader], within a second or so; an answer that is not known to be
// yes or no is [ErrUncertain].
//
// # The leader's chores
//
// Twice a second the leader looks for what is not as it should be: servers that have changed what they say of themselves, votes, streams on servers
// that have left or are being left, and proposes what mends it. Servers tell it every few seconds what they have and how much room; that does
// not go through the log, and only placement looks at it.
//
// # When most servers are lost
//
// [Meta.Rescue] makes the copy of one server the cluster: of those that are left the one with the longest log. It
// loses what only the lost servers had, and it makes two clusters of one if they come back: they must have been wiped before. So it wants
// a word that nobody says by accident, [RescueWord].
//
// # Files
//
//	formation   JSON: the instance, the plan, whether it is formed; replaced as a whole
//	snapshot    the state as of some entry, see snapshots.go; replaced as a whole
//	log         raft's log, term and vote, see package ledger
package meta
