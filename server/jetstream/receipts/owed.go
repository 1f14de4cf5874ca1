package receipts

import (
	"time"

	"runnel/jetlog"
	"runnel/server/jetstream/api"
)

// goneMost is how many debts are passed over whose messages have gone, to find when the oldest began.
const goneMost = 256

// OwedBy returns what a stream owes, nil for nothing. Where that cannot be read, it is not told when the oldest debt began.
func OwedBy(state *jetlog.Stream, m jetlog.Messages, now time.Time) *api.Owed {
	debts := state.Causes()
	if debts.Owed() == 0 {
		return nil
	}
	owed, looked := &api.Owed{Acks: debts.Owed()}, 0
	for d := range debts.Debts {
		if looked++; looked == 1 {
			owed.Stream, owed.Consumer = d.Stream, d.Consumer
		}
		meta, err := m.Meta(d.Here)
		if meta.Sequence != 0 {
			at := api.At(meta.Time)
			owed.Oldest, owed.Seconds = &at, max(now.Sub(at).Seconds(), 0)
		}
		if err != nil || owed.Oldest != nil || looked == goneMost {
			break
		}
	}
	return owed
}
