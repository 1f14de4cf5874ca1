package sourcing

import (
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/server/jetstream/api"
)

const (
	// copyMessages and copyBytes bound what one command of a mirror brings.
	copyMessages = 256
	copyBytes    = 256 << 10
)

// mirrorSink stores messages with the sequences and times of the origin.
//
// Invariant: once what is in flight is carried out, last is the last sequence of the stream.
type mirrorSink struct {
	p    *puller
	last uint64
	// identity is of the origin that was copied from last, empty if it is not known: a start forgets it.
	identity string
	batch    []command.Copied
	bytes    int
}

func (k *mirrorSink) start() (position, error) {
	k.batch, k.bytes = nil, 0
	k.last = k.p.stream.log.State().Last
	return position{last: k.last}, nil
}

// from accepts every origin: one that was made anew is followed as soon as it is beyond what is here.
func (k *mirrorSink) from(identity string) bool {
	if k.identity != "" && identity != "" && identity != k.identity && k.last > 0 {
		k.p.stream.sourcing.cfg.Logger.Warn("the origin of a mirror was made anew: what it stores up to the last sequence of the mirror is not copied",
			"stream", k.p.stream.log.Name(), "origin", k.p.source.Name, "last", k.last)
	}
	if identity != "" {
		k.identity = identity
	}
	return true
}

// pass moves the stream on as far as the origin has, so that it goes on like that one should it be promoted.
func (k *mirrorSink) pass(sequence uint64) {
	if sequence <= k.last {
		return
	}
	c := &command.Copy{From: k.last + 1, Through: sequence} // nobody tells when the last was stored
	k.last = sequence
	k.p.launch(c, &outcome{sequence: sequence})
}

func (k *mirrorSink) forget() {}

func (k *mirrorSink) add(m *incoming) {
	if m.sequence <= k.last || len(k.batch) > 0 && m.sequence <= k.batch[len(k.batch)-1].Sequence {
		return
	}
	k.batch = append(k.batch, command.Copied{
		Sequence: m.sequence, Time: m.time, Subject: m.subject, Header: m.header, Payload: m.payload,
	})
	k.bytes += len(m.subject) + len(m.header) + len(m.payload)
	if len(k.batch) >= copyMessages || k.bytes >= copyBytes {
		k.flush()
	}
}

func (k *mirrorSink) flush() {
	if len(k.batch) == 0 || k.p.run.broken || !k.p.admits(k.bytes) {
		return
	}
	o := &outcome{bytes: k.bytes, messages: make([]jetlog.Message, len(k.batch))}
	for i, m := range k.batch {
		o.messages[i] = jetlog.Message{
			Sequence: m.Sequence, Time: m.Time, Subject: m.Subject, Header: m.Header, Payload: m.Payload,
		}
		o.sequence = m.Sequence
	}
	c := &command.Copy{Time: time.Now().UnixNano(), From: k.last + 1, Messages: k.batch}
	k.last = o.sequence
	k.batch, k.bytes = nil, 0
	k.p.launch(c, o)
}

func (k *mirrorSink) settled(o *outcome) bool {
	if o.err != nil {
		return false
	}
	n := len(o.messages)
	if o.result.Code != 0 {
		n = min(n, o.result.Count)
	}
	for i, m := range o.messages[:n] {
		r := jetlog.Result{Sequence: m.Sequence, Stored: true}
		if i < len(o.result.Members) {
			r = o.result.Members[i]
		}
		if r.Stored {
			k.p.stream.hooks.Stored(m, r)
		}
	}
	if o.result.Code != 0 {
		k.p.refuse(api.NewError(o.result.Code, o.result.Detail))
		return false
	}
	k.p.refuse(nil)
	return true
}
