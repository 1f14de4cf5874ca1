package events

import (
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
)

// SnapshotCreated tells that a backup has begun that somebody has asked for.
func (e *Events) SnapshotCreated(a *accounts.Account, stream string, by *engine.Conn, state *api.StreamState) {
	e.Tell(a, &api.SnapshotCreated{Stream: stream, State: *state, Client: e.client(by), Domain: e.cfg.Domain})
}

// SnapshotComplete tells that a backup has ended, and why if it was before its end.
func (e *Events) SnapshotComplete(a *accounts.Account, stream string, by *engine.Conn, start time.Time, err error) {
	e.Tell(a, &api.SnapshotComplete{
		Stream: stream, Start: start, End: e.cfg.Clock().UTC(), Error: reasonOf(err), Client: e.client(by), Domain: e.cfg.Domain,
	})
}

// RestoreCreated tells that a restore has begun.
func (e *Events) RestoreCreated(a *accounts.Account, stream string, by *engine.Conn) {
	e.Tell(a, &api.RestoreCreated{Stream: stream, Client: e.client(by), Domain: e.cfg.Domain})
}

// RestoreComplete tells that a restore has ended, how many bytes came, and why if nothing has come of it.
func (e *Events) RestoreComplete(a *accounts.Account, stream string, by *engine.Conn, start time.Time, bytes int64, err error) {
	e.Tell(a, &api.RestoreComplete{
		Stream: stream, Start: start, End: e.cfg.Clock().UTC(), Bytes: bytes, Error: reasonOf(err),
		Client: e.client(by), Domain: e.cfg.Domain,
	})
}

// reasonOf is an error as an event has it, empty for none.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
