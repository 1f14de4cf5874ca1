package client

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Work says how the messages of a consumer are processed.
type Work[T any] struct {
	// Stream and Consumer name a pull consumer that exists, and whose messages are acknowledged one by one (ack_policy explicit).
	Stream, Consumer string
	// Handle processes a message. It may be called by several goroutines at once. With nil the message is acknowledged; with an
	// error it comes again, when the consumer's policy says so (runnel.retry, backoff, else at once), or after [RetryIn]; with
	// [Permanent] it does not. A panic is an error like any other.
	//
	// It may take as long as it needs: the server is told that it is still at it. Its context ends when Timeout is over, or Grace
	// after Process was told to end; it should then return soon.
	Handle func(ctx context.Context, m *Message[T]) error
	// Decode makes the value of a message; JSON by default, while []byte and string are taken as they are. What cannot be decoded
	// is a permanent failure.
	Decode func(data []byte) (T, error)
	// Workers is how many messages are processed at the same time; default GOMAXPROCS. No more than these are fetched, so that
	// none waits here while another process could have it.
	Workers int
	// Timeout is how long a handler may take for one message, 0 for no limit: then one that hangs keeps its message for ever.
	Timeout time.Duration
	// Grace is how long handlers may go on when the context of Process has ended; default 30 s.
	Grace time.Duration
	// Failed is told of each message that was not processed, by the goroutine that has tried; nil for nobody.
	Failed func(*Failure)
}

const (
	defaultGrace = 30 * time.Second
	// fetchTime is how long one request for a message waits.
	fetchTime = 30 * time.Second
	// The pauses after requests that fail: a server that restarts is not to be asked all the time.
	pauseLeast = 50 * time.Millisecond
	pauseMost  = 5 * time.Second
)

// Process processes messages until the context ends. Then it fetches no more, lets the handlers finish what they have, and
// returns nil. It returns an error, after the same, if it cannot go on: there is no such consumer, or no more; it is none whose
// messages are acknowledged one by one; the connection is closed. Whatever else goes wrong it tries again, for as long as it takes.
//
// Every message is processed at least once: again after a handler has failed, after ack_wait if the process has died, and
// perhaps although it was processed, if the acknowledgement was lost. For effects that must happen once there is [Inbox], and
// [Message.Publish].
func Process[T any](ctx context.Context, js jetstream.JetStream, w Work[T]) error {
	p, err := newProcessor(ctx, js, w)
	if err != nil {
		return fmt.Errorf("process %s %s: %w", w.Stream, w.Consumer, err)
	}
	return p.run(ctx)
}

// processor is a Process under way.
type processor[T any] struct {
	Work[T]
	nc       *nats.Conn
	consumer jetstream.Consumer
	progress *progress
	own      atomic.Bool // the server is known to be Runnel
}

// newProcessor looks at the consumer.
func newProcessor[T any](ctx context.Context, js jetstream.JetStream, w Work[T]) (*processor[T], error) {
	if w.Handle == nil {
		return nil, errors.New("there is no Handle")
	}
	if w.Decode == nil {
		w.Decode = decodeJSON[T]
	}
	if w.Workers <= 0 {
		w.Workers = runtime.GOMAXPROCS(0)
	}
	if w.Grace <= 0 {
		w.Grace = defaultGrace
	}
	if w.Failed == nil {
		w.Failed = func(*Failure) {}
	}
	consumer, err := js.Consumer(ctx, w.Stream, w.Consumer)
	if err != nil {
		return nil, err
	}
	cfg := &consumer.CachedInfo().Config
	if cfg.AckPolicy != jetstream.AckExplicitPolicy {
		return nil, errors.New("its messages are not acknowledged one by one: it needs ack_policy explicit")
	}
	return &processor[T]{Work: w, nc: js.Conn(), consumer: consumer, progress: newProgress(cfg)}, nil
}

// run is Process. Workers get a context that ends later than the one that ends fetching.
func (p *processor[T]) run(ctx context.Context) error {
	fetching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	handling, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var workers, beside sync.WaitGroup
	beside.Go(func() { p.progress.run(handling) })
	beside.Go(func() {
		<-fetching.Done()
		select {
		case <-time.After(p.Grace):
			abandon()
		case <-handling.Done():
		}
	})
	for range p.Workers {
		workers.Go(func() {
			if err := p.work(fetching, handling); err != nil {
				stop(fmt.Errorf("process %s %s: %w", p.Stream, p.Consumer, err)) // of several the first counts
			}
		})
	}
	workers.Wait()
	abandon()
	ended := ctx.Err()
	err := context.Cause(fetching)
	stop(nil)
	beside.Wait()
	if ended != nil {
		return nil
	}
	return err
}

