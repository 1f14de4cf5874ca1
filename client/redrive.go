package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Redrive says which dead letters are put back.
type Redrive struct {
	Filter DeadFilter
	// Rate is how many a second at most, 0 for no limit.
	Rate int
	// Done is told after each one how many were put back; nil for nobody.
	Done func(n int)
}

// redriveConsumer is the consumer of a dead-letter stream whose messages are put back.
const redriveConsumer = "runnel-redrive"

// redriveWait is how long a letter that is being put back is nobody else's, and fetchWait how long the end is waited for.
const (
	redriveWait = 30 * time.Second
	fetchWait   = time.Second
)

// Redrive publishes dead letters with their former subjects, and takes them out of it. Publishing and
// acknowledging are one step, so each is put back once, however often this is stopped, by an error, a crash or the context, and
// begun again: it goes on where it was, with the filter that it was begun with. It returns how many it has put back.
//
// Everybody gets them who consumes the subject. They keep their headers but for those that would make a second one of them a
// duplicate, or say why they were given up.
func (d *DLQ) Redrive(ctx context.Context, r Redrive) (n int, err error) {
	nc, stream := d.Conn, d.Stream
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, fmt.Errorf("redrive %s: %w", stream, err)
	}
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("redrive %s: %w", stream, err)
	}
	w := &driver{letters: d, stream: s, queue: s.CachedInfo().Config.Retention == jetstream.WorkQueuePolicy, rate: r.Rate}
	c, err := w.begin(ctx, r.Filter)
	if err != nil {
		return 0, fmt.Errorf("redrive %s: %w", stream, err)
	}
	for {
		batch, err := c.Fetch(1, jetstream.FetchMaxWait(fetchWait))
		if err != nil {
			return n, fmt.Errorf("redrive %s: %w", stream, err)
		}
		none := true
		for m := range batch.Messages() {
			none = false
			if err := w.putBack(ctx, m); err != nil {
				return n, fmt.Errorf("redrive %s: %w", stream, errors.Join(err, m.Nak()))
			}
			if n++; r.Done != nil {
				r.Done(n)
			}
		}
		if err := ctx.Err(); err != nil {
			return n, fmt.Errorf("redrive %s: %w", stream, err)
		}
		if !none {
			continue
		}
		if done, err := w.ended(ctx, c); err != nil || done {
			return n, err
		}
	}
}

// driver puts the letters of one stream back.
type driver struct {
	letters *DLQ
	stream  jetstream.Stream
	queue   bool // what is acknowledged goes by itself
	rate    int
	last    time.Time
}

// begin returns the consumer: the one that is there, if that was begun before and not ended. What it has acknowledged goes first,
// if it is still there.
func (d *driver) begin(ctx context.Context, f DeadFilter) (jetstream.Consumer, error) {
	c, err := d.stream.Consumer(ctx, redriveConsumer)
	if err == nil {
		return c, d.sweep(ctx, c, f)
	}
	if !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, err
	}
	cfg := jetstream.ConsumerConfig{
		Durable: redriveConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: redriveWait, FilterSubject: f.Subject, MaxAckPending: 1,
	}
	if filter := filterOf(f); filter != "" {
		if d.queue {
			return nil, errors.New("a work queue cannot be filtered by stream, consumer or reason, since what does not match would go: filter by subject, or not at all")
		}
		cfg.Metadata = map[string]string{"runnel.filter": filter}
	}
	return d.stream.CreateConsumer(ctx, cfg)
}

// filterOf returns the content filter for what a DeadFilter says beside the subject, empty for nothing.
func filterOf(f DeadFilter) string {
	want := map[string][]string{}
	for name, value := range map[string]string{"Runnel-Dead-Stream": f.Stream, "Runnel-Dead-Consumer": f.Consumer, "Runnel-Dead-Reason": f.Reason} {
		if value != "" {
			want[name] = []string{value}
		}
	}
	if len(want) == 0 {
		return ""
	}
	text, err := json.Marshal(map[string]any{"headers": want})
	if err != nil {
		return ""
	}
	return string(text)
}

// sweep deletes letters that were put back, and were about to be deleted when that was stopped.
func (d *driver) sweep(ctx context.Context, c jetstream.Consumer, f DeadFilter) error {
	floor := c.CachedInfo().AckFloor.Stream
	if d.queue || floor == 0 {
		return nil
	}
	for letter, err := range d.letters.All(ctx, f) {
		if err != nil {
			return err
		}
		if letter.Sequence > floor {
			break
		}
		if err := d.remove(ctx, letter.Sequence); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) remove(ctx context.Context, sequence uint64) error {
	if err := d.stream.DeleteMsg(ctx, sequence); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return err
	}
	return nil
}

// putBack publishes a letter with its acknowledgement, and deletes it.
func (d *driver) putBack(ctx context.Context, m jetstream.Msg) error {
	about, err := m.Metadata()
	if err != nil {
		return err
	}
	subject := m.Headers().Get("Runnel-Dead-Subject")
	switch {
	case subject == "" && d.queue:
		return fmt.Errorf("message %d is no dead letter: take it out of the stream first", about.Sequence.Stream)
	case subject == "":
		return m.Ack() // it stays, and is passed over
	}
	if err := d.pace(ctx); err != nil {
		return err
	}
	out := nats.NewMsg(subject)
	out.Data, out.Header = m.Data(), back(m.Headers())
	out.Header.Set("Runnel-Ack", m.Reply())
	answer, err := d.letters.Conn.RequestMsgWithContext(ctx, out)
	if err != nil {
		return fmt.Errorf("message %d: %w", about.Sequence.Stream, err)
	}
	var ack struct {
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return fmt.Errorf("message %d: the answer: %w", about.Sequence.Stream, err)
	}
	if ack.Error != nil {
		return fmt.Errorf("message %d: %w", about.Sequence.Stream, ack.Error)
	}
	if d.queue {
		return nil
	}
	return d.remove(ctx, about.Sequence.Stream)
}

// back returns the headers that a letter is put back with.
func back(h nats.Header) nats.Header {
	out := nats.Header{}
	for name, values := range h {
		switch {
		case strings.HasPrefix(name, "Runnel-Dead-"), strings.HasPrefix(name, "Runnel-Producer"), strings.HasPrefix(name, "Nats-Expected-"),
			strings.HasPrefix(name, "Nats-Batch-"), name == nats.MsgIdHdr, name == "Runnel-Ack":
		default:
			out[name] = values
		}
	}
	return out
}

// pace waits until the rate allows another one.
func (d *driver) pace(ctx context.Context) error {
	if d.rate <= 0 {
		return nil
	}
	wait := time.Until(d.last.Add(time.Second / time.Duration(d.rate)))
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	d.last = time.Now()
	return nil
}

// ended reports whether nothing is left, and ends it then.
func (d *driver) ended(ctx context.Context, c jetstream.Consumer) (bool, error) {
	info, err := c.Info(ctx)
	if err != nil {
		return false, err
	}
	if info.NumPending > 0 || info.NumAckPending > 0 {
		return false, nil
	}
	return true, d.stream.DeleteConsumer(ctx, redriveConsumer)
}
