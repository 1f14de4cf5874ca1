package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

const (
	pageMessages = 500
	pageBytes    = 1 << 20
	// pinnedAttempts is how often a stream is read through a consumer whose leader does not stay.
	pinnedAttempts = 5
	// leadTimeout is how long a leader may take to move.
	leadTimeout = 15 * time.Second
)

// keyOf makes the key of an operation from a subject.
type keyOf func(subject string) string

// subjectKey is the subject itself.
func subjectKey(subject string) string { return subject }

// finals reads a stream at each of its replicas that is current, by direct gets and, if pinned says so, by a consumer that is
// led there. A replica that could not be read is in the history too.
func (l *load) finals(ctx context.Context, stream string, key keyOf, pinned bool) error {
	r, err := l.settle(ctx, stream)
	all := []error{err, l.agree(ctx, r)}
	left := slices.Clone(r.nodes)
	for i := range l.cfg.Nodes {
		all = append(all, l.alone(i, func(c *client) error {
			limited, cancel := c.limit(ctx)
			defer cancel()
			if !c.connected(limited) {
				return nil // what it has is left
			}
			place := slices.Index(left, c.at())
			if len(l.cfg.Nodes) == 1 {
				place = 0
			}
			if place < 0 {
				return nil
			}
			left = slices.Delete(left, place, place+1)
			d := &drain{client: c, rest: r, key: key}
			err := d.run(ctx, (*drain).direct)
			if pinned {
				err = errors.Join(err, d.run(ctx, (*drain).pinned))
			}
			return err
		}))
	}
	for _, node := range left {
		err := fmt.Errorf("a replica of %s is at %s, and could not be read", stream, node)
		now := l.now()
		l.record(history.Operation{
			Process: l.cfg.FirstProcess, Node: node, Kind: history.Drained, Stream: stream, Sequence: r.last, Start: now, End: now, Error: textOf(err),
		})
		l.stalled("read "+stream+" at "+node, now, err)
		all = append(all, err)
	}
	return errors.Join(all...)
}

// drain is the reading of what one server has of a stream.
type drain struct {
	*client
	rest
	key      keyOf
	consumer string // through which it reads; "" for direct gets
}

// run reads in one way, and records what that has come to.
func (d *drain) run(ctx context.Context, read func(*drain, context.Context) error) error {
	d.consumer = ""
	o := d.begin(history.Operation{Kind: history.Drained, Stream: d.stream, Sequence: d.last})
	start := o.Start
	err := read(d, ctx)
	if err != nil {
		err = fmt.Errorf("read all of %s at %s: %w", d.stream, d.at(), err)
		d.load.stalled("read "+d.stream+" at "+d.at(), start, err)
	}
	o.Start = d.load.now() // the messages are operations of this process too
	o.Consumer = d.consumer
	d.end(o, err)
	return err
}

// note records a message.
func (d *drain) note(subject string, sequence uint64, header nats.Header, data []byte) {
	o := d.begin(history.Operation{Kind: history.Final, Stream: d.stream, Consumer: d.consumer, Key: d.key(subject), Sequence: sequence})
	if header.Get(bucketOperation) == "" { // otherwise it is a deletion
		o.Value = parseBody(data)
	}
	d.end(o, nil)
}

