package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nuid"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/reads"
)

// consumerNameLength is that of the names that the service gives.
const consumerNameLength = 8

// consumerCreate starts to make a consumer or to change one.
func (s *Service) consumerCreate(out Outlet, r *request) (api.Answer, error) {
	var q api.ConsumerRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	if err := q.Reconcile(&r.call); err != nil {
		return nil, err
	}
	if q.Config.Name == "" {
		id := nuid.Next()
		q.Config.Name = id[len(id)-consumerNameLength:]
	}
	t, err := s.found(r)
	if err != nil {
		return nil, err
	}
	if q.Config.Sourcing {
		if err := r.forSourcing(t, &q.Config); err != nil {
			return nil, err
		}
	}
	cfg, err := q.Config.Normalized(t.config(), r.account.consumerLimits(t.config().Replicas), q.Pedantic)
	if err != nil {
		return nil, err
	}
	if err := s.checkDeadLetter(r, t, &cfg); err != nil {
		return nil, err
	}
	if err := t.checkActive(&cfg); err != nil {
		return nil, err
	}
	if err := s.understood(&cfg); err != nil {
		return nil, err
	}
	api.PersistConsumer(&cfg)
	wait, err := t.beginConsumer(&cfg, command.Action(q.Action))
	if err != nil {
		return nil, err
	}
	r.finish = func() {
		answer, err := s.consumerCreated(r, &cfg, wait)
		s.reply(out, r, answer, err)
	}
	return nil, nil
}

// understood tells why a consumer cannot be made yet: not all servers know what it asks for.
func (s *Service) understood(cfg *config.Consumer) error {
	own, err := cfg.Own()
	if err == nil && own.Level() > s.level() {
		err = api.NewError(api.LevelTooLow, "what the metadata of the consumer ask for")
	}
	return err
}

// level is the level of commands that all servers know.
func (s *Service) level() int {
	if s.cluster == nil {
		return command.Level
	}
	return s.cluster.Level()
}

// consumerCreated waits until a consumer is made or changed.
func (s *Service) consumerCreated(r *request, cfg *config.Consumer, wait waiting) (api.Answer, error) {
	t := r.stream
	result, err := wait()
	switch {
	case err != nil:
		return nil, err
	case result.Code != 0:
		return nil, api.NewError(result.Code, result.Detail)
	case result.Created:
		s.events.ConsumerAction(t.account.account, t.log.Name(), cfg.Name, api.ActionCreate)
	case cfg.Sourcing:
		if err := t.resume(cfg.Name); err != nil {
			return nil, err
		}
	}
	info, err := t.consumerInfo(cfg.Name, false)
	switch {
	case err != nil:
		return nil, err
	case info == nil:
		return nil, api.NewError(config.ConsumerNotFound)
	}
	info.PushBound = info.PushBound || t.deliver.Listened(cfg.DeliverSubject, cfg.DeliverGroup)
	if result.Created || cfg.Push() {
		r.answered = func() { t.deliver.Update(cfg.Name) }
	} else {
		t.deliver.Update(cfg.Name) // who has the answer may ask at once, and asks what was changed
	}
	return &api.ConsumerInfoAnswer{ConsumerInfo: info}, nil
}

// beginConsumer has a consumer created or changed.
func (t *stream) beginConsumer(cfg *config.Consumer, action command.Action) (waiting, error) {
	most, err := t.maxConsumers(cfg)
	if err != nil {
		return nil, err
	}
	return t.start(&command.ConsumerCreate{Time: t.account.service.now(), Action: action, Max: most, Config: *cfg})
}

