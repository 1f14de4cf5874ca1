package ingest

import "time"

// leastBytes is how much a connection may publish in a second when as much waits as may.
const leastBytes = 64 << 10

// charge counts a message for what waits of all streams, if that is bounded. It is false when there is no room.
func (g *Ingest) charge(r *record, bytes int) bool {
	most := g.cfg.TotalBytes
	if most <= 0 {
		return true
	}
	if g.waiting.Add(int64(bytes)) > most {
		g.waiting.Add(-int64(bytes))
		return false
	}
	r.charged = bytes
	return true
}

// discharge takes a message out of what waits.
func (g *Ingest) discharge(r *record) {
	if r.charged > 0 {
		g.waiting.Add(-int64(r.charged))
	}
}

// Hold is how long nothing should be read from a connection of which so many bytes were taken, since much waits of all streams
// together: not at all up to half of what may wait, and then longer and longer, so that publishers come to wait before messages have
// to be refused.
func (g *Ingest) Hold(bytes int) time.Duration {
	half := g.cfg.TotalBytes / 2
	if half <= 0 {
		return 0
	}
	over := g.waiting.Load() - half
	if over <= 0 {
		return 0
	}
	share := float64(over) / float64(half)
	return time.Duration(share * share * float64(bytes) / leastBytes * float64(time.Second))
}
