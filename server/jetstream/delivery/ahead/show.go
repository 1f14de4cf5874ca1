package ahead

import (
	"cmp"
	"slices"

	"runnel/jetlog/keyed"
)

// heldMax is among how many keys those are looked for that are shown.
const heldMax = 1 << 16

// Shown is what an Ahead shows of the keys of a consumer.
type Shown struct {
	InFlight, Blocked int // keys whose message was delivered, or has failed for good and keeps its place
	Holds             []Hold
}

// Hold is a key that has a message out.
type Hold struct {
	Key      string
	HasKey   bool // a message without key is a hold, too, that nothing waits for
	Sequence uint64
	Subject  string
	Blocked  bool
	// Behind is how many messages are known to wait behind it. More is set when there are others.
	Behind int
	More   bool
}

// Show returns the keys that have a message out: those that are blocked first, and then those behind which the most wait. Most is
// how many of them; keys are found by reading their messages.
func (a *Ahead) Show(src Source, most int) (Shown, error) {
	counts := a.table.Counts()
	out := Shown{InFlight: counts.ByState[keyed.InFlight], Blocked: counts.ByState[keyed.Blocked]}
	holds := slices.Collect(a.table.Held(heldMax))
	slices.SortStableFunc(holds, func(x, y keyed.Hold) int {
		return cmp.Or(blockedFirst(x)-blockedFirst(y), cmp.Compare(y.Behind, x.Behind), cmp.Compare(x.Sequence, y.Sequence))
	})
	for _, h := range holds[:min(most, len(holds))] {
		m, err := src.Load(h.Sequence)
		if err != nil {
			return out, err
		}
		if m.Sequence == 0 {
			continue
		}
		key, has := a.rules.Key(&m)
		out.Holds = append(out.Holds, Hold{
			Key: string(key), HasKey: has, Sequence: h.Sequence, Subject: m.Subject, Blocked: h.State == keyed.Blocked, Behind: h.Behind, More: h.More,
		})
	}
	return out, nil
}

func blockedFirst(h keyed.Hold) int {
	if h.State == keyed.Blocked {
		return 0
	}
	return 1
}
