package letters

// Check verifies the invariants, and reports through wrong each that does not hold. It changes nothing.
func (b *Box) Check(wrong func(format string, args ...any)) {
	if b == nil {
		return
	}
	last := uint64(0)
	for i := range b.list {
		l := &b.list[i]
		if l.Number <= last || l.Number > b.last {
			wrong("letter %d comes behind %d, the last number is %d", l.Number, last, b.last)
		}
		last = l.Number
		if at, found := b.find(l.Sequence); !found || b.places[at].number != l.Number {
			wrong("letter %d of message %d is not found", l.Number, l.Sequence)
		}
	}
	if len(b.list) != len(b.places) {
		wrong("%d letters in %d places", len(b.list), len(b.places))
	}
	for i := 1; i < len(b.places); i++ {
		if b.places[i-1].sequence >= b.places[i].sequence {
			wrong("the letter of message %d comes behind that of %d", b.places[i].sequence, b.places[i-1].sequence)
		}
	}
}
