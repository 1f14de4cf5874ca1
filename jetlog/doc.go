// Package jetlog is the state of streams and of their consumers, and the one way to change it.
//
// A Stream is changed by Apply alone, command after command. Apply knows no clock, disk, network,
// chance or goroutine: time and ids come in with the command, and the bodies of the messages are
// behind the Messages interface. So the same commands give the same state and the same hash on every
// replica, after every restart, and over every kind of storage.
//
// Apply has two phases. It first plans: it reads, decides and may fail, because reading may fail,
// and then nothing has changed. Then it commits: it changes memory, which cannot fail. A refusal,
// such as a wrong expected sequence, is not a failure: it is a Result with a Code, the same on every
// replica.
//
// A batch is planned message after message, each on a body that is staged, and committed once all are planned. What
// would take one command too long is left in the state as a chore, which Continue does in parts.
//
// A Stream and its consumers are not safe for concurrent use; their owner sees to that.
package jetlog
