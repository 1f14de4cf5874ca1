package jetstream

import (
	"context"

	"runnel/server/jetstream/handover"
)

// Put puts messages of the server's own into a stream of an account.
func (s *Service) Put(ctx context.Context, account, stream string, list []handover.Message) ([]handover.Outcome, error) {
	return s.putter.Put(ctx, account, stream, list)
}