// maxConsumers is how many consumers the stream may have if it does not say itself: what the account allows goes before
// the server's default. A stream that says more than the account allows is held to the account here, since Apply only knows
// the stream.
func (t *stream) maxConsumers(cfg *config.Consumer) (uint64, error) {
	most := t.account.service.allowed.Load().DefaultMaxConsumers
	l := t.account.limits.Load()
	if l == nil {
		return 0, api.NewError(api.NotEnabledForAccount)
	}
	l, err := l.Of(cmp.Or(cfg.Replicas, t.config().Replicas))
	if err != nil {
		return 0, err
	}
	if l.MaxConsumers > 0 {
		most = l.MaxConsumers
		if own := t.config().MaxConsumers; own > l.MaxConsumers && !t.hasConsumer(cfg.Name) && reads.CountConsumers(t.log) >= l.MaxConsumers {
			return 0, api.NewError(config.MaximumConsumers)
		}
	}
	return uint64(max(most, 0)), nil
}

// hasConsumer tells whether the stream's state has a consumer of that name, known to the deliveries or not.
func (t *stream) hasConsumer(name string) bool { return reads.HasConsumer(t.log, name) }

// checkActive refuses to take an active push consumer from its subscriber: another deliver subject would let it fall silent
// without a word. To the same subject it may be changed.
func (t *stream) checkActive(cfg *config.Consumer) error {
	if !cfg.Push() {
		return nil
	}
	old, err := reads.DeliverSubject(t.log, cfg.Name)
	if err != nil || old == "" || old == cfg.DeliverSubject {
		return err
	}
	if live, ok := t.deliver.State(cfg.Name); ok && live.PushBound {
		return api.NewError(api.ConsumerStillActive)
	}
	return nil
}

// consumerLimits are those that a consumer of this account is made within, in a stream with so many replicas.
func (a *account) consumerLimits(replicas int) config.Limits {
	return a.limits.Load().OfConsumer(a.service.limits(), replicas)
}

// foundConsumer returns the request's stream, if it has the consumer, once all that both were told before is in it. After
// settleTime it goes on without: an answer that lags is better than none.
func (s *Service) foundConsumer(r *request) (*stream, error) {
	t, err := s.found(r)
	if err != nil {
		return nil, err
	}
	if !t.hasConsumer(r.call.Consumer) {
		return nil, api.NewError(config.ConsumerNotFound)
	}
	if _, known := t.deliver.State(r.call.Consumer); !known {
		t.deliver.Update(r.call.Consumer) // so new that whoever made it has just got the answer
	}
	ctx, cancel := context.WithTimeout(s.ctx, settleTime)
	defer cancel()
	if err := t.deliver.Settle(ctx, r.call.Consumer); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("consumer %q: %w", r.call.Consumer, err)
	}
	return t, nil
}

// consumerInfo tells about a consumer.
func (s *Service) consumerInfo(_ Outlet, r *request) (api.Answer, error) {
	t, err := s.foundConsumer(r)
	if err != nil {
		return nil, err
	}
	info, err := t.consumerInfo(r.call.Consumer, false)
	switch {
	case err != nil:
		return nil, err
	case info == nil:
		return nil, api.NewError(config.ConsumerNotFound)
	}
	return &api.ConsumerInfoAnswer{ConsumerInfo: info}, nil
}

// consumerNames lists names.
func (s *Service) consumerNames(_ Outlet, r *request) (api.Answer, error) {
	t, names, page, err := s.consumerPage(r, api.NamesPage)
	if err != nil || t == nil {
		return nil, err
	}
	return &api.ConsumerNamesAnswer{Paged: page, Consumers: names}, nil
}

// consumerPage returns one page of names of consumers.
func (s *Service) consumerPage(r *request, limit int) (*stream, []string, api.Paged, error) {
	var q api.ConsumersRequest
	if err := s.decode(r, &q); err != nil {
		return nil, nil, api.Paged{}, err
	}
	t, err := s.found(r)
	if err != nil {
		return nil, nil, api.Paged{}, err
	}
	names, err := reads.Consumers(t.log, nil)
	from, to, page := api.Page(len(names), q.Offset, limit)
	return t, names[from:to], page, err
}

