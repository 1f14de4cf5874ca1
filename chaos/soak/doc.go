// Package soak loads a server beyond what is comfortable, and looks whether it is well afterwards.
//
// Each [Scenario] has a server of its own, as a process, and a stream that is published to all the time. It notes what the server uses
// when it is idle, does what it is about, takes it back, and then wants that
//
//   - nothing is missing that was acknowledged,
//   - the server says that it is well, takes messages again, and has not ended by itself,
//   - memory and descriptors return to what they were, within bounds,
//   - and, where the server has a memory budget, it was kept all the time.
//
// The bounds are what a server may keep of its own will. Descriptors: the files that its store has made meanwhile. Memory: the shares of
// its budget that a quiet server does not give up (memory tables until they are flushed, what was read from files), and the garbage
// that it may keep. Connections, consumers and what waited for them are in neither: they have to be given back.
package soak
