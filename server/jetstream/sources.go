package jetstream

import (
	"bytes"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/sourcing"
)

// newSourcing returns what has the mirrors and sources of the service's streams.
func newSourcing(cfg *Config) *sourcing.Sourcing {
	return sourcing.New(sourcing.Config{
		Subscribe: func(a *accounts.Account, subject string, handler func(*engine.Message)) func() {
			return cfg.Engine.Subscribe(a, subject, "", handler).Unsubscribe
		},
		Publish: cfg.Engine.Publish,
		Logger:  cfg.Logger,
	})
}

// configOf returns the configuration of a stream, nil if there is none of that name.
func (a *account) configOf(name string) *config.Stream {
	if c := a.service.cluster; c != nil {
		if s, ok := c.Stream(a.account.Name(), name); ok {
			return &s.Config
		}
		return nil
	}
	if t := a.stream(name); t != nil {
		return t.config()
	}
	return nil
}

// checkSources refuses a mirror or sources that cannot work next to the other streams of the account.
func (a *account) checkSources(cfg *config.Stream) error { return sourcing.Check(cfg, a.configOf) }

// inherit lets a mirror answer for its origin if that one lets its replicas answer.
func (a *account) inherit(cfg *config.Stream) {
	if cfg.Mirror == nil || cfg.Mirror.External != nil {
		return
	}
	if origin := a.configOf(cfg.Mirror.Name); origin != nil && origin.AllowDirect {
		cfg.MirrorDirect = true
	}
}

// copied is told of each message that came from another stream, once it is stored.
func (t *stream) copied(m jetlog.Message, result jetlog.Result) {
	if t.config().Republish != nil {
		t.ingest.Announce(m, result)
		return
	}
	t.stored(m.Subject, m.Sequence)
}

// identity tells the stream from others that have or had its name.
func (t *stream) identity() (id string) {
	_ = t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error { // one that has gone has none
		id = sourcing.Identity(state.ID(), state.Created())
		return nil
	})
	return id
}

// identify gives the answer the stream's identity, and refuses a mirror or source that has known another one.
func (r *request) identify(t *stream) error {
	known, asked := headers.Get(r.message.Header, sourcing.IdentityHeader)
	if !asked && !bytes.HasPrefix(r.message.Reply, []byte(sourcing.ReplyPrefix)) {
		return nil
	}
	id := t.identity()
	r.header = headers.Build(headers.Field{Name: sourcing.IdentityHeader, Value: id})
	if len(known) > 0 && string(known) != id {
		return api.NewError(api.IdentityMismatch, "stream "+t.log.Name()+" was made anew")
	}
	return nil
}

// forSourcing makes the consumer that a mirror or source asks for one that fits the stream.
func (r *request) forSourcing(t *stream, cfg *config.Consumer) error {
	if err := r.identify(t); err != nil {
		return err
	}
	if t.config().Retention == config.LimitsRetention {
		cfg.Name += "-" + sourcing.Token()
		return nil
	}
	// Here a message goes when it is acknowledged: by flow control, once it is stored where it is copied to.
	cfg.Durable, cfg.Direct = cfg.Name, false
	cfg.Ack, cfg.AckWait, cfg.MaxDeliver, cfg.Inactive = config.AckFlowControl, 0, 0, 0
	return t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		if c := state.Consumer(cfg.Name); c != nil {
			old := c.Common()
			cfg.Deliver, cfg.StartSequence, cfg.StartTime = old.Deliver, old.StartSequence, old.StartTime
		}
		return nil
	})
}

// resume has a consumer that was there deliver again what was not acknowledged.
func (t *stream) resume(consumer string) error {
	result, err := t.propose(&command.Reset{Time: t.account.service.now(), Consumer: consumer})
	switch {
	case err != nil:
		return err
	case result.Code != 0:
		return api.NewError(result.Code, result.Detail)
	}
	t.deliver.Update(consumer)
	return nil
}
