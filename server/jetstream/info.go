package jetstream

import (
	"time"

	"runnel/jetlog"
	"runnel/jetlog/body"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

// detail says what of a stream's info is asked for besides the usual.
type detail struct {
	subjects string // pattern of the subjects to count, empty for none
	offset   int    // of the page of subjects
	deleted  bool   // the sequences that have gone
	listed   bool   // as an entry of a list
	cluster  bool
}

// deletedMost bounds the sequences that one info names.
const deletedMost = 100_000

// info returns all that is known about the stream, and the page of subjects if they are asked for. What comes from the state
// is of one moment.
func (t *stream) info(d detail) (*api.StreamInfo, api.Paged, error) {
	s := t.account.service
	info := &api.StreamInfo{Domain: s.cfg.Domain, Now: s.cfg.Clock().UTC()}
	var page api.Paged
	var cfg config.Stream
	err := t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) (err error) {
		cfg = *state.Config()
		info.Created = api.At(state.Created())
		info.State = streamState(state)
		return nil
	})
	if err == nil && d.deleted && info.State.DeletedCount > 0 {
		info.State.Deleted, err = t.gone()
	}
	if err == nil && d.subjects != "" {
		info.State.Subjects, page, err = t.subjectPage(d)
	}
	if err != nil {
		return nil, page, err
	}
	info.State.SubjectCount = t.subjectCount()
	info.Config = &cfg
	if !d.listed {
		info.Config = api.ShownStream(&cfg, s.cfg.Version)
	}
	if d.cluster {
		info.Cluster = t.group()
		info.Alternates = t.alternates(d)
	}
	if t.sources != nil {
		info.Mirror, info.Sources = t.sources.Mirror(), t.sources.Sources()
	}
	info.Sync = t.sync()
	return info, page, nil
}

// streamState is the part of an info that needs no reading.
func streamState(state *jetlog.Stream) api.StreamState {
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
		if !hidden(c) {
			out.Consumers++
		}
	}
	return out
}

// hidden tells whether a consumer is the server's own, of a mirror or source.
func hidden(c *jetlog.Consumer) bool { return c.Config().Direct || c.Config().Sourcing }

// lookAtOnce is how many sequences are looked at without letting commands of the stream in between.
const lookAtOnce = 2048

// gone returns the sequences between the first and the last message that have gone, some at a time: in a stream that
// changes meanwhile they are not as of one moment.
func (t *stream) gone() (gone []uint64, err error) {
	var seq, first uint64
	for more := true; more && err == nil; {
		var found []uint64
		next := seq
		err = t.log.View(func(state *jetlog.Stream, messages jetlog.Messages) error {
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

// subjectPage returns a page of subjects with the number of their messages.
func (t *stream) subjectPage(d detail) (map[string]uint64, api.Paged, error) {
	counts := make(map[string]uint64)
	n := 0
	err := t.log.Subjects(t.account.service.ctx, body.Filter{d.subjects}, func(subject string, state jetlog.SubjectState) bool {
		if n >= d.offset && len(counts) < api.SubjectsPage {
			counts[subject] = state.Count
		}
		n++
		return true
	})
	_, _, page := api.Page(n, d.offset, api.SubjectsPage)
	return counts, page, err
}

// consumerInfo returns all that is known about a consumer, nil if there is none of that name.
func (t *stream) consumerInfo(name string, listed bool) (*api.ConsumerInfo, error) {
	s := t.account.service
	now := s.cfg.Clock().UTC()
	info := &api.ConsumerInfo{Stream: t.log.Name(), Name: name, Now: now}
	var cfg config.Consumer
	found := false
	err := t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		c := state.Consumer(name)
		if c == nil {
			return nil
		}
		found = true
		cfg = *c.Config()
		fillConsumer(info, c, now)
		return nil
	})
	if err != nil || !found {
		return nil, err
	}
	cfg.PauseUntil = pauseOf(info, cfg.PauseUntil)
	info.Config = &cfg
	if !listed {
		info.Config = api.ShownConsumer(&cfg, s.cfg.Version)
	}
	if t.account.service.cluster != nil {
		info.Cluster = t.group()
	}
	if t.deliver == nil {
		return info, nil // what clients are up to only the leader knows
	}
	if live, ok := t.deliver.State(name); ok {
		info.Waiting = live.Waiting
		info.PushBound = live.PushBound
		info.Lag, info.Stalled = shownLag(&live.Lag), shownStall(&live)
	}
	return info, nil
}

// fillConsumer takes over what the stream's state says.
func fillConsumer(info *api.ConsumerInfo, c *jetlog.Consumer, now time.Time) {
	info.Created = api.At(c.Created())
	info.Delivered = position(c.Delivered(), c.LastDelivered())
	info.AckFloor = position(c.AckFloor(), c.LastAcked())
	info.AckPending = c.AckPending()
	info.Redelivered = c.Redelivered()
	if c.Config().MaxDeliver == 1 {
		info.Redelivered = 0
	}
	info.Pending = c.Pending()
	if until := api.At(c.PausedUntil()); until.After(now) {
		info.Paused, info.PauseRemaining = true, until.Sub(now)
	}
	for _, group := range c.Config().PriorityGroups {
		id, since := c.Pinned(group)
		info.PriorityGroups = append(info.PriorityGroups, api.PriorityGroup{Group: group, PinnedID: id, PinnedAt: api.At(since)})
	}
}

// shownLag is how far a consumer is behind.
func shownLag(l *delivery.Lag) *api.Lag {
	return &api.Lag{
		Messages:          l.Messages,
		OldestUndelivered: orNil(l.OldestUndelivered),
		OldestUnacked:     orNil(l.OldestUnacked),
		Age:               l.Age,
	}
}

// shownStall is why nothing is delivered, nil if nothing stands in the way.
func shownStall(live *delivery.State) *api.Stalled {
	if live.Stalled == "" {
		return nil
	}
	return &api.Stalled{Reason: string(live.Stalled), Until: orNil(live.StalledUntil)}
}

// orNil leaves the zero time away.
func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// position is a place in a stream as an answer has it. The time is left out while there was nothing.
func position(p jetlog.Position, at int64) api.Position {
	out := api.Position{Consumer: p.Consumer, Stream: p.Stream}
	if at != 0 {
		t := api.At(at)
		out.LastActive = &t
	}
	return out
}

// pauseOf is the time until which the consumer rests, as its configuration shows it.
func pauseOf(info *api.ConsumerInfo, configured *time.Time) *time.Time {
	if !info.Paused {
		return configured
	}
	until := info.Now.Add(info.PauseRemaining)
	return &until
}

// sync is the policy by which the stream's acknowledgements are given.
func (t *stream) sync() string {
	if t.config().Storage == config.MemoryStorage {
		return ""
	}
	if own := t.config().Metadata[config.MetadataSync]; own != "" {
		return own
	}
	return t.account.service.cfg.Sync
}