// consumerList lists consumers with all about them.
func (s *Service) consumerList(_ Outlet, r *request) (api.Answer, error) {
	t, names, page, err := s.consumerPage(r, api.ListPage)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, settleTime)
	defer cancel()
	if err := t.deliver.Settle(ctx, ""); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	answer := &api.ConsumerListAnswer{Paged: page}
	for _, name := range names {
		info, err := t.consumerInfo(name, true)
		if err != nil {
			return nil, err
		}
		if info != nil {
			answer.Consumers = append(answer.Consumers, info)
		}
	}
	return answer, nil
}

// consumerDelete starts to remove a consumer.
func (s *Service) consumerDelete(out Outlet, r *request) (api.Answer, error) {
	if err := s.decode(r, nil); err != nil {
		return nil, err
	}
	t, err := s.foundConsumer(r)
	if err != nil {
		return nil, err
	}
	wait, err := t.start(&command.ConsumerDelete{Time: s.now(), Consumer: r.call.Consumer})
	if err != nil {
		return nil, err
	}
	r.finish = func() {
		answer, err := &api.PlainAnswer{Success: true}, t.consumerDeleted(r.call.Consumer, wait)
		s.reply(out, r, answer, err)
	}
	return nil, nil
}

// deleteConsumer has a consumer removed, and tells its clients.
func (t *stream) deleteConsumer(name string) error {
	wait, err := t.start(&command.ConsumerDelete{Time: t.account.service.now(), Consumer: name})
	if err != nil {
		return err
	}
	return t.consumerDeleted(name, wait)
}

// consumerDeleted waits until a consumer is removed, and tells its clients.
func (t *stream) consumerDeleted(name string, wait waiting) error {
	result, err := wait()
	if err != nil {
		return err
	}
	if result.Code != 0 {
		return api.NewError(result.Code, result.Detail)
	}
	t.deliver.Remove(name)
	t.account.service.events.ConsumerAction(t.account.account, t.log.Name(), name, api.ActionDelete)
	return nil
}

// consumerPause lets a consumer rest, or go on.
func (s *Service) consumerPause(_ Outlet, r *request) (api.Answer, error) {
	var q api.PauseRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	t, err := s.foundConsumer(r)
	if err != nil {
		return nil, err
	}
	return t.pause(r.call.Consumer, q.Until)
}

// pause lets a consumer rest until a time, or go on if that has passed.
func (t *stream) pause(name string, until time.Time) (*api.PauseAnswer, error) {
	s := t.account.service
	now := s.cfg.Clock().UTC()
	c := &command.Pause{Time: now.UnixNano(), Consumer: name}
	if until.After(now) {
		c.Until = jetlog.Nanoseconds(until)
	}
	result, err := t.propose(c)
	if err != nil {
		return nil, err
	}
	if result.Code != 0 {
		return nil, api.NewError(result.Code, result.Detail)
	}
	t.deliver.Update(name)
	answer := &api.PauseAnswer{Until: until}
	if c.Until != 0 {
		answer.Paused, answer.Remaining = true, until.Sub(now)
	}
	s.events.ConsumerPause(t.account.account, t.log.Name(), name, answer)
	return answer, nil
}

// consumerReset lets a consumer begin anew.
func (s *Service) consumerReset(_ Outlet, r *request) (api.Answer, error) {
	var q api.ResetRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	t, err := s.foundConsumer(r)
	if err != nil {
		return nil, err
	}
	if err := r.identify(t); err != nil {
		return nil, err
	}
	result, err := t.propose(&command.Reset{Time: s.now(), Consumer: r.call.Consumer, Sequence: q.Sequence})
	if err != nil {
		return nil, err
	}
	if result.Code != 0 {
		return nil, api.NewError(result.Code, result.Detail)
	}
	t.deliver.Update(r.call.Consumer)
	info, err := t.consumerInfo(r.call.Consumer, false)
	if err != nil {
		return nil, err
	}
	return &api.ResetAnswer{ConsumerInfo: info, ResetSequence: result.Sequence}, nil
}

