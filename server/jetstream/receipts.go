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
		Account: a.name(), Domain: s.cfg.Domain, Local: a.origin, Now: t.clock.Now, Propose: t.log.Propose, Logger: s.logger,
		Exists: func(id uint64) bool { return s.cfg.Store.StreamByID(id) != nil },
	}
	if s.cluster != nil {
		cfg.Asker = &s.cluster.asker
	}
	t.receipts = receipts.Open(t.log, cfg)
}

// imports tells whether messages on a subject may come from another account.
func (a *account) imports(subject string) bool {
	if x := a.account.Crossings(); x != nil {
		for range x.Sources(subject) {
			return true
		}
	}
	return false
}

// origin returns a stream whose deliveries are acknowledged, nil if it is not led here, or nothing can be decided about it.
func (a *account) origin(stream string) *receipts.Origin {
	if t := a.stream(stream); t.leads() && !t.stranded() {
		return t.origin
	}
	return nil
}

// aboutReceipts answers a question of another server about the stream's deliveries.
func (t *stream) aboutReceipts(ctx context.Context, q *clustered.Question) *clustered.Reply {
	if t.stranded() {
		return &clustered.Reply{}
	}
	part := t.origin.Answer(ctx, q.Body)
	return &clustered.Reply{Led: part != nil, Part: part}
}
