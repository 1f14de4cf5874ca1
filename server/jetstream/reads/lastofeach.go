package reads

import (
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/body"
	"runnel/server/jetstream/api"
)

// lastOfEach returns, in order, the sequence of the last message of each subject that the request matches, as it was
// at a sequence, which it returns too; one more than lastMost if there are more.
func lastOfEach(log Log, q *api.GetRequest) (found []uint64, upTo uint64, err error) {
	err = log.View(func(state *jetlog.Stream, messages jetlog.Messages) error {
		if upTo, err = endOf(q, state, messages); err != nil {
			return err
		}
		names, err := lastCandidates(q, messages)
		if err != nil || len(names) > lastMost {
			found = make([]uint64, len(names))
			return err
		}
		for _, name := range names {
			seq, err := messages.LastOf(body.Filter{name}, upTo)
			if err != nil {
				return err
			}
			if seq >= max(q.Sequence, 1) {
				found = append(found, seq)
			}
		}
		return nil
	})
	slices.Sort(found)
	return found, upTo, err
}

// endOf is the last sequence that counts for a request.
func endOf(q *api.GetRequest, state *jetlog.Stream, messages jetlog.Messages) (uint64, error) {
	last := state.State().Last
	switch {
	case q.UpToSequence > 0:
		return min(q.UpToSequence, last), nil
	case q.UpToTime == nil:
		return last, nil
	}
	after, err := messages.FirstAfter(jetlog.Nanoseconds(*q.UpToTime))
	if err != nil || after == 0 {
		return last, err
	}
	return after - 1, nil
}

// lastCandidates returns the subjects that the request matches, one more than lastMost if there are more.
func lastCandidates(q *api.GetRequest, messages jetlog.Messages) ([]string, error) {
	var names []string
	err := messages.Subjects(body.Filter(q.MultiLast), func(subject string, _ jetlog.SubjectState) bool {
		names = append(names, subject)
		return len(names) <= lastMost
	})
	return names, err
}
