// Package store keeps streams on disk: it joins their state (package jetlog), the log that all of
// them share (package wal), the messages that are only in the log so far (memory tables), and the
// files of messages and facts (package segment). docs/storage.md follows a message through it.
//
//	store, report, err := store.Open(store.Config{FS: vfs.Disk{}, Dir: dir})
//	stream, err := store.Create("account", config)
//	result, err := stream.Propose(ctx, &command.Publish{...})   // safe now
//	message, err := stream.Load(result.Sequence)
//
//	next, err := stream.Read(next, filter, 256, 256<<10, func(m *jetlog.Message) bool { ... })
//
// # Reading
//
// Read is for who goes through a stream, as a consumer's delivery does, Load for single messages, and View
// for questions about the state. None of them holds up a command while a disk is read, and a command that
// reads holds up none of them: see package layer.
//
// # Order of events
//
// A command is appended to the log; when the log says that it is safe, it is applied to the stream's
// state, in the order of the log; then its proposer gets the result. Many commands share one sync.
// Nothing is applied that could be lost, and nothing is answered that was not applied.
//
// The flusher freezes memory tables at a moment between two commands, writes what is still there into
// segment files, syncs them, and then notes in the manifest, in one synced record, the files and the
// state of each stream as of that moment. Only then the log may forget. After a restart the state of
// the manifest and the commands behind it in the log give the same state, and the same hash, as if
// nothing had happened.
//
// # Replicas
//
// A stream may take its commands from a raft group instead of the log: ApplyEntry carries out what an entry of the group has,
// and Start hands what is proposed here to a Proposer. The entries are in the same log, as package entries has them. A flush
// writes how far the state is in the log of the group, and package checkpoint takes a replica to another server.
//
// # Goroutines
//
//	appliers   one per shard of streams: apply what is safe and answer it
//	flusher    freezes, writes segments, writes the manifest, compacts
//	watcher    waits for the failure of the log
//	scrubber   reads files again, slowly, to find damage before somebody needs them
//
// # Locks
//
// Each stream has a gate, for the order in which its commands enter the log, and a RWMutex for its
// state and body. The gate is taken before a shard's mutex; the RWMutex is never held together with
// either. A replica has one more, held while an entry is carried out, so that a flush, or a state from elsewhere, comes
// between two; it is taken before the RWMutex. Who flushes, compacts, installs or deletes holds flushing, then edits. A file
// that somebody reads without a lock is kept open by the count of its users. Store.mu guards the table of streams, and nothing is called while it is held.
package store
