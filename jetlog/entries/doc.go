// Package entries is the logs of raft groups on the log that all streams of a server share: entries with an index and a
// term, and the few values that a group must not forget, such as its vote.
//
//	set := entries.NewSet(entries.Config{Log: func() *wal.Log { return log }, Flush: flush})
//	l := set.New(group, place, begin)
//	... l.Recover(record) for what the log has, then l.Recovered() ...
//	err := l.Append(ctx, []entries.Entry{{Index: 8, Term: 3, Data: data}})   // in the log's queue
//	err = l.WaitDurable(ctx, 8)                                              // now it is safe
//	l.Flushed(place)                                                         // what was applied up to there is in files
//
// # What is kept, and where
//
// The log on disk is for restarts alone: whatever Get has is in memory. In memory are the entries behind the place, which
// is where the state in files is, the one at the place, and a window before it for members that lag: 8 MiB for a group,
// 64 MiB for all of them. The windows are given up first; where the entries behind places take more than that, a flush is
// asked for, after which they are windows. A member that needs what is not there gets a snapshot.
//
// # Records
//
// The group of a record is that of the log, its index and term are those of the entry. Kinds from 16 on are an entry
// whose type is in the lower four bits, from 32 on the same with extensions before the data, 48 says that
// all entries from an index on are gone, and 49 has all values. A later record counts more than an earlier one: so entries
// and values can be appended once more, when the segment where they stand is to be used again.
//
// # Cost
//
// A log that nothing happens to takes a few hundred bytes and has no goroutine.
package entries
