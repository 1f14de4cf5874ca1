package ingest

import "runnel/server/jetstream/api"

// flowTotal is how many messages between acknowledgements all open batches of a stream have together.
const flowTotal = 500

// concludeStep tells the publisher of a fast batch what became of a message that was to be stored.
func (s *Stream) concludeStep(a *acker, cfg *settings, r *record) {
	b := r.step.batch
	err, known := outcome(r)
	if b.broken {
		if r.step.operation == opCommit {
			s.acknowledge(a, r.reply, &api.PubAck{Error: api.NewError(api.BatchUnknown), Stream: cfg.name})
		}
		return
	}
	if r.step.opening && r.step.operation != opCommit {
		s.tellFlow(a, cfg, r, 0)
	}
	s.tellGap(a, r)
	switch {
	case !known: // the stream ends, and so does the batch
	case err != nil:
		s.failStep(a, cfg, r, err)
	default:
		b.count, b.stored = r.step.sequence, r.result.Sequence
		switch {
		case r.step.operation == opCommit:
			s.tellEnd(a, cfg, r)
		case b.count-b.told >= uint64(b.granted):
			b.told = b.count
			b.granted = s.tuned(b)
			s.tellFlow(a, cfg, r, b.told)
		}
	}
	failed := err != nil || !known
	if r.step.holding || failed && !b.gapOK {
		s.resumeLater(b, failed)
	}
}

// failStep tells of a message that was refused. Without gaps the batch ends with it.
func (s *Stream) failStep(a *acker, cfg *settings, r *record, err *api.Error) {
	b := r.step.batch
	if !b.gapOK && b.count == 0 {
		b.broken = true
		s.acknowledge(a, r.reply, &api.PubAck{Error: err, Stream: cfg.name})
		return
	}
	s.tell(a, r.reply, func(out []byte) []byte { return api.AppendFlowError(out, r.step.sequence, err) })
	b.broken = !b.gapOK
	if b.broken || r.step.operation == opCommit {
		s.tellEnd(a, cfg, r)
	}
}

// answerStep answers a message of a fast batch that is not stored.
func (s *Stream) answerStep(a *acker, cfg *settings, r *record) {
	b := r.step.batch
	if b.broken {
		s.acknowledge(a, r.reply, &api.PubAck{Error: api.NewError(api.BatchUnknown), Stream: cfg.name})
		return
	}
	s.tellGap(a, r)
	if !r.step.ending {
		s.tellFlow(a, cfg, r, b.told)
		return
	}
	if inOrder := r.step.expected == 0 || b.gapOK && r.step.sequence > r.step.expected; inOrder && r.step.operation == opEnd {
		b.count = r.step.sequence - 1
	}
	s.tellEnd(a, cfg, r)
}

// share returns how many messages between acknowledgements a batch may have now.
func (s *Stream) share(b *fastBatch) int {
	return max(1, min(b.flow, flowTotal/max(1, int(s.fastOpen.Load()))))
}

// tuned returns how many it gets next: what it has had is doubled or halved until it comes to its share.
func (s *Stream) tuned(b *fastBatch) int {
	share := s.share(b)
	if b.granted < share {
		return min(2*b.granted, share)
	}
	return max((b.granted+1)/2, share)
}

// tell stages a message to a publisher.
func (s *Stream) tell(a *acker, to string, text func([]byte) []byte) {
	start := len(a.buffer)
	a.buffer = text(a.buffer)
	a.reply(s, to, nil, a.buffer[start:])
}

// tellFlow says how far the batch has come. Streams without acknowledgements do not.
func (s *Stream) tellFlow(a *acker, cfg *settings, r *record, sequence uint64) {
	if !cfg.noAck {
		s.tell(a, r.reply, func(out []byte) []byte { return api.AppendFlowAck(out, sequence, r.step.batch.granted) })
	}
}

// tellGap says what is missing before the message, if something is.
func (s *Stream) tellGap(a *acker, r *record) {
	if r.step.expected == 0 {
		return
	}
	got := r.step.sequence
	if r.step.operation == opPing {
		got++
	}
	s.tell(a, r.reply, func(out []byte) []byte { return api.AppendFlowGap(out, r.step.expected, got) })
}

// tellEnd acknowledges the batch.
func (s *Stream) tellEnd(a *acker, cfg *settings, r *record) {
	b := r.step.batch
	s.acknowledge(a, r.reply, &api.PubAck{
		Stream: cfg.name, Sequence: b.stored, Domain: s.ingest.cfg.Domain, Batch: b.id, Count: int(b.count),
	})
}

// acknowledge stages an acknowledgement.
func (s *Stream) acknowledge(a *acker, to string, ack *api.PubAck) {
	s.tell(a, to, func(out []byte) []byte { return api.AppendPubAck(out, ack) })
}

// resumeLater lets drain know of a result that a batch waits for.
func (s *Stream) resumeLater(b *fastBatch, failed bool) {
	r := s.ingest.record(s)
	r.task, r.step.batch, r.failed = resuming, b, failed
	if !s.enqueue(r) {
		s.ingest.release(r)
	}
}
