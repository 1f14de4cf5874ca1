package jetstream

import (
	"errors"

	"runnel/jetlog"
	"runnel/jetlog/store"
	"runnel/server/jetstream/due"
)

// newKeeper returns what does in the stream what is due.
func (t *stream) newKeeper() *due.Keeper {
	s := t.account.service
	return due.New(due.Config{
		Log: t.log, Clock: t.clock, Propose: t.propose, Changed: t.changed, Failed: t.timedFailed, Go: s.running.Go,
		Fired: func(m jetlog.Message, result jetlog.Result) { t.ingest.Announce(m, result) },
	})
}

// timedFailed logs what went wrong when its time had come; it is false if the stream has ended here.
func (t *stream) timedFailed(what string, err error) bool {
	s := t.account.service
	if errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNotFound) || unled(err) || s.ctx.Err() != nil {
		return false
	}
	s.logger.Error(what+"; trying again later", "account", t.log.Account(), "stream", t.log.Name(), "error", err)
	return true
}
