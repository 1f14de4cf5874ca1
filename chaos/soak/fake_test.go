package soak

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// fakeJetStream is a server as a ledger sees it, without one. What it is not asked in these tests it does not have: a call of that ends
// the test, as the embedded interfaces are nil.
type fakeJetStream struct {
	jetstream.JetStream
	publish func(ctx context.Context, name string) error // what a publish ends with; nil is an acknowledgement
	last    uint64                                       // the sequence of the message that was acknowledged last
	has     []fakeMessage                                // what a reader gets
	fails   map[string]error                             // by the name of what is asked
}

// fakeMessage is one that a reader gets.
type fakeMessage struct {
	jetstream.Msg
	name     string
	sequence uint64
	failed   error // why nobody can tell its sequence
}

func (m fakeMessage) Headers() nats.Header { return nats.Header{nameHeader: {m.name}} }

func (m fakeMessage) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: m.sequence}}, m.failed
}

func (f *fakeJetStream) PublishMsg(ctx context.Context, m *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if f.publish != nil {
		if err := f.publish(ctx, m.Header.Get(nameHeader)); err != nil {
			return nil, err
		}
	}
	f.last++
	return &jetstream.PubAck{Stream: streamName, Sequence: f.last}, nil
}

func (f *fakeJetStream) Stream(context.Context, string) (jetstream.Stream, error) {
	return fakeStream{fake: f}, f.fails["stream"]
}

// fakeStream is the stream of a fakeJetStream.
type fakeStream struct {
	jetstream.Stream
	fake *fakeJetStream
}

func (s fakeStream) Info(context.Context, ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	state := jetstream.StreamState{Msgs: uint64(len(s.fake.has)), LastSeq: s.fake.last}
	return &jetstream.StreamInfo{State: state}, s.fake.fails["info"]
}

func (s fakeStream) OrderedConsumer(context.Context, jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	return fakeConsumer{fake: s.fake}, s.fake.fails["consumer"]
}

// fakeConsumer is one that reads it.
type fakeConsumer struct {
	jetstream.Consumer
	fake *fakeJetStream
}

func (c fakeConsumer) Messages(...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	return &fakeReading{fake: c.fake}, c.fake.fails["messages"]
}

// fakeReading returns one message after the other. After the last one it is as if none came in time.
type fakeReading struct {
	jetstream.MessagesContext
	fake *fakeJetStream
	next int
}

func (r *fakeReading) Stop() {}

func (r *fakeReading) Next(...jetstream.NextOpt) (jetstream.Msg, error) {
	if r.next >= len(r.fake.has) {
		return nil, nats.ErrTimeout
	}
	r.next++
	return r.fake.has[r.next-1], nil
}

// ledgerOf is a ledger at a fake.
func ledgerOf(f *fakeJetStream) *ledger { return &ledger{js: f, acked: make(map[string]uint64)} }
