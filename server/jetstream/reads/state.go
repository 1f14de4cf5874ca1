package reads

import (
	"context"
	"fmt"

	"runnel/jetlog"
	"runnel/jetlog/body"
	"runnel/server/jetstream/api"
)

// deletedMost bounds the sequences that one info names.
const deletedMost = 100_000

// State is the part of an info that needs no reading.
func State(state *jetlog.Stream) api.StreamState {
	st := state.State()
	out := api.StreamState{
		Messages: st.Messages, Bytes: st.Bytes,
		FirstSequence: st.First, FirstTime: api.At(st.FirstTime),
		LastSequence: st.Last, LastTime: api.At(st.LastTime),
	}
	if st.Last == 0 {
		out.FirstSequence = 0
	}
	if st.Messages > 0 {
		out.DeletedCount = int(st.Last - st.First + 1 - st.Messages)
	}
	for _, c := range state.Consumers() {
		if !Hidden(c) {
			out.Consumers++
		}
	}
	return out
}

// Lost returns how many messages of a stream the disk did not give back.
func Lost(log Log) (messages uint64) {
	_ = log.View(func(state *jetlog.Stream, _ jetlog.Messages) error { // a stream that has gone has lost nothing
		messages, _ = state.Lost()
		return nil
	})
	return messages
}

// Verify reads every message once, which verifies all checksums, while the stream goes on.
func Verify(ctx context.Context, log Log) error {
	last := log.State().Last
	for next := uint64(1); next <= last; {
		var err error
		if next, err = log.Read(next, nil, lookAtOnce, verifyBytes, func(*jetlog.Message) bool { return true }); err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return nil
}

// verifyBytes bounds what is read at once to verify it.
const verifyBytes = 1 << 20

// Hidden tells whether a consumer is the server's own, of a mirror or source.
func Hidden(c *jetlog.Consumer) bool { return c.Common().Direct || c.Common().Sourcing }

// lookAtOnce is how many sequences are looked at without letting commands of the stream in between.
const lookAtOnce = 2048

// Gone returns the sequences between the first and the last message that have gone, some at a time: in a stream that
// changes meanwhile they are not as of one moment.
func Gone(log Log) (gone []uint64, err error) {
	var seq, first uint64
	for more := true; more && err == nil; {
		var found []uint64
		next := seq
		err = log.View(func(state *jetlog.Stream, messages jetlog.Messages) error {
			st := state.State()
			if seq == 0 {
				first = st.First
			}
			seq = max(seq, st.First)
			found, next, err = deletedFrom(seq, st.Last, messages, found[:0])
			all := st.First == first && uint64(len(gone)+len(found)) >= st.Last-st.First+1-st.Messages
			more = st.Messages > 0 && next <= st.Last && !all
			return err
		})
		gone, seq = append(gone, found...), next
		if len(gone) >= deletedMost {
			return gone[:deletedMost], err
		}
	}
	return gone, err
}

// deletedFrom looks at some sequences and appends those that have gone. It returns where to go on.
func deletedFrom(seq, last uint64, messages jetlog.Messages, gone []uint64) (found []uint64, next uint64, err error) {
	for range lookAtOnce {
		if seq > last {
			break
		}
		live, err := messages.Next(seq)
		if err != nil {
			return nil, seq, err
		}
		if live == 0 {
			live = last + 1
		}
		for ; seq < live; seq++ {
			if len(gone) >= deletedMost {
				return gone, seq, nil
			}
			gone = append(gone, seq)
		}
		seq++
	}
	return gone, seq, nil
}

// SubjectPage returns a page of the subjects that match a pattern, with the number of their messages.
func SubjectPage(ctx context.Context, log Log, pattern string, offset int) (map[string]uint64, api.Paged, error) {
	counts := make(map[string]uint64)
	n := 0
	err := log.Subjects(ctx, body.Filter{pattern}, func(subject string, state jetlog.SubjectState) bool {
		if n >= offset && len(counts) < api.SubjectsPage {
			counts[subject] = state.Count
		}
		n++
		return true
	})
	_, _, page := api.Page(n, offset, api.SubjectsPage)
	return counts, page, err
}
