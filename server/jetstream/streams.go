package jetstream

import (
	"fmt"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/reads"
	"runnel/server/jetstream/rebuild"
)

// streamRequest reads the configuration that a create or update asks for, complete and valid.
func (s *Service) streamRequest(r *request) (config.Stream, error) {
	var q api.StreamConfigRequest
	if err := s.decode(r, &q); err != nil {
		return config.Stream{}, err
	}
	if q.Name != r.call.Stream {
		return config.Stream{}, api.NewError(api.StreamNameMismatch)
	}
	cfg, err := q.Normalized(s.limits(), q.Pedantic)
	if err != nil {
		return config.Stream{}, err
	}
	if cfg.Replicas > 1 && s.cluster == nil {
		return config.Stream{}, api.NewError(api.ReplicasNotSupported)
	}
	rebuild.Unmark(&cfg)
	if err := r.account.checkSources(&cfg); err != nil {
		return config.Stream{}, err
	}
	r.account.inherit(&cfg)
	api.PersistStream(&cfg)
	return cfg, nil
}

// streamCreate makes a stream, or finds that there is one just like it.
func (s *Service) streamCreate(_ Outlet, r *request) (api.Answer, error) {
	cfg, err := s.streamRequest(r)
	if err != nil {
		return nil, err
	}
	if cfg.Sealed {
		return nil, api.NewError(config.StreamInvalidConfig, "stream configuration for create can not be sealed")
	}
	if old := r.stream; old != nil {
		if !config.Same(old.config(), &cfg) {
			return nil, api.NewError(api.StreamNameExists)
		}
		return created(old)
	}
	t, err := r.account.create(&cfg)
	if err != nil {
		return nil, err
	}
	s.sourcing.Appeared(r.account.account, cfg.Name)
	s.events.StreamAction(t.account.account, t.log.Name(), api.ActionCreate)
	return created(t)
}

// created is the answer to who created a stream, also when there was one just like it: clients create streams at every
// start of theirs, and need not know whether they are the first.
func created(t *stream) (api.Answer, error) {
	info, _, err := t.info(detail{})
	if err != nil {
		return nil, err
	}
	return &api.StreamCreateAnswer{StreamInfo: info, DidCreate: true}, nil
}

// create makes a stream and lets it work.
func (a *account) create(cfg *config.Stream) (t *stream, err error) {
	if err := a.reserve(cfg, nil); err != nil {
		return nil, err
	}
	defer func() { a.release(cfg.Name, t) }()
	log, err := a.service.cfg.Store.Create(a.account.Name(), *cfg)
	if err != nil {
		return nil, err
	}
	t = newStream(a, log)
	t.open()
	return t, nil
}

// streamUpdate gives a stream another configuration. What it needs is reserved before it is proposed, beside what the stream
// has: so it cannot be refused half-way, and nobody else can take it.
func (s *Service) streamUpdate(_ Outlet, r *request) (api.Answer, error) {
	cfg, err := s.streamRequest(r)
	if err != nil {
		return nil, err
	}
	t, err := s.found(r)
	if err != nil {
		return nil, err
	}
	old := t.config()
	if err := config.CheckUpdate(old, &cfg); err != nil {
		return nil, err
	}
	if err := r.account.reserve(&cfg, t); err != nil {
		return nil, err
	}
	defer r.account.release(cfg.Name, nil)
	result, err := t.propose(&command.Configure{Time: s.now(), Config: cfg})
	if err != nil {
		return nil, err
	}
	if result.Code != 0 {
		return nil, api.NewError(result.Code, result.Detail)
	}
	t.configured()
	s.events.StreamAction(t.account.account, t.log.Name(), api.ActionModify)
	info, _, err := t.info(detail{})
	if err != nil {
		return nil, err
	}
	return &api.StreamAnswer{StreamInfo: info}, nil
}

