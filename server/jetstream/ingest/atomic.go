package ingest

import (
	"strconv"
	"time"

	"runnel/headers"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// atomicBatch is a batch of which all messages are stored, or none. It is put together here and goes to the log as
// one command when its last message has come; a restart forgets it, and its publisher is told with the next message.
type atomicBatch struct {
	id      string
	members []command.Publish
	bytes   int
	active  time.Time // when the last message came
	ack     string    // that is published with it, empty for none
	// large is set when there was a message too many. The members are gone, and what comes is refused, so that a
	// publisher that does not ask for each answer learns why.
	large bool
}

// verdict says why a member is refused. A batch that has one is abandoned for the reason, which is empty if it goes
// on, or if there is none that anybody has to be told of.
type verdict struct {
	err    *api.Error
	reason string
}

// idle is the reason of a batch whose publisher has gone.
const idle = api.AbandonedTimeout

// gather adds a message to its batch, and stores the batch when the message ends it.
func (s *Stream) gather(r *record, cfg *settings, m *marks) {
	b := s.drained.atomic[string(m.batch)]
	v := s.identify(cfg, r, m)
	if v.err == nil {
		v = s.place(b, m)
	}
	if v.err == nil && m.commit != ended {
		v = s.measure(b, cfg, r)
	}
	if v.err == nil && m.ack != nil && b != nil && b.ack != "" && b.ack != string(m.ack) {
		v = verdict{api.NewError(api.AckInvalid, "a batch acknowledges one message only"), api.AbandonedIncomplete}
	}
	if v.err != nil {
		s.reject(b, string(m.batch), r, v)
		return
	}
	if b == nil {
		b = s.openAtomic(string(m.batch))
	}
	if m.ack != nil {
		b.ack, r.header = string(m.ack), headers.Delete(r.header, api.AckHeader)
	}
	b.active = s.ingest.cfg.Clock()
	if m.commit != ended {
		s.dropLevel(r, m)
		b.members = append(b.members, s.publish(r, m))
		b.bytes += r.size()
		s.ingest.atomicBytes.Add(int64(r.size()))
	}
	switch m.commit {
	case uncommitted:
		r.task = gathering
		s.acker.push(r)
		return
	case ended:
		// Whoever reads the stream sees the end of the batch on its last message.
		last := &b.members[len(b.members)-1]
		last.Header = headers.Set(last.Header, batchCommit, "1")
	}
	s.commit(b, r)
}

// identify checks what a member says about itself and its batch.
func (*Stream) identify(cfg *settings, r *record, m *marks) verdict {
	switch {
	case !cfg.atomic:
		return verdict{err: api.NewError(config.AtomicDisabled)}
	case len(m.batch) > batchIDMax:
		return verdict{err: api.NewError(api.AtomicIDInvalid)}
	case !m.numbered:
		return verdict{err: api.NewError(api.AtomicSequenceMissing)}
	case m.level && !api.LevelMet(r.header):
		return verdict{api.NewError(api.LevelRequired), api.AbandonedUnsupported}
	case m.wrong != "":
		return verdict{api.NewError(api.HeaderInvalid, m.wrong), api.AbandonedUnsupported}
	case m.delayed:
		return verdict{cfg.delayRefusal(r, true), api.AbandonedUnsupported}
	case m.commit == commitMistaken:
		return verdict{api.NewError(api.AtomicCommitInvalid), api.AbandonedIncomplete}
	}
	return verdict{}
}

// place checks that a member is the next of its batch, which is nil if it is not open.
func (s *Stream) place(b *atomicBatch, m *marks) verdict {
	limits := &s.ingest.cfg.Batch
	incomplete := api.NewError(config.AtomicIncomplete)
	switch {
	case b == nil && m.sequence != 1:
		return verdict{err: incomplete}
	case b == nil && m.commit == ended:
		return verdict{incomplete, api.AbandonedIncomplete}
	case b == nil && (len(s.drained.atomic) >= limits.PerStream || s.ingest.atomics.Load() >= int64(limits.Total)):
		return verdict{err: api.NewError(api.AtomicTooMany)}
	case b == nil:
		return verdict{}
	case b.large:
		return s.tooLarge("")
	case m.sequence != uint64(len(b.members))+1:
		return verdict{incomplete, api.AbandonedIncomplete}
	case m.commit != ended && len(b.members) >= limits.Messages:
		return s.tooLarge(api.AbandonedLarge)
	}
	return verdict{}
}

func (s *Stream) tooLarge(reason string) verdict {
	return verdict{api.NewError(api.AtomicTooLarge, strconv.Itoa(s.ingest.cfg.Batch.Messages)), reason}
}

// measure checks that there is room for a member.
func (s *Stream) measure(b *atomicBatch, cfg *settings, r *record) verdict {
	if err := cfg.oversize(r); err != nil {
		return verdict{err, api.AbandonedIncomplete}
	}
	limits := &s.ingest.cfg.Batch
	bytes := r.size()
	if s.ingest.atomicBytes.Load()+int64(bytes) > int64(limits.OpenBytes) {
		return verdict{api.NewError(api.AtomicTooMany), api.AbandonedLarge}
	}
	if b != nil {
		bytes += b.bytes
	}
	if bytes > limits.Bytes {
		return verdict{api.NewError(api.AtomicTooLarge, strconv.Itoa(limits.Bytes)+" bytes"), api.AbandonedLarge}
	}
	return verdict{}
}

// reject refuses a member, and abandons its batch if there is one.
func (s *Stream) reject(b *atomicBatch, id string, r *record, v verdict) {
	s.refuse(r, v.err)
	switch {
	case b == nil:
		if v.reason != "" {
			s.tellAbandoned(id, v.reason)
		}
	case b.large:
	case v.reason == api.AbandonedLarge:
		s.tellAbandoned(id, v.reason)
		s.ingest.atomicBytes.Add(-int64(b.bytes))
		b.large, b.members, b.bytes = true, nil, 0
	case v.reason != "":
		s.abandon(b, v.reason)
	default:
		s.removeAtomic(b)
	}
}

// abandon ends a batch that is not stored.
func (s *Stream) abandon(b *atomicBatch, reason string) {
	s.removeAtomic(b)
	if !b.large {
		s.tellAbandoned(b.id, reason)
	}
}

func (s *Stream) tellAbandoned(id, reason string) {
	if s.hooks.Abandoned != nil {
		s.hooks.Abandoned(id, reason)
	}
}

func (s *Stream) openAtomic(id string) *atomicBatch {
	if s.drained.atomic == nil {
		s.drained.atomic = make(map[string]*atomicBatch)
	}
	b := &atomicBatch{id: id}
	s.drained.atomic[id] = b
	s.ingest.atomics.Add(1)
	s.watch()
	return b
}

func (s *Stream) removeAtomic(b *atomicBatch) {
	delete(s.drained.atomic, b.id)
	s.ingest.atomics.Add(-1)
	s.ingest.atomicBytes.Add(-int64(b.bytes))
}

// commit starts the command that stores a batch. The record is of the message that ended it.
func (s *Stream) commit(b *atomicBatch, r *record) {
	s.removeAtomic(b)
	if err := s.admit(b.bytes); err != nil {
		s.refuse(r, err)
		return
	}
	r.batch = b
	if b.ack == "" || s.ask(r, b.ack) {
		s.startBatch(r)
	}
}

// startBatch starts the command of the batch that a record has completed.
func (s *Stream) startBatch(r *record) {
	members := r.batch.members
	members[len(members)-1].Cause = r.cause
	r.at = s.now()
	s.start(r, &command.Batch{Time: r.at, Members: members})
}
