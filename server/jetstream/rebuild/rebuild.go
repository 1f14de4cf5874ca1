// Package rebuild makes a stream of a backup.
//
// The stream is made in the store under its own name, by commands like those of every other stream, so that what is done is
// logged, limited and synced as usual, and replicated where streams are. Two things keep it apart until it is whole: it
// has no subjects, so it captures nothing; and its configuration has a mark, by which whoever serves streams knows not to
// serve this one. The last command takes the mark away and sets subjects and limits, in one: before it there is no stream
// for anybody, after it all of it, whenever the server dies.
package rebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/due"
	"runnel/jetlog/producers"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/backup"
)

// key marks, in the metadata of its configuration, a stream that is being restored. Clients cannot set it.
const key = "_runnel.restoring"

// Restoring tells whether a configuration is that of a stream that is not whole.
func Restoring(cfg *config.Stream) bool { return cfg.Metadata[key] != "" }

// Unmark takes the mark from a configuration that a client has sent.
func Unmark(cfg *config.Stream) { delete(cfg.Metadata, key) }

const (
	// copiedMessages and copiedBytes are how much one command brings.
	copiedMessages, copiedBytes = 512, 1 << 20
)

// pendingMost bounds what waits for an answer in all consumers of a stream that is restored.
const pendingMost = 4 << 20

// Log is a stream as its rebuilding needs it; *store.Stream is one.
type Log interface {
	// Propose carries a command out.
	Propose(ctx context.Context, c command.Command) (jetlog.Result, error)
}

// Config says what is rebuilt within which limits. All of it is required.
type Config struct {
	Log   Log            // with the configuration that Staged returns, and nothing in it
	Final *config.Stream // that the stream is to have when it is whole
	Now   func() int64   // in nanoseconds since 1970
	Level int            // of commands that may be proposed
	// Admit says why so many bytes more have no room, nil if they have. Stored is called when they are there.
	Admit  func(bytes int) *api.Error
	Stored func()
	// MaxConsumers returns how many consumers the stream may have, 0 for any number, and Limits those of a consumer.
	MaxConsumers func() (int, error)
	Limits       config.Limits
}

// rebuilding is a stream that is being restored.
type rebuilding struct {
	Config
	ctx context.Context

	state backup.State
	// consumers come before the messages in one form of a backup and after them in the other. They are made when
	// all messages are there, since what waits for an answer is held against those.
	consumers []*backup.Consumer
	waiting   int    // deliveries that wait in the consumers
	messages  uint64 // that are stored
	last      uint64 // sequence that the stream has come to
	// batch is what the next command brings, with so many bytes.
	batch []command.Copied
	bytes int
}

// Staged returns the configuration that a stream has until it is whole.
func Staged(final *config.Stream) config.Stream {
	// Nothing may be removed while messages come in: not by limits, which count from the newest message, nor by age,
	// which would go by the time of the restore, nor by rollups, which were carried out when the messages were new. A
	// sealed stream takes nothing, and what is republished was so before.
	cfg := *final
	if cfg.Retention == config.InterestRetention {
		cfg.Retention = config.LimitsRetention // until the consumers are there
	}
	cfg.Subjects, cfg.Republish, cfg.Sealed, cfg.AllowRollup = nil, nil, false, false
	cfg.MaxMessages, cfg.MaxBytes, cfg.MaxPerSubject, cfg.MaxAge, cfg.FirstSequence, cfg.MarkerTTL = -1, -1, -1, 0, 0, 0
	cfg.Discard = config.DiscardOld
	cfg.Metadata = maps.Clone(final.Metadata)
	cfg.Metadata[key] = "true"
	return cfg
}

// Run makes the stream whole with what a backup has, or returns why it cannot.
func Run(ctx context.Context, cfg Config, in *backup.Reader) error {
	b := &rebuilding{Config: cfg, ctx: ctx}
	return b.run(in)
}

// run reads the backup to its end and makes the stream whole.
func (b *rebuilding) run(in *backup.Reader) error {
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch {
		case e.State != nil:
			b.state = *e.State
		case e.Consumer != nil:
			err = b.keep(e.Consumer)
		case e.Message != nil:
			err = b.add(e.Message)
		}
		if err != nil {
			return err
		}
	}
	if err := b.flush(); err != nil {
		return err
	}
	return b.finish()
}

// keep holds a consumer until all messages are there.
func (b *rebuilding) keep(c *backup.Consumer) error {
	if c.Config.Direct || c.Config.Sourcing {
		return nil // a mirror or source makes its own
	}
	b.consumers = append(b.consumers, c)
	b.waiting += len(c.State.Pending) + len(c.State.Redelivered)
	most, err := b.MaxConsumers()
	switch {
	case err != nil:
		return err
	case most > 0 && len(b.consumers) > most:
		return api.NewError(config.MaximumConsumers)
	case b.waiting > pendingMost:
		return fmt.Errorf("%w: more than %d messages wait for an answer", backup.ErrTooLarge, pendingMost)
	}
	return nil
}

