package jetstream

import (
	"context"

	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/handover"
	"runnel/server/jetstream/ingest"
)

// newPutter returns what puts the server's own messages into streams.
func newPutter(s *Service) *handover.Putter {
	p := &handover.Putter{Local: s.takes}
	if s.cluster != nil {
		p.Asker = &s.cluster.asker
	}
	return p
}

// takes returns how messages get into a stream of a server alone.
func (s *Service) takes(account, stream string) (*ingest.Stream, error) {
	a := s.named(account)
	if a == nil {
		return nil, api.NewError(api.NotEnabledForAccount)
	}
	switch t := a.stream(stream); {
	case t == nil:
		return nil, api.NewError(api.StreamNotFound)
	case !t.leads():
		return nil, api.NewError(api.StreamOffline, stream)
	default:
		return t.ingest, nil
	}
}

// put puts what another server has asked for into a stream that is led here.
func (t *stream) put(ctx context.Context, q *clustered.Question) *clustered.Reply {
	part, known := handover.Answer(ctx, t.ingest, q.Body)
	return &clustered.Reply{Led: known, Part: part}
}
