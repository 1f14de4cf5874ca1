package memory

import "time"

// A connection that publishes to streams while memory is scarce may publish so much in a second: at first, and least.
const (
	paceFirst = 16 << 20
	paceLeast = 64 << 10
)

// paceAfter is the pace after the one that was, 0 for none. It is halved each time when more is in use than before, and rises
// slowly when it is less; what is in use shows with each collection. So it finds by itself what the disk takes, however many
// connections publish, and nobody is slowed down further for what does not grow.
func paceAfter(pace int64, before, step Step, usedBefore, used int64) int64 {
	switch {
	case step < Slow:
		return 0
	case step == Stopped:
		return paceLeast
	case before < Slow:
		return paceFirst
	case used > usedBefore:
		return max(pace/2, paceLeast)
	case used < usedBefore:
		return min(pace+pace/4, paceFirst)
	}
	return pace
}

// Hold is how long nothing is to be read from a connection that has published so many bytes; 0 while memory is not scarce.
func (k *Keeper) Hold(bytes int) time.Duration {
	if k == nil {
		return 0
	}
	pace := k.pace.Load()
	if pace == 0 {
		return 0
	}
	return time.Duration(float64(bytes) / float64(pace) * float64(time.Second))
}