// add takes a message; those before it are stored when they are enough for a command.
func (b *rebuilding) add(m *jetlog.Message) error {
	c := command.Copied{Sequence: m.Sequence, Time: m.Time, Subject: m.Subject, Header: m.Header, Payload: m.Payload}
	if b.Final.AllowSchedules {
		c.Fire = due.FirstFire(m.Header, b.Now())
	}
	b.batch = append(b.batch, c)
	b.bytes += len(m.Subject) + len(m.Header) + len(m.Payload)
	if len(b.batch) < copiedMessages && b.bytes < copiedBytes {
		return nil
	}
	return b.flush()
}

// flush stores what was taken.
func (b *rebuilding) flush() error {
	if len(b.batch) == 0 {
		return nil
	}
	if err := b.Admit(b.bytes); err != nil {
		return err
	}
	c := &command.Copy{Time: b.Now(), From: b.last + 1, Messages: b.batch}
	r, err := b.propose(c)
	if err != nil {
		return err
	}
	if r.Count != len(b.batch) {
		return fmt.Errorf("%d of %d messages were stored, up to %d", r.Count, len(b.batch), r.Sequence)
	}
	b.Stored()
	b.messages += uint64(len(b.batch))
	b.last = b.batch[len(b.batch)-1].Sequence
	b.batch, b.bytes = nil, 0 // the stream keeps what the command had
	return nil
}

// propose carries a command out; a refusal is an error.
func (b *rebuilding) propose(c command.Command) (jetlog.Result, error) {
	r, err := b.Log.Propose(b.ctx, c)
	for err == nil && r.Code == 0 && r.More {
		r, err = b.Log.Propose(b.ctx, &command.Continue{Time: b.Now()})
	}
	if err == nil && r.Code != 0 {
		return r, api.NewError(r.Code, r.Detail)
	}
	return r, err
}

// finish moves the stream to where the other was, makes the consumers, and gives it its configuration: from there
// on it is whole.
func (b *rebuilding) finish() error {
	now := b.Now()
	if through := b.state.LastSequence; through > b.last {
		// The last message has gone, and is known by its time only, which may not be ahead of ours.
		at := min(max(jetlog.Nanoseconds(b.state.LastTime), 0), now)
		if _, err := b.propose(&command.Copy{Time: at, From: b.last + 1, Through: through}); err != nil {
			return err
		}
	}
	if err := b.restoreProducers(); err != nil {
		return err
	}
	if b.Final.Retention == config.InterestRetention && len(b.consumers) == 0 && b.messages > 0 {
		return errors.New("the backup has no consumers, and a stream with interest retention keeps nothing without: " +
			"restore it with retention limits in its configuration")
	}
	most, err := b.MaxConsumers()
	if err != nil {
		return err
	}
	for _, c := range b.consumers {
		if err := b.restoreConsumer(c, most); err != nil {
			return fmt.Errorf("consumer %q: %w", c.Config.Name, err)
		}
	}
	_, err = b.propose(&command.Configure{Time: now, Config: *b.Final})
	return err
}

// producersAtOnce is how many producers one command brings.
const producersAtOnce = 1024

// restoreProducers lets the stream know how far those were who number what they publish: what they publish again is not to be stored
// again.
func (b *rebuilding) restoreProducers() error {
	if len(b.state.Producers) > 0 && b.Level < command.KindProducers.Level() {
		return api.NewError(api.LevelTooLow, "the producers of a backup")
	}
	for list := range slices.Chunk(b.state.Producers, producersAtOnce) {
		c := &command.Producers{Time: b.Now(), Set: make([]command.Producer, len(list))}
		for i, p := range list {
			c.Set[i] = command.Producer{Name: p.Name, Mark: producers.Mark{Number: p.Number, Sequence: p.Sequence}}
		}
		if _, err := b.propose(c); err != nil {
			return fmt.Errorf("producers: %w", err)
		}
	}
	return nil
}

// restoreConsumer makes a consumer. Its configuration goes through the same rules as that of a new one, since the
// backup may be of a server with others.
func (b *rebuilding) restoreConsumer(c *backup.Consumer, most int) error {
	cfg, err := c.Config.Normalized(b.Final, b.Limits, false)
	if err != nil {
		return err
	}
	api.PersistConsumer(&cfg)
	c.Config = cfg
	restore, err := c.Restore()
	if err != nil {
		return err
	}
	restore.Time, restore.Max = b.Now(), uint64(most)
	_, err = b.propose(restore)
	return err
}
