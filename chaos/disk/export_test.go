package disk

// SyncFlag and FirstSync read what Linux and strace say.
var (
	SyncFlag  = syncFlag
	FirstSync = firstSync
)
