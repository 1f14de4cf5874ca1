package receipts

// The states, as answers have them.
const (
	Waiting     = string(waiting)
	Settled     = string(settled)
	Undelivered = string(undelivered)
	Unknown     = string(unknown)
	Silent      = string(silent)
)
