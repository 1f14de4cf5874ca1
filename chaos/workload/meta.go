package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// metaLoad is W10. What a stream or consumer is configured as is marked by its description, which is a value. Messages are published
// to the streams too: a stream that is created anew must not have those of the one before. One stream is never
// deleted, and must keep what it has.
type metaLoad struct{ *load }

const (
	metaPrefix   = "W10-"
	metaSubjects = "w10."
)

func openMeta(l *load) part { return &metaLoad{l} }

// setup makes the stream that stays. That is an operation like those of the run, since it is listed like any other stream.
func (w *metaLoad) setup(ctx context.Context) error {
	return w.anywhere(ctx, func(c *client) error {
		value := c.value()
		cfg := w.described(KeptStream, value)
		return c.try(ctx, "create stream "+cfg.Name, func(ctx context.Context) error {
			return c.do(ctx, history.Operation{Kind: history.CreateStream, Stream: cfg.Name, Value: value}, func(ctx context.Context, _ *history.Operation) error {
				_, err := c.js.CreateStream(ctx, cfg)
				return err
			})
		})
	})
}

// described is the configuration of a stream that a value marks.
func (w *metaLoad) described(name, value string) jetstream.StreamConfig {
	cfg := w.stream(name, metaSubjects+name+".>")
	cfg.Description = value
	return cfg
}

func (w *metaLoad) run(ctx context.Context) error {
	return w.work(ctx, w.cfg.Processes, func(ctx context.Context, c *client) {
		for c.next(ctx) {
			w.act(ctx, c)
		}
	})
}

// act does one thing to one of the names.
func (w *metaLoad) act(ctx context.Context, c *client) {
	stream := fmt.Sprintf("%s%d", metaPrefix, c.chance.IntN(w.cfg.Keys))
	o := history.Operation{Stream: stream, Value: c.value()}
	consumer := fmt.Sprintf("c%d", c.chance.IntN(2))
	settings := jetstream.ConsumerConfig{Durable: consumer, Description: o.Value, AckPolicy: jetstream.AckExplicitPolicy}
	var call func(context.Context) error
	switch what := c.chance.IntN(20); {
	case what < 4:
		o.Kind = history.CreateStream
		call = func(ctx context.Context) error { return second(c.js.CreateStream(ctx, w.described(stream, o.Value))) }
	case what < 6:
		o.Kind = history.UpdateStream
		call = func(ctx context.Context) error { return second(c.js.UpdateStream(ctx, w.described(stream, o.Value))) }
	case what < 8:
		o.Kind, o.Value = history.DeleteStream, ""
		call = func(ctx context.Context) error { return c.js.DeleteStream(ctx, stream) }
	case what < 11:
		o.Kind, o.Consumer = history.CreateConsumer, consumer
		call = func(ctx context.Context) error { return second(c.js.CreateConsumer(ctx, stream, settings)) }
	case what < 12:
		o.Kind, o.Consumer = history.UpdateConsumer, consumer
		call = func(ctx context.Context) error { return second(c.js.UpdateConsumer(ctx, stream, settings)) }
	case what < 13:
		o.Kind, o.Consumer, o.Value = history.DeleteConsumer, consumer, ""
		call = func(ctx context.Context) error { return c.js.DeleteConsumer(ctx, stream, consumer) }
	case what < 17:
		w.publish(ctx, c, stream)
		return
	default:
		w.publish(ctx, c, KeptStream)
		return
	}
	_ = c.do(ctx, o, func(ctx context.Context, _ *history.Operation) error { return call(ctx) })
}

// publish stores a value in a stream, if there is one of that name.
func (w *metaLoad) publish(ctx context.Context, c *client, stream string) {
	to := metaSubjects + stream + ".m"
	_, _ = c.publish(ctx, history.Operation{Kind: history.Publish, Stream: stream, Key: to, Value: c.value()}, to, nil)
}

// second is the error of a call.
func second[T any](_ T, err error) error { return err }

// finish asks each server what there is, and reads the streams that the last one names.
func (w *metaLoad) finish(ctx context.Context) error {
	var all []error
	var there []string
	for i, n := range w.cfg.Nodes {
		start := w.now()
		err := w.alone(i, func(c *client) error {
			var names []string
			err := c.try(ctx, "list streams and consumers", func(ctx context.Context) (err error) {
				names, err = c.list(ctx)
				return err
			})
			c.end(c.begin(history.Operation{Kind: history.Listed}), err)
			there = names
			return err
		})
		if err != nil {
			w.stalled("list at "+n.Name, start, err)
			all = append(all, err)
		}
	}
	for _, name := range there {
		all = append(all, w.finals(ctx, name, subjectKey, name == KeptStream))
	}
	return errors.Join(all...)
}

// allOf fails if there are streams of the load besides some: a list leaves out what no server has told of in time, and says so, but the
// client library does not tell.
func (c *client) allOf(ctx context.Context, names []string) error {
	all := c.js.StreamNames(ctx)
	var missing []string
	for name := range all.Name() {
		if strings.HasPrefix(name, metaPrefix) && !slices.Contains(names, name) {
			missing = append(missing, name)
		}
	}
	if err := all.Err(); err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("nothing is told of streams %q", missing)
	}
	return nil
}

// list records which streams and consumers of the load there are, by what the client's server says, and returns the streams.
// Nothing is recorded of a listing that fails half-way.
func (c *client) list(ctx context.Context) (names []string, err error) {
	var found []history.Operation
	streams := c.js.ListStreams(ctx)
	for info := range streams.Info() {
		if !strings.HasPrefix(info.Config.Name, metaPrefix) {
			continue
		}
		names = append(names, info.Config.Name)
		found = append(found, history.Operation{Kind: history.Exists, Stream: info.Config.Name, Value: info.Config.Description})
	}
	if err := streams.Err(); err != nil {
		return nil, err
	}
	if err := c.allOf(ctx, names); err != nil {
		return nil, err
	}
	for _, name := range names {
		s, err := c.js.Stream(ctx, name)
		if err != nil {
			return nil, err
		}
		consumers := s.ListConsumers(ctx)
		for info := range consumers.Info() {
			found = append(found, history.Operation{Kind: history.Exists, Stream: name, Consumer: info.Name, Value: info.Config.Description})
		}
		if err := consumers.Err(); err != nil {
			return nil, err
		}
	}
	for _, o := range found {
		c.end(c.begin(o), nil)
	}
	return names, nil
}
