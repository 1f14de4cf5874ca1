package terms

import "runnel/headers"

// MarkerHeader says in a marker, which stands for a subject whose last message has expired, why that has gone.
const MarkerHeader = "Nats-Marker-Reason"

// Marks reports whether a message stands for a subject that is empty: a marker, or what a key of a bucket is
// purged with. Whoever watches has been told then.
func Marks(header []byte) bool {
	if _, marker := headers.Get(header, MarkerHeader); marker {
		return true
	}
	operation, _ := headers.Get(header, "KV-Operation")
	return string(operation) == "PURGE"
}
