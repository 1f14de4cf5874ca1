package breaker

// parts is into how many parts a window is divided: it moves by one of them at a time.
const parts = 8

// toldMost is how many messages are known to have failed and not to have come again. Of more, a failure may count twice.
const toldMost = 1 << 14

// Breaker counts the attempts of one consumer. It is not safe for concurrent use. Times are in nanoseconds since 1970; one that
// goes back counts as the latest.
type Breaker struct {
	policy Policy
	ring   [parts]count
	part   int64               // number of the latest part, counted from 1970
	told   map[uint64]struct{} // failed, and not delivered again yet
}

// count is of attempts that have ended.
type count struct{ done, failed int }

// New returns a breaker that has counted nothing.
func New(p Policy) *Breaker { return &Breaker{policy: p} }

// Policy returns what New was given.
func (b *Breaker) Policy() Policy { return b.policy }

// Done counts a message that was processed.
func (b *Breaker) Done(at int64) { b.at(at).done++ }

// Failed counts a message that somebody could not process, and said so.
func (b *Breaker) Failed(seq uint64, at int64) {
	b.at(at).failed++
	if b.told == nil || len(b.told) >= toldMost {
		b.told = map[uint64]struct{}{}
	}
	b.told[seq] = struct{}{}
}

// Again counts a message that is delivered again, or given up: unless somebody has said that it failed, nobody has answered in
// time.
func (b *Breaker) Again(seq uint64, at int64) {
	if _, told := b.told[seq]; told {
		delete(b.told, seq)
		return
	}
	b.at(at).failed++
}

// at is where something is counted that happens at a time.
func (b *Breaker) at(at int64) *count {
	part := at / (int64(b.policy.Window) / parts)
	if part > b.part {
		for n := max(b.part, part-parts) + 1; n <= part; n++ {
			b.ring[n%parts] = count{}
		}
		b.part = part
	}
	return &b.ring[b.part%parts]
}

// Trip reports whether the consumer is to be paused now, and of how many attempts how many have failed. If so it begins to
// count anew.
func (b *Breaker) Trip(at int64) (failed, attempts int, is bool) {
	b.at(at)
	for _, c := range b.ring {
		failed += c.failed
		attempts += c.done + c.failed
	}
	if is = attempts >= b.policy.Least && failed*100 >= b.policy.Percent*attempts; is {
		*b = Breaker{policy: b.policy, told: b.told}
	}
	return failed, attempts, is
}
