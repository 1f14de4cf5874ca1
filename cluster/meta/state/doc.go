// Package state is what the servers of a cluster agree on about the cluster itself: who belongs to it, which streams
// there are, and on which servers each stream is. It knows no raft, no network, no clock and no chance: a [Machine]
// applies commands, and machines that have applied the same commands have the same state, to the byte.
//
// # Commands and verdicts
//
// A command says what somebody wants: a stream created, changed, deleted, moved, a server in or out. Whether it may be is
// decided when it is applied and not before, so that of two that want the same name, subject or reserved bytes one is
// refused whatever each of them saw when it asked. What is not the same on all servers comes in with the command: times, the
// limits of an account, and on which servers a stream is to be, which the leader has chosen by [Place].
//
// A command begins with the version of its encoding and its kind, and goes on in JSON. A machine that does not know one of
// them, or a member of the JSON, cannot go on, since it would not come to the same state as the others: it returns
// [ErrUnknown] and whoever runs it has to stop. The level of the cluster ([View.Level]) is there so that this does not happen:
// it is what all members know, raised by a command only, and a leader proposes nothing above it.
//
// # Streams
//
// Peers of an [Assignment] are the servers that keep a replica. While a stream moves or is scaled, Desired says where it is
// going: Peers has the old and the new servers then, and the stream's leader brings the replicas into line. When it is done it
// proposes [Settle]. Until then [CancelChange] turns it around. Every change of an assignment raises its Version, and
// whatever was decided for an older one is void.
//
// # Reading
//
// A [View] never changes. Each command makes a new one that shares with the old what is the same, so a view costs nothing to
// keep and nobody who reads waits for anybody.
package state
