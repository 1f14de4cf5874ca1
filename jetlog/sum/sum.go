// Package sum makes one number of many, so that replicas can tell whether they have done the same.
package sum

// Mixing constants: odd, with bits all over. Their values are part of what replicas compare.
const (
	mixFirst  = 0x9e3779b97f4a7c15
	mixSecond = 0xd6e8feb86659fd93
)

// Mix adds a number to a sum.
func Mix(sum, v uint64) uint64 {
	sum = (sum ^ v) * mixFirst
	return (sum ^ sum>>29) * mixSecond
}
