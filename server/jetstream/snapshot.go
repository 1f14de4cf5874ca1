package jetstream

import (
	"context"

	"github.com/nats-io/nuid"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/backup"
	"runnel/server/jetstream/reads"
	"runnel/server/jetstream/transfer"
	"runnel/subjects"
)

const (
	// Messages of a backup that are read at once.
	backupMessages, backupBytes = 1024, 1 << 20
)

// picture is a stream as its backup has it: everything but the messages, which are those up to the last sequence
// that are still there when they are read.
type picture struct {
	config    config.Stream
	state     api.StreamState
	consumers []*command.ConsumerRestore
	producers []backup.Producer
}

// streamSnapshot begins to send a backup. All else happens on a goroutine of its own.
func (s *Service) streamSnapshot(_ Outlet, r *request) (api.Answer, error) {
	var q api.SnapshotRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	t, err := s.found(r)
	switch {
	case err != nil:
		return nil, err
	case q == api.SnapshotRequest{}:
		return nil, api.NewError(config.BadRequest)
	case !subjects.ValidLiteral(q.DeliverSubject):
		return nil, api.NewError(api.DeliverSubjectInvalid)
	}
	id := nuid.Next()
	c := transfer.NewOutgoing(t.log.Name(), id, t.account.account, &q)
	return nil, t.account.transfers.Send(s.ctx, id, c, func(ctx context.Context) { s.sendBackup(ctx, t, c, r, &q) })
}

// takeSnapshotAck hands the acknowledgement of a chunk to its backup.
func (a *account) takeSnapshotAck(m *engine.Message) { a.transfers.TakeAck(m) }

// sendBackup answers the request, sends the backup, and tells of it.
func (s *Service) sendBackup(ctx context.Context, t *stream, c *transfer.Outgoing, r *request, q *api.SnapshotRequest) {
	out := s.newOutlet()
	defer out.Close()
	c.Use(out)
	p, err := t.picture(ctx, q)
	if err != nil {
		s.conclude(out, r, api.CallStreamSnapshot, nil, err)
		return
	}
	start := s.cfg.Clock().UTC()
	// An answer says of the stream what a backup says: nothing that this server adds for clients.
	s.conclude(out, r, api.CallStreamSnapshot, &api.SnapshotAnswer{Config: &p.config, State: &p.state}, nil)
	s.events.SnapshotCreated(t.account.account, t.log.Name(), r.message.From, &p.state)
	c.AwaitListener()
	err = c.End(t.writeBackup(p, c))
	if err != nil {
		s.logger.Warn("backup has ended early", "account", t.log.Account(), "stream", t.log.Name(), "error", err)
	}
	s.events.SnapshotComplete(t.account.account, t.log.Name(), r.message.From, start, err)
}

// conclude answers a request whose handler has returned before.
func (s *Service) conclude(out Outlet, r *request, e api.Endpoint, answer api.Answer, err error) {
	var body []byte
	if err != nil {
		r.account.errors.Add(1)
		s.failures.Add(1)
		body = e.Refuse(s.refusal(r, err))
	} else {
		body = e.Encode(answer)
	}
	if len(r.message.Reply) > 0 {
		out.Publish(r.account.account, string(r.message.Reply), "", nil, body)
		out.Flush()
	}
	s.events.Audit(r.message, r.account.account, r.subject, body)
}

// picture takes down the stream as it is now: its consumers and its last sequence at one moment.
func (t *stream) picture(ctx context.Context, q *api.SnapshotRequest) (*picture, error) {
	if q.Check {
		if err := reads.Verify(ctx, t.log); err != nil {
			return nil, api.NewError(api.BackupFailed, err.Error())
		}
	}
	if !q.NoConsumers {
		settled, cancel := context.WithTimeout(ctx, settleTime)
		defer cancel()
		// What is not settled in time is in flight still; the backup is as good without.
		_ = t.deliver.Settle(settled, "")
	}
	p := &picture{}
	err := t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		p.config, p.state = *state.Config(), reads.State(state)
		p.state.Consumers, p.producers = 0, backup.ProducersOf(state.Producers())
		for _, c := range state.Consumers() {
			if !q.NoConsumers && !reads.Hidden(c) {
				p.consumers = append(p.consumers, c.Backup())
				p.state.Consumers++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.state.SubjectCount = t.subjects.Number()
	return p, nil
}

// writeBackup writes the stream into the chunks, but for the last of them.
func (t *stream) writeBackup(p *picture, c *transfer.Outgoing) error {
	w := backup.NewWriter(c, t.account.service.cfg.Clock())
	if err := w.WriteState(backupState(&p.state, p.producers)); err != nil {
		return err
	}
	for _, consumer := range p.consumers {
		if err := w.WriteConsumer(backup.ConsumerOf(consumer, t.account.service.now())); err != nil {
			return err
		}
	}
	for next := uint64(1); next <= p.state.LastSequence; {
		var failed, err error
		next, err = t.log.Read(next, nil, backupMessages, backupBytes, func(m *jetlog.Message) bool {
			if m.Sequence <= p.state.LastSequence {
				failed = w.WriteMessage(*m)
			}
			return failed == nil && m.Sequence < p.state.LastSequence
		})
		if failed != nil {
			return failed
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// backupState is a stream's state as the backup has it. The messages that follow may be fewer, if some go meanwhile.
func backupState(s *api.StreamState, known []backup.Producer) backup.State {
	return backup.State{
		Messages: s.Messages, Bytes: s.Bytes,
		FirstSequence: s.FirstSequence, FirstTime: s.FirstTime,
		LastSequence: s.LastSequence, LastTime: s.LastTime,
		Subjects: s.SubjectCount, Deleted: s.DeletedCount, Consumers: s.Consumers, Producers: known,
	}
}
