package api

// Headers of a message in a dead-letter stream: where it comes from, and why it was given up. The message has its former
// subject, and all other headers that it had.
const (
	DeadStream   = "Runnel-Dead-Stream"   // the stream that it was in
	DeadSubject  = "Runnel-Dead-Subject"  // its subject there
	DeadSequence = "Runnel-Dead-Sequence" // its sequence there
	DeadConsumer = "Runnel-Dead-Consumer" // who has given it up
	DeadReason   = "Runnel-Dead-Reason"   // max_deliver, retry_limit, terminated, expired or filter
	DeadError    = "Runnel-Dead-Error"    // what the receiver has said, if anything
	DeadAttempts = "Runnel-Dead-Attempts" // how often it was delivered
	DeadFirst    = "Runnel-Dead-First"    // when it was first delivered, if it was
	DeadLast     = "Runnel-Dead-Last"     // when it was last delivered, if it was
	DeadTime     = "Runnel-Dead-Time"     // when it was given up
	DeadPath     = "Runnel-Dead-Path"     // the streams that it was given up in, the first one first
	DeadOmitted  = "Runnel-Dead-Omitted"  // is there if its own headers are not, since there was no room for both
)

// RedriveTo is in the header of a message that was put back for one consumer alone, and names that consumer: all others of the stream
// pass over it. Only the server sets it; from what clients publish it is taken away.
const RedriveTo = "Runnel-Redrive-To"