// direct reads page by page with direct gets.
func (d *drain) direct(ctx context.Context) error {
	next := uint64(1)
	for {
		more := false
		err := d.try(ctx, "direct gets", func(ctx context.Context) (err error) {
			more, err = d.page(ctx, &next)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// page reads what comes from next on, and moves that on as far as it gets.
func (d *drain) page(ctx context.Context, next *uint64) (more bool, err error) {
	pending, err := d.get(ctx, directGet{*next, pageMessages, pageBytes}, func(sequence uint64, m *nats.Msg) {
		if sequence >= *next {
			d.note(m.Header.Get(jetstream.SubjectHeader), sequence, m.Header, m.Data)
			*next = sequence + 1
		}
	})
	return pending > 0, err
}

// directGet asks for what comes from a sequence on.
type directGet struct {
	Sequence uint64 `json:"seq"`
	Batch    int    `json:"batch"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// get asks for messages, and returns how many there are after them.
func (d *drain) get(ctx context.Context, g directGet, see func(sequence uint64, m *nats.Msg)) (pending uint64, err error) {
	request, err := json.Marshal(g)
	if err != nil {
		return 0, err
	}
	sub, err := d.nc.SubscribeSync(d.nc.NewInbox())
	if err != nil {
		return 0, err
	}
	defer func() { _ = sub.Unsubscribe() }() // it only fails with its connection
	if err := d.nc.PublishRequest("$JS.API.DIRECT.GET."+d.stream, sub.Subject, request); err != nil {
		return 0, err
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return 0, err
		}
		switch status := m.Header.Get("Status"); status {
		case "":
			sequence, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("a direct get was answered without a sequence: %w", err)
			}
			see(sequence, m)
		case "204":
			return strconv.ParseUint(m.Header.Get("Nats-Num-Pending"), 10, 64)
		case "404":
			return 0, nil
		default:
			return 0, fmt.Errorf("a direct get was answered with %s %s", status, m.Header.Get("Description"))
		}
	}
}

// pinned reads through a consumer that is led by the client's server.
func (d *drain) pinned(ctx context.Context) (err error) {
	d.consumer = "final-" + d.at()
	for attempt := range pinnedAttempts {
		if err = d.through(ctx, fmt.Sprintf("%s-%d", d.consumer, attempt+1)); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// through reads through one consumer from the beginning to the end. It fails when that was led elsewhere, or when a message got
// lost on its way: nothing is delivered twice. What was delivered becomes part of the history only when the consumer is still led
// here afterwards.
func (d *drain) through(ctx context.Context, name string) error {
	var consumer jetstream.Consumer
	err := d.try(ctx, "create a consumer", func(ctx context.Context) (err error) {
		consumer, err = d.js.CreateOrUpdateConsumer(ctx, d.stream, jetstream.ConsumerConfig{
			Durable: name, AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverAllPolicy, InactiveThreshold: 10 * time.Minute,
		})
		return err
	})
	if err != nil {
		return err
	}
	defer d.forget(name)
	if err := d.lead(ctx, consumer, name); err != nil {
		return err
	}
	var page []jetstream.Msg
	delivered, pending := uint64(0), uint64(1)
	for {
		info, err := d.info(ctx, consumer)
		if err != nil {
			return err
		}
		if !d.leads(info) {
			return fmt.Errorf("%s is led by another server meanwhile", name)
		}
		for _, m := range page {
			if err := d.take(m); err != nil {
				return err
			}
		}
		// What the consumer's information says of deliveries may be old. Only of one that has delivered nothing it tells whether there is
		// nothing.
		if pending == 0 || delivered == 0 && info.Delivered.Consumer == 0 && info.NumPending == 0 {
			return nil
		}
		if page, pending, err = d.fetch(consumer, delivered); err != nil {
			return err
		}
		delivered += uint64(len(page))
	}
}

// fetch gets some messages that come after what was delivered before, and how many are pending after them.
func (d *drain) fetch(consumer jetstream.Consumer, delivered uint64) (page []jetstream.Msg, pending uint64, err error) {
	batch, err := consumer.Fetch(pageMessages, jetstream.FetchMaxWait(2*time.Second), jetstream.FetchHeartbeat(500*time.Millisecond))
	if err != nil {
		return nil, 0, err
	}
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return nil, 0, err
		}
		delivered++
		if meta.Sequence.Consumer != delivered {
			return nil, 0, fmt.Errorf("delivery %d came where %d was due", meta.Sequence.Consumer, delivered)
		}
		page = append(page, m)
		if pending = meta.NumPending; pending == 0 {
			break // the rest of the batch would have to be waited for
		}
	}
	if len(page) == 0 {
		return nil, 0, errors.Join(errors.New("nothing is delivered, though there is more"), batch.Error())
	}
	return page, pending, nil
}

// take records a message of the consumer.
func (d *drain) take(m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err == nil {
		d.note(m.Subject(), meta.Sequence.Stream, m.Headers(), m.Data())
	}
	return err
}

// forget deletes the consumer. If that fails it goes by itself.
func (d *drain) forget(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), d.load.cfg.CallTimeout)
	defer cancel()
	_ = d.js.DeleteConsumer(ctx, d.stream, name)
}

func (d *drain) info(ctx context.Context, consumer jetstream.Consumer) (info *jetstream.ConsumerInfo, err error) {
	err = d.try(ctx, "ask about a consumer", func(ctx context.Context) error {
		info, err = consumer.Info(ctx)
		return err
	})
	return info, err
}

// leads tells whether a consumer is led by the client's server.
func (d *drain) leads(info *jetstream.ConsumerInfo) bool {
	return len(d.load.cfg.Nodes) == 1 || info.Cluster != nil && info.Cluster.Leader == d.at()
}

// lead has the client's server lead a consumer.
func (d *drain) lead(ctx context.Context, consumer jetstream.Consumer, name string) error {
	ctx, cancel := context.WithTimeout(ctx, leadTimeout)
	defer cancel()
	request, err := json.Marshal(map[string]any{"placement": map[string]string{"preferred": d.at()}})
	if err != nil {
		return err
	}
	return d.try(ctx, "move the leader of a consumer", func(ctx context.Context) error {
		info, err := consumer.Info(ctx)
		if err != nil || d.leads(info) {
			return err
		}
		m, err := d.nc.RequestWithContext(ctx, "$JS.API.CONSUMER.LEADER.STEPDOWN."+d.stream+"."+name, request)
		if err != nil {
			return err
		}
		leader := "nobody"
		if info.Cluster != nil {
			leader = info.Cluster.Leader
		}
		return fmt.Errorf("it is led by %s, who answered %.200s", leader, m.Data)
	})
}