// work fetches a message and processes it, again and again until the context ends, or an error says that this has no sense.
func (p *processor[T]) work(fetching, handling context.Context) error {
	for pause := pauseLeast; fetching.Err() == nil; {
		err := p.one(fetching, handling)
		if err == nil {
			pause = pauseLeast
			continue
		}
		if err := p.hopeless(fetching, err); err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-fetching.Done():
		}
		pause = min(2*pause, pauseMost)
	}
	return nil
}

// one fetches a message and processes it. That there was none is no error.
func (p *processor[T]) one(fetching, handling context.Context) error {
	ctx, cancel := context.WithTimeout(fetching, fetchTime)
	defer cancel()
	batch, err := p.consumer.Fetch(1, jetstream.FetchContext(ctx))
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		if err := p.process(handling, m); err != nil {
			return err
		}
	}
	err = batch.Error()
	if ctx.Err() != nil || errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrNoMessages) {
		return nil
	}
	return err
}

// hopeless returns why it has no sense to go on after an error, nil if it may have.
func (p *processor[T]) hopeless(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, ErrNoAPI), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, jetstream.ErrConsumerDeleted),
		errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrBadRequest):
		return err
	}
	// Of a consumer that has gone a request often hears no more than silence.
	ctx, cancel := context.WithTimeout(ctx, pauseMost)
	defer cancel()
	if _, gone := p.consumer.Info(ctx); errors.Is(gone, jetstream.ErrConsumerNotFound) || errors.Is(gone, jetstream.ErrStreamNotFound) {
		return gone
	}
	return nil
}

// process handles a message and answers it. The error is one after which Process cannot go on.
func (p *processor[T]) process(ctx context.Context, raw jetstream.Msg) error {
	defer p.progress.begin(raw)()
	m, err := p.message(raw)
	if err == nil {
		err = p.handle(ctx, m)
	}
	if err == nil {
		err = p.settle(ctx, raw, m)
	}
	if err == nil {
		return nil
	}
	f := &Failure{Stream: p.Stream, Consumer: p.Consumer, Subject: raw.Subject(), Err: err, Permanent: isPermanent(err)}
	if m != nil {
		f.Sequence, f.Deliveries = m.Sequence, m.Deliveries
	}
	p.Failed(f)
	p.giveBack(raw, err)
	if errors.Is(err, ErrNoAPI) {
		return err
	}
	return nil
}

// message makes what the handler gets. The message is nil if it is none of a stream.
func (p *processor[T]) message(raw jetstream.Msg) (*Message[T], error) {
	about, err := raw.Metadata()
	if err != nil {
		return nil, Permanent(err)
	}
	m := &Message[T]{
		Data: raw.Data(), Header: raw.Headers(), Subject: raw.Subject(), Stream: about.Stream, Consumer: about.Consumer,
		Sequence: about.Sequence.Stream, Deliveries: about.NumDelivered, Stored: about.Timestamp,
	}
	if m.Value, err = p.Decode(m.Data); err != nil {
		return m, Permanent(fmt.Errorf("decode: %w", err))
	}
	return m, nil
}

// handle calls the handler; if it panics that is its error.
func (p *processor[T]) handle(ctx context.Context, m *Message[T]) (err error) {
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.Timeout)
		defer cancel()
	}
	defer func() {
		if v := recover(); v != nil {
			err = &Panic{Value: v, Stack: debug.Stack()}
		}
	}()
	return p.Handle(ctx, m)
}

// giveBack tells the server that a message was not processed. If that is lost, the message comes again after ack_wait.
func (p *processor[T]) giveBack(raw jetstream.Msg, err error) {
	var later *retryIn
	switch {
	case errors.Is(err, errUnknown): // it may have been settled, and comes again otherwise
	case isPermanent(err):
		_ = raw.TermWithReason(err.Error())
	case errors.As(err, &later):
		_ = raw.NakWithDelay(later.after)
	default:
		_ = raw.Nak()
	}
}
