package bench

// The readers of single files below /proc.
var (
	ReadTicked    = readTicked
	ReadScheduled = readScheduled
	ReadResident  = readResident
)
