package workload

// The streams of the workloads, for who checks them. Those of W9 are [RetainedStreams].
const (
	LogStream        = "W1"
	OrderedStream    = "W2"
	QueueStream      = "W3"
	DedupStream      = "W4"
	RegistersStream  = "W5"
	BucketStream     = "KV_W6"
	KeyedStream      = "W7"
	BatchesStream    = "W8"
	KeptStream       = "W10-kept" // the one of W10 that nobody deletes
	DeadQueueStream  = "W11"
	DeadLetterStream = "W11-dead"
	ProcessedQueue   = "W13-in"
	ProcessedStream  = "W13"
	DelayedStream    = "W14"
	DelayedQueue     = "W14-later" // what the history has as the stream of what is published later
)

// KeyedGroup is what the history has as the consumer of W7.
const KeyedGroup = "group"