// consumerUnpin lets another client have a priority group.
func (s *Service) consumerUnpin(_ Outlet, r *request) (api.Answer, error) {
	var q api.UnpinRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	t, err := s.foundConsumer(r)
	if err != nil {
		return nil, err
	}
	if q.Group == "" {
		return nil, api.NewError(api.InvalidJSON, "consumer group not specified")
	}
	if err := t.deliver.Unpin(r.call.Consumer, q.Group); err != nil {
		return nil, err
	}
	return &api.PlainAnswer{}, nil
}

// forgetMemory removes, after a start, the consumers that were to be in memory only and have nobody who will come back
// to them by their name: to their clients they went with the server, and they begin others.
func (t *stream) forgetMemory() {
	names, _ := reads.Consumers(t.log, reads.InMemory)
	for _, name := range names {
		// It is begun here, so that it comes before whatever clients ask for.
		wait, err := t.start(&command.ConsumerDelete{Time: t.account.service.now(), Consumer: name})
		if err == nil {
			t.account.service.running.Go(func() { t.forgotten(name, wait) })
			continue
		}
		t.account.service.logger.Warn("cannot remove a consumer of before the start", "stream", t.log.Name(), "consumer", name, "error", err)
		return
	}
}

// forgotten waits until a consumer is removed. The deliveries may have begun to serve it meanwhile, and would go on with heartbeats to a
// client that takes that for a consumer who is there.
func (t *stream) forgotten(name string, wait waiting) {
	result, err := wait()
	switch {
	case err != nil || result.Code != 0:
		t.account.service.logger.Warn("cannot remove a consumer of before the start", "stream", t.log.Name(), "consumer", name, "code", result.Code, "error", err)
	case !t.offline() && !t.hasConsumer(name): // nobody has made one of that name again
		t.deliver.Remove(name)
	}
}

// consumerInactive is told that nobody has used a consumer for as long as it says.
func (s *Service) consumerInactive(d *delivery.Stream, consumer string) {
	s.beside(d, func(t *stream) { t.inactive(consumer) })
}

// consumerTripped is told that a consumer is to be paused, since most of what its workers try fails.
func (s *Service) consumerTripped(d *delivery.Stream, consumer string, trip delivery.Trip) {
	s.beside(d, func(t *stream) { t.tripped(consumer, trip) })
}

// beside does something that may wait for a stream of which an event tells, on a goroutine of its own. Events come before the
// deliveries are closed, so that Close waits for it.
func (s *Service) beside(d *delivery.Stream, do func(*stream)) {
	s.running.Go(func() {
		if a := s.account(d.Account()); a != nil {
			if t := a.stream(d.Name()); t != nil {
				do(t)
			}
		}
	})
}

// tripped pauses a consumer, and tells. If that fails the next failures have it tried again.
func (t *stream) tripped(name string, trip delivery.Trip) {
	s := t.account.service
	until := s.cfg.Clock().UTC().Add(trip.Pause)
	_, err := t.pause(name, until)
	switch {
	case err == nil:
		s.logger.Warn("a consumer is paused: most of what is tried fails", "account", t.account.name(), "stream", t.log.Name(),
			"consumer", name, "failed", trip.Failed, "attempts", trip.Attempts, "pause", trip.Pause)
		s.events.Tell(t.account.account, &api.BreakerTripped{
			Stream: t.log.Name(), Consumer: name, Failed: trip.Failed, Attempts: trip.Attempts, Until: until, Domain: s.cfg.Domain,
		})
	case !unled(err):
		s.logger.Warn("a consumer of which most tries fail cannot be paused", "stream", t.log.Name(), "consumer", name, "error", err)
	}
}

// inactive removes a consumer that nobody has used for longer than it wants. If that fails the deliveries find it inactive
// again, some time later.
func (t *stream) inactive(name string) {
	if err := t.deleteConsumer(name); err != nil && !unled(err) {
		t.account.service.logger.Warn("cannot remove an inactive consumer; trying again later",
			"stream", t.log.Name(), "consumer", name, "error", err)
	}
}
