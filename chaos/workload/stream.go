package workload

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// stream is the configuration of a stream of the load.
func (l *load) stream(name string, subjects ...string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: subjects, Replicas: l.cfg.Replicas, Storage: jetstream.FileStorage, AllowDirect: true, Duplicates: DuplicateWindow,
	}
}

// create creates a stream that the load needs before it can begin.
func (l *load) create(ctx context.Context, cfg jetstream.StreamConfig) error {
	return l.anywhere(ctx, func(c *client) error {
		return c.try(ctx, "create stream "+cfg.Name, func(ctx context.Context) error {
			_, err := c.js.CreateStream(ctx, cfg)
			return err
		})
	})
}

// createConsumer creates a consumer that the load needs before it can begin.
func (l *load) createConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) error {
	return l.anywhere(ctx, func(c *client) error {
		return c.try(ctx, "create consumer "+cfg.Durable, func(ctx context.Context) error {
			_, err := c.js.CreateOrUpdateConsumer(ctx, stream, cfg)
			return err
		})
	})
}

// deleteConsumer deletes a consumer that the load does not need.
func (l *load) deleteConsumer(ctx context.Context, stream, name string) error {
	return l.anywhere(ctx, func(c *client) error {
		return c.try(ctx, "delete consumer "+name, func(ctx context.Context) error {
			if err := c.js.DeleteConsumer(ctx, stream, name); !errors.Is(err, jetstream.ErrConsumerNotFound) {
				return err
			}
			return nil
		})
	})
}

// writer publishes new values to the subjects of a stream, for as long as there is work.
func writer(stream string, subject func(*client) string) func(context.Context, *client) {
	return func(ctx context.Context, c *client) {
		for c.next(ctx) {
			to := subject(c)
			o := history.Operation{Kind: history.Publish, Stream: stream, Key: to, Value: c.value()}
			_, _ = c.publish(ctx, o, to, nil) // what came of it is in the history
		}
	}
}
