package jetstream

import (
	"context"

	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/receipts"
)

// openReceipts lets messages be published to the stream with acknowledgements, and those of its own messages be published.
func (t *stream) openReceipts() {
	a, s := t.account, t.account.service
	t.origin = &receipts.Origin{
		Log: t.log, Sent: t.deliver.Sent, Now: t.clock.Now, Propose: t.log.Propose,
		Settled: func(consumer string) {
			t.countIfKnown()
			t.deliver.Acked(consumer)
		},
	}
	cfg := receipts.Config{
		Account: a.name(), Domain: s.cfg.Domain, Local: a.origin, Exists: a.has, Now: t.clock.Now, Propose: t.log.Propose,
		Logger: s.logger,
	}
	if s.cluster != nil {
		cfg.Asker = &s.cluster.asker
	}
	t.receipts = receipts.Open(t.log, cfg)
}

// origin returns a stream whose deliveries are acknowledged, nil if it is not led here, or nothing can be decided about it.
func (a *account) origin(stream string) *receipts.Origin {
	if t := a.stream(stream); t.leads() && !t.stranded() {
		return t.origin
	}
	return nil
}

// has tells whether the store has a stream of the account with this name and id, whether it works or not.
func (a *account) has(stream string, id uint64) bool {
	for _, log := range a.service.cfg.Store.Streams() {
		if log.ID() == id && log.Name() == stream && log.Account() == a.name() {
			return true
		}
	}
	return false
}

// aboutReceipts answers a question of another server about the stream's deliveries.
func (t *stream) aboutReceipts(ctx context.Context, q *clustered.Question) *clustered.Reply {
	if t.stranded() {
		return &clustered.Reply{}
	}
	part := t.origin.Answer(ctx, q.Body)
	return &clustered.Reply{Led: part != nil, Part: part}
}
