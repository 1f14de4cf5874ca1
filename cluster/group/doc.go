// Package group runs one raft group (hashicorp/raft) around a state machine that knows no raft: proposals that wait are
// packed into entries, what is committed is applied, replicas that are behind get a checkpoint, and the host is told who
// leads.
//
//	g, err := group.Open(group.Config{ID: id, Self: node, Machine: m, Log: log, Transport: t, Lead: lead, Follow: follow})
//	err = g.Propose(ctx, p)     // p is answered by m.Apply, or by p.Fail
//
// # A proposal's way
//
// Propose puts it into the line. If no entry is on its way, whoever finds nobody packing packs all that waits into one entry and
// hands it to raft; else it waits until one returns or until enough for a full entry is together. So an idle group adds no
// delay, and a busy one makes few entries. Raft stores the entry and sends it to the followers at the same time; once a majority
// has it, raft has it applied here. The machine then gets the records together with the proposals they were made from, and
// answers those. The entry says which opened group made it and its number there, which is how the proposals are found.
// Nobody waits for a future, and there is no goroutine per proposal.
//
// # What is durable when
//
// A leader's own log is not waited for before an entry goes out, so that its sync and the followers' run at the same time. Two
// gates make that safe: an entry is not applied here before the local log says that it is durable, and no follower is told of a
// commit index beyond what is durable here. Entries of raft itself (of configurations and new leaders) are always waited for, and so
// is everything on a follower. The log is durable up to an index or not at all, so one wait covers all before it.
//
// # Places and checkpoints
//
// Raft takes no snapshots here. The machine flushes by itself and says how far, as a Place; its log then drops what lies before. A
// replica begins with a place (Birth), so there is nothing to bootstrap, or with none and waits for a checkpoint. What raft sends as a
// snapshot is the machine's own description of its last flush, and the machine of the receiver fetches what is in it.
//
// # Goroutines
//
// A follower has the three of raft. A leader has two more for each peer and one or two that raft needs. Roles are told to the host by a goroutine
// that lives only while there is something to tell.
package group
