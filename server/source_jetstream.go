package server

import (
	"iter"

	"runnel/server/monitor"
)

// JetStream implements monitor.Source.
func (src source) JetStream() (monitor.JetStream, bool) { return monitor.JetStream{}, false }

// JetStreamAccounts implements monitor.Source.
func (src source) JetStreamAccounts() []monitor.JetStreamAccount { return nil }

// JetStreamStreams implements monitor.Source.
func (src source) JetStreamStreams(string, monitor.StreamQuery) iter.Seq[monitor.StreamDetail] {
	return func(func(monitor.StreamDetail) bool) {}
}
