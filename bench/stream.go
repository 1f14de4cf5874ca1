package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/bench/verify"
)

// stored is a stream that a run has made, and removes when it ends: a plain one, or that below a
// bucket.
type stored struct {
	*session
	name string // of the stream
	conn *nats.Conn
	js   jetstream.JetStream
	acks *acknowledged
}

// removeWait is how long removing a stream may take.
const removeWait = 10 * time.Second

// bucketToken is the name that streams and buckets of the run have in common.
func (s *session) bucketToken() string {
	return "bench_" + s.prefix[strings.LastIndexByte(s.prefix, '.')+1:]
}

// openStored connects to the server for a stream of the given name, which the caller makes.
func (s *session) openStored(ctx context.Context, name string) (*stored, error) {
	nc, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	st := &stored{session: s, name: name, conn: nc, acks: newAcknowledged(name)}
	if st.js, err = s.jetStream(nc); err != nil {
		return nil, err
	}
	return st, nil
}

// jetStream is the client of a connection. It has no deadline: the watchdog comes first.
func (s *session) jetStream(nc *nats.Conn, options ...jetstream.JetStreamOpt) (jetstream.JetStream, error) {
	options = append(options, jetstream.WithDefaultTimeout(flushWait))
	js, err := jetstream.New(nc, options...)
	if err != nil {
		return nil, fmt.Errorf("JetStream client: %w", err)
	}
	return js, nil
}

// withStream runs work on a new stream for all subjects of the run.
func withStream(ctx context.Context, s *session, work func(context.Context, *stored) error) error {
	st, err := s.openStored(ctx, s.bucketToken())
	if err != nil {
		return err
	}
	_, err = st.js.CreateStream(ctx, jetstream.StreamConfig{
		Name:     st.name,
		Subjects: []string{s.prefix + ".>"},
		Storage:  s.storage(),
		Replicas: max(1, s.params.Replicas),
	})
	if err != nil {
		return fmt.Errorf("create stream %s: %w", st.name, err)
	}
	return st.finish(work(ctx, st))
}

// storage is where streams of the run are kept.
func (s *session) storage() jetstream.StorageType {
	if s.params.Memory {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

// finish takes the verdict on the acknowledgements and removes the stream.
func (st *stored) finish(err error) error {
	st.acks.settle(&st.measure, st.target.Verify, uint64(st.published.Load()), err)
	removed := st.remove()
	if err == nil {
		return removed
	}
	// What went wrong first is what counts; a server that has gone cannot remove anything.
	return err
}

// remove deletes the stream on a connection of its own, since that of the run may have been cut.
func (st *stored) remove() error {
	nc, err := nats.Connect(st.target.URL, append([]nats.Option{nats.NoReconnect()}, st.target.Options...)...)
	if err != nil {
		return fmt.Errorf("remove stream %s: %w", st.name, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("remove stream %s: %w", st.name, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeWait)
	defer cancel()
	if err := js.DeleteStream(ctx, st.name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("remove stream %s: %w", st.name, err)
	}
	return nil
}

// holds checks what the server says that the stream has: the last sequence, and the number of
// messages, if it is known.
func (st *stored) holds(ctx context.Context, last uint64, messages int64) error {
	if !st.target.Verify {
		return nil
	}
	stream, err := st.js.Stream(ctx, st.name)
	if err != nil {
		return fmt.Errorf("look at stream %s: %w", st.name, err)
	}
	state := stream.CachedInfo().State
	if state.LastSeq != last || messages >= 0 && state.Msgs != uint64(messages) {
		return fmt.Errorf("stream %s has %d messages and last sequence %d, after %d acknowledged ones",
			st.name, state.Msgs, state.LastSeq, last)
	}
	return nil
}

// acknowledged collects acknowledgements: each sequence of the stream must come once.
type acknowledged struct {
	stream string

	mu       sync.Mutex // guards what follows
	verifier *verify.Verifier
	sequence *verify.Payload // stamps the sequences for the verifier
	latency  *Recorder
}

// newAcknowledged expects the acknowledgements of a stream that was empty.
func newAcknowledged(stream string) *acknowledged {
	v := verify.NewVerifier("acknowledgements", verify.Lane{Stride: 1})
	v.AllowOvertaking()
	return &acknowledged{stream: stream, verifier: v, sequence: verify.NewPayload(verify.StampBytes, 0), latency: NewRecorder()}
}

// note counts an acknowledgement, and how long it took.
func (a *acknowledged) note(stream string, seq uint64, duplicate bool, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.latency.Record(took)
	stamp, _ := a.verifier.Observe(a.sequence.Stamped(seq-1, 0))
	if stream != a.stream || duplicate {
		a.verifier.Foreign(stamp)
	}
}

// restart forgets the latencies of the warm-up.
func (a *acknowledged) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.latency.Reset()
}

// addLatency gives the latencies to a measurement. Acknowledgements may still come in: a publisher
// that gave up does not wait for the rest.
func (a *acknowledged) addLatency(m *measurement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m.addLatency(a.latency)
}

// settle judges n acknowledgements. A run in which none was noted is left alone.
func (a *acknowledged) settle(m *measurement, judged bool, n uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !judged || a.verifier.Observed() == 0 {
		return
	}
	sent := map[uint32]uint64{0: n}
	if interrupted(err) {
		sent = nil
	}
	m.tally.Add(verify.Settle(sent, a.verifier))
}
