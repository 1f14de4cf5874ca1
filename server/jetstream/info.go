package jetstream

import (
	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/reads"
	"runnel/server/jetstream/receipts"
	"runnel/server/jetstream/shown"
)

// detail says what of a stream's info is asked for besides the usual.
type detail struct {
	subjects string // pattern of the subjects to count, empty for none
	offset   int    // of the page of subjects
	deleted  bool   // the sequences that have gone
	listed   bool   // as an entry of a list
	cluster  bool
}

// info returns all that is known about the stream, and the page of subjects if they are asked for. What comes from the state
// is of one moment.
func (t *stream) info(d detail) (*api.StreamInfo, api.Paged, error) {
	s := t.account.service
	info := &api.StreamInfo{Domain: s.cfg.Domain, Now: s.cfg.Clock().UTC()}
	var page api.Paged
	var cfg config.Stream
	err := t.log.View(func(state *jetlog.Stream, m jetlog.Messages) (err error) {
		cfg = *state.Config()
		info.Created, info.State = api.At(state.Created()), reads.State(state)
		info.Owed = receipts.OwedBy(state, m, info.Now)
		return nil
	})
	if err == nil && d.deleted && info.State.DeletedCount > 0 {
		info.State.Deleted, err = reads.Gone(t.log)
	}
	if err == nil && d.subjects != "" {
		info.State.Subjects, page, err = reads.SubjectPage(s.ctx, t.log, d.subjects, d.offset)
	}
	if err != nil {
		return nil, page, err
	}
	info.State.SubjectCount = t.subjects.Number()
	info.Config = &cfg
	if !d.listed {
		info.Config = api.ShownStream(&cfg, s.cfg.Version)
	}
	if d.cluster {
		info.Cluster = t.group()
		if c := s.cluster; c != nil && !d.listed {
			info.Alternates = c.directory.Alternates(t.log.Account(), &cfg)
		}
	}
	if t.sources != nil {
		info.Mirror, info.Sources = t.sources.Mirror(), t.sources.Sources()
	}
	info.Sync = t.sync()
	return info, page, nil
}

// group is what infos say about the servers that have the stream.
func (t *stream) group() *api.Cluster {
	s := t.account.service
	if s.cluster == nil {
		return &api.Cluster{Leader: s.cfg.ServerName}
	}
	return s.cluster.directory.Show(t.log.Account(), t.log.Name(), t.log.ID())
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
		cfg = c.Config()
		shown.Consumer(info, c, now)
		return nil
	})
	if err != nil || !found {
		return nil, err
	}
	cfg.PauseUntil = shown.PauseUntil(info, cfg.PauseUntil)
	info.Config = &cfg
	if !listed {
		info.Config = api.ShownConsumer(&cfg, s.cfg.Version)
	}
	if t.account.service.cluster != nil {
		info.Cluster = shown.Group(t.group(), cfg.Replicas)
	}
	if t.deliver == nil {
		return info, nil // what clients are up to only the leader knows
	}
	if live, ok := t.deliver.State(name); ok {
		shown.Live(info, &live)
	}
	return info, nil
}

// sync is the policy by which the stream's acknowledgements are given.
func (t *stream) sync() string {
	switch {
	case t.config().Storage == config.MemoryStorage:
		return ""
	case t.log.Replicated():
		return "always" // whatever was configured; see jetlog/entries
	}
	if own := t.config().Metadata[config.MetadataSync]; own != "" {
		return own
	}
	return t.account.service.cfg.Sync
}
