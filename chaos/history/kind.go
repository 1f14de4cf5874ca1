package history

// What clients of a load do. Each names the fields it has besides Process, Node, Workload, Start, End,
// Result and Error.
const (
	// Publish stores a message: Stream, Key (its subject), Value, and Sequence of the ack. A message that
	// is sent again with the same id is an operation again, with the same Value.
	Publish = "publish"
	// Read is a message that a reader got in the order of the stream: Stream, Consumer, Key, Value, Sequence.
	// Every message is an operation. A reader is a process; it stays the same when it connects again.
	Read = "read"
	// Fetch is a message that a worker got and is to process: Stream, Consumer, Key, Value, Sequence.
	// Start is when the worker asked, End when the message came. A Fetch that got nothing has no Value.
	Fetch = "fetch"
	// Ack confirms a message to the server: Stream, Consumer, Key, Value, Sequence. It is OK when the
	// server has confirmed that in turn, and Unknown when nobody waited for it.
	Ack = "ack"
	// Nak gives a message back: fields as with Ack.
	Nak = "nak"
	// Term ends the delivery of a message that is not acknowledged: fields as with Ack.
	Term = "term"
	// Leave says that a worker leaves its group, or crashes with what it has in its hands: Stream, Consumer.
	Leave = "leave"
	// Swap stores a value if the register's last revision is Expected (0: none): Stream, Key, Value,
	// Expected, and Sequence, the new revision. Failed is a refusal since the revision was another.
	Swap = "swap"
	// Get reads a register where it must be current (at the leader): Stream, Key, Value, Sequence;
	// Sequence 0 means that there is none.
	Get = "get"
	// StaleGet reads a register wherever, so that the answer may be old: fields as with Get.
	StaleGet = "stale-get"
	// Put stores a value in a bucket: Stream, Key, Value, Sequence. A delete is a Put without Value.
	Put = "put"
	// Watch is an update that a watcher got: Stream, Key, Value ("" if deleted), Sequence.
	Watch = "watch"
	// WatchStart says that a watcher begins, or begins again after it was cut off, and from here on may
	// be told again what it knows: Stream.
	WatchStart = "watch-start"
	// WatchEnd says that a watcher was there until the end and had its time to catch up: Stream.
	WatchEnd = "watch-end"
	// Add sends a message of an atomic batch that is not the last: Stream, Batch, Key, Value.
	Add = "add"
	// Commit sends the last message of an atomic batch: Stream, Batch, Key, Value, Expected (how many
	// messages the batch has, this one included) and Sequence, that of this last message.
	Commit = "commit"
	// Purge removes messages: Stream, Key (only of this subject; "" for all), Sequence (only those before
	// it; 0 for all).
	Purge = "purge"
	// Erase removes one message: Stream, Sequence, and the Value of one that was to be stored later.
	Erase = "erase"
	// Redrive sends a message from the dead letters back to where it came from: Stream (of the dead
	// letters), Value, Sequence.
	Redrive = "redrive"
)

// What clients ask about streams and consumers themselves. Value marks the configuration, so that it is
// known again when it is listed.
const (
	// CreateStream creates: Stream, Value. Failed if there is another one of that name.
	CreateStream = "create-stream"
	// UpdateStream changes the configuration: Stream, Value.
	UpdateStream = "update-stream"
	// DeleteStream deletes: Stream.
	DeleteStream = "delete-stream"
	// CreateConsumer creates: Stream, Consumer, Value.
	CreateConsumer = "create-consumer"
	// UpdateConsumer changes the configuration: Stream, Consumer, Value.
	UpdateConsumer = "update-consumer"
	// DeleteConsumer deletes: Stream, Consumer.
	DeleteConsumer = "delete-consumer"
)

// What the harness finds at the end, when all is healed, at each node on its own.
const (
	// Final is a message of the final reads: Node, Stream, Key, Value, Sequence, and Consumer: the pinned
	// consumer it came through, "" for a direct get.
	Final = "final"
	// Drained ends the final reads of a stream: Node, Stream, Consumer, and Sequence, the last one that the
	// stream says it has. OK says that everything there was is recorded; only what is drained is checked.
	Drained = "drained"
	// Exists is a stream or consumer that is listed: Node, Stream, Consumer ("" for the stream), Value.
	Exists = "exists"
	// Listed ends the listing of a node: Node. OK says that it is complete.
	Listed = "listed"
)

// Stall is what the harness saw of a client that came to nothing from Start to End although its server answered all the time: Node,
// Value (what it was doing). It is Failed if a call did not come to an end, or if the harness could not bring something about
// when all was healed; else Unknown, since what the cluster could not do for lack of a majority looks the same. It overlaps with
// operations of its process.
const Stall = "stall"

// Fault is something that the harness did to the cluster, from Start until it was undone at End: Node (one
// operation for each node it was done to), Value (what: "kill", "cut", ...), Key (what exactly, where that
// differs each time: the file and the bytes), Error (what went wrong in doing it, if something did; Failed then).
const Fault = "fault"

// Request says whether operations of a kind are requests of a client to which a server answers at once, so
// that their number and how long they take are figures of the server. A Fetch is none, since it waits for
// messages; nor are Nak, Term and Add, to which mostly nobody awaits an answer.
func Request(kind string) bool {
	switch kind {
	case Publish, Ack, Swap, Get, StaleGet, Put, Commit, Purge, Erase, Redrive,
		CreateStream, UpdateStream, DeleteStream, CreateConsumer, UpdateConsumer, DeleteConsumer:
		return true
	}
	return false
}