// configured lets everything follow the configuration that was applied.
func (t *stream) configured() {
	cfg := t.log.Config()
	t.cfg.Store(&cfg)
	t.account.claim(t)
	t.ingest.Configure()
	t.sources.Configure()
	t.subscribe()
	t.changed()
	t.due.Watch()
}

// streamInfo tells about a stream.
func (s *Service) streamInfo(_ Outlet, r *request) (api.Answer, error) {
	var q api.StreamInfoRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	t, err := s.found(r)
	if err != nil {
		return nil, err
	}
	info, page, err := t.info(detail{subjects: q.SubjectsFilter, offset: q.Offset, deleted: q.DeletedDetails, cluster: true})
	if err != nil {
		return nil, err
	}
	return &api.StreamInfoAnswer{Paged: page, StreamInfo: info}, nil
}

// streamNames lists names.
func (s *Service) streamNames(_ Outlet, r *request) (api.Answer, error) {
	var q api.StreamsRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	found := r.account.sorted(q.Subject)
	answer := &api.StreamNamesAnswer{}
	from, to, page := api.Page(len(found), q.Offset, api.NamesPage)
	answer.Paged = page
	for _, t := range found[from:to] {
		answer.Streams = append(answer.Streams, t.log.Name())
	}
	return answer, nil
}

// streamList lists streams with all about them. Those that could not be opened are named with the reason.
func (s *Service) streamList(_ Outlet, r *request) (api.Answer, error) {
	var q api.StreamsRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	found := r.account.sorted(q.Subject)
	answer := &api.StreamListAnswer{}
	from, to, page := api.Page(len(found), q.Offset, api.ListPage)
	answer.Paged = page
	for _, t := range found[from:to] {
		if t.offline() {
			if answer.Offline == nil {
				answer.Offline = make(map[string]string)
			}
			answer.Offline[t.log.Name()] = fmt.Sprint(t.log.Err())
			continue
		}
		info, _, err := t.info(detail{listed: true})
		if err != nil {
			return nil, err
		}
		answer.Streams = append(answer.Streams, info)
	}
	return answer, nil
}

// streamDelete removes a stream with all it has. It is unknown to others before it is closed, so that nobody finds it in
// between.
func (s *Service) streamDelete(_ Outlet, r *request) (api.Answer, error) {
	if err := s.decode(r, nil); err != nil {
		return nil, err
	}
	t := r.stream
	if t == nil || !r.account.remove(t) {
		return nil, api.NewError(api.StreamNotFound)
	}
	if t.sources != nil {
		t.sources.Remove()
	}
	t.close()
	consumers, _ := reads.Consumers(t.log, nil) // none of one that could not be opened
	if err := s.cfg.Store.Delete(t.log); err != nil {
		return nil, err
	}
	for _, name := range consumers {
		s.events.ConsumerAction(t.account.account, t.log.Name(), name, api.ActionDelete)
	}
	s.events.StreamAction(t.account.account, t.log.Name(), api.ActionDelete)
	return &api.PlainAnswer{Success: true}, nil
}

// streamPurge removes messages. One command removes a bounded number of them, so that others are not held up; the answer comes
// when all are removed.
func (s *Service) streamPurge(_ Outlet, r *request) (api.Answer, error) {
	var q api.PurgeRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	if q.Sequence > 0 && q.Keep > 0 {
		return nil, api.NewError(config.BadRequest)
	}
	t, err := s.found(r)
	if err != nil {
		return nil, err
	}
	c := &command.Purge{Time: s.now(), Filter: q.Filter, Sequence: q.Sequence, Keep: q.Keep}
	var purged uint64
	for more := true; more; {
		result, err := t.propose(c)
		if err != nil {
			return nil, err
		}
		if result.Code != 0 {
			return nil, api.NewError(result.Code, result.Detail)
		}
		purged, more = purged+result.Removed, result.More
	}
	t.changed()
	return &api.PurgeAnswer{Success: true, Purged: purged}, nil
}
