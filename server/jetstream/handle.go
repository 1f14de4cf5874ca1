package jetstream

import (
	"context"
	"errors"
	"time"

	"runnel/headers"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

// handler answers a call. What it returns is encoded as the answer of its endpoint; nil says that the handler has
// answered, or will. An error becomes the answer's.
type handler func(*Service, Outlet, *request) (api.Answer, error)

// handlerOf returns who answers an endpoint, nil for those that only a cluster or the system account has.
func handlerOf(e api.Endpoint) handler {
	switch e {
	case api.CallAccountInfo:
		return (*Service).accountInfo
	case api.CallStreamCreate:
		return (*Service).streamCreate
	case api.CallStreamUpdate:
		return (*Service).streamUpdate
	case api.CallStreamInfo:
		return (*Service).streamInfo
	case api.CallStreamNames:
		return (*Service).streamNames
	case api.CallStreamList:
		return (*Service).streamList
	case api.CallStreamDelete:
		return (*Service).streamDelete
	case api.CallStreamPurge:
		return (*Service).streamPurge
	case api.CallStreamMessageGet:
		return (*Service).messageGet
	case api.CallStreamMessageDelete:
		return (*Service).messageDelete
	case api.CallStreamSnapshot:
		return (*Service).streamSnapshot
	case api.CallStreamRestore:
		return (*Service).streamRestore
	case api.CallStreamCancelMove:
		return (*Service).streamCancelMove
	case api.CallDirectGet:
		return (*Service).directGet
	case api.CallStreamStepDown, api.CallStreamPeerRemove, api.CallStreamPeerEvacuate,
		api.CallConsumerStepDown, api.CallConsumerPeerRemove, api.CallConsumerPeerEvacuate:
		return (*Service).needsCluster
	}
	return consumerHandlerOf(e)
}

// consumerHandlerOf is handlerOf for what is asked of consumers.
func consumerHandlerOf(e api.Endpoint) handler {
	switch e {
	case api.CallConsumerCreate, api.CallConsumerDurableCreate:
		return (*Service).consumerCreate
	case api.CallConsumerInfo:
		return (*Service).consumerInfo
	case api.CallConsumerNames:
		return (*Service).consumerNames
	case api.CallConsumerList:
		return (*Service).consumerList
	case api.CallConsumerDelete:
		return (*Service).consumerDelete
	case api.CallConsumerPause:
		return (*Service).consumerPause
	case api.CallConsumerReset:
		return (*Service).consumerReset
	case api.CallConsumerUnpin:
		return (*Service).consumerUnpin
	case api.CallConsumerNext:
		return (*Service).pullLate
	}
	return ownHandlerOf(e)
}

// handle carries a request out and answers it, or leaves that to its finish.
func (s *Service) handle(out Outlet, r *request) {
	if r.relay != "" {
		m := r.message
		if out.Publish(r.account.account, r.relay, string(m.Reply), m.Header, m.Payload) == 0 {
			_, _ = s.noResponder(out, r)
		}
		return
	}
	if s.cluster != nil && !r.here {
		if done := s.cluster.settle(out, r); done {
			return
		}
	}
	answer, err := s.answer(out, r)
	if r.finish == nil {
		s.reply(out, r, answer, err)
	}
}

// reply answers a request.
func (s *Service) reply(out Outlet, r *request, answer api.Answer, err error) {
	a := r.account
	e := r.call.Endpoint
	if e.Type() != "" {
		a.calls.Add(1)
		s.requests.Add(1)
	}
	if err == nil && answer == nil {
		return
	}
	var body []byte
	if err != nil {
		a.errors.Add(1)
		s.failures.Add(1)
		body = e.Refuse(s.refusal(r, err))
	} else {
		body = e.Encode(answer)
	}
	if len(r.message.Reply) > 0 {
		out.Publish(a.account, string(r.message.Reply), "", r.header, body)
	}
	s.events.Audit(r.message, a.account, r.subject, body)
}

// answer finds out what to say.
func (s *Service) answer(out Outlet, r *request) (api.Answer, error) {
	e := r.call.Endpoint
	if r.stream == nil && r.call.Stream != "" {
		r.stream = r.account.stream(r.call.Stream)
	}
	if s.cluster != nil && e.System() && r.account.isSystem() {
		return s.cluster.operate(r)
	}
	if r.account.limits.Load() == nil {
		if e.Type() == "" {
			return s.noResponder(out, r)
		}
		return nil, api.NewError(api.NotEnabledForAccount)
	}
	if e.Type() != "" && !api.LevelMet(r.message.Header) {
		return nil, api.NewError(api.LevelRequired)
	}
	h := handlerOf(e)
	if s.cluster != nil && clusterHandlerOf(e) != nil {
		h = clusterHandlerOf(e)
	}
	if h == nil {
		return nil, unknownCall(r)
	}
	return h(s, out, r)
}

// unknownCall says what an unknown subject was, since silence explains nothing.
func unknownCall(r *request) error {
	return &api.Error{
		Code: 404, ErrCode: int(config.BadRequest),
		Description: "unknown JetStream API subject " + r.subject + ": see the documentation for the calls that there are",
	}
}

// needsCluster refuses what makes sense among several servers only.
func (s *Service) needsCluster(_ Outlet, r *request) (api.Answer, error) {
	return nil, api.NewError(api.ClusterRequired)
}

// streamCancelMove refuses to end a move that nothing has begun.
func (s *Service) streamCancelMove(_ Outlet, r *request) (api.Answer, error) {
	if r.stream == nil {
		return nil, api.NewError(api.StreamNotFound)
	}
	return nil, api.NewError(api.NoReconfiguration)
}

// pullLate answers a pull request whose consumer the deliveries did not know when it came: it may be so new that they
// still do not.
func (s *Service) pullLate(out Outlet, r *request) (api.Answer, error) {
	if t := r.stream; t.leads() && t.hasConsumer(r.call.Consumer) {
		t.deliver.Update(r.call.Consumer)
		m := r.message
		if t.deliver.Pull(r.call.Consumer, delivery.Request{Reply: string(m.Reply), Header: m.Header, Body: m.Payload}) {
			return nil, nil
		}
	}
	return s.noResponder(out, r)
}

// noResponder answers what would have nobody to answer if each stream and consumer listened for itself.
func (s *Service) noResponder(out Outlet, r *request) (api.Answer, error) {
	told := false
	if from := r.message.From; from != nil {
		told = out.NoResponders(from, r.subject, string(r.message.Reply))
	}
	if s.cluster != nil && !told && len(r.message.Reply) > 0 { // who asks is a client of another server
		out.Publish(r.account.account, string(r.message.Reply), "", headers.Status(503, ""), nil)
	}
	return nil, nil
}

// refusal makes what went wrong the error of an answer, and logs what is not the client's fault.
func (s *Service) refusal(r *request, err error) *api.Error {
	var known *api.Error
	var wrong *config.Error
	switch {
	case errors.As(err, &known), errors.As(err, &wrong):
		return api.FromConfig(err)
	case errors.Is(err, store.ErrNotFound):
		return api.NewError(api.StreamNotFound)
	case errors.Is(err, store.ErrExists):
		return api.NewError(api.StreamNameExists)
	case errors.Is(err, store.ErrHalted):
		return api.NewError(api.StreamOffline, err.Error())
	case errors.Is(err, store.ErrFull):
		return api.NewError(api.InsufficientResources)
	case unled(err), s.cluster != nil && errors.Is(err, context.DeadlineExceeded):
		return api.NewError(api.ClusterUnavailable)
	}
	s.logger.Error("JetStream request failed", "subject", r.subject, "account", r.account.account.Name(), "error", err)
	return api.FromConfig(err)
}

// decode reads the body of a request.
func (s *Service) decode(r *request, into any) error {
	d := api.Decoder{Lenient: s.cfg.Lenient}
	if err := d.Decode(r.call.Endpoint, r.message.Payload, into); err != nil {
		return err
	}
	return nil
}

// settleTime is how long a request waits for what was sent before it.
const settleTime = 2 * time.Second

// found returns the request's stream, once what was published before is in it. After settleTime it goes on without, as
// foundConsumer does.
func (s *Service) found(r *request) (*stream, error) {
	t := r.stream
	if t == nil {
		return nil, api.NewError(api.StreamNotFound)
	}
	if t.offline() {
		return nil, api.NewError(api.StreamOffline, t.log.Err().Error())
	}
	if !t.leads() {
		return nil, api.NewError(api.ClusterUnavailable) // until a moment ago it was led here
	}
	ctx, cancel := context.WithTimeout(s.ctx, settleTime)
	defer cancel()
	switch err := t.settle(ctx); {
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, err
	case err != nil && t.stranded():
		return nil, api.NewError(api.ClusterUnavailable)
	}
	return t, nil
}
