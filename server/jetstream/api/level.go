package api

import (
	"maps"
	"strconv"

	"runnel/headers"
	"runnel/jetlog/config"
)

// Level is the level of the API that this server has: what clients may ask for.
const Level = 5

// LevelHeader is the header with the level that a request requires.
const LevelHeader = "Nats-Required-Api-Level"

// The members of metadata that are the server's.
const (
	metadataRequired = "_nats.req.level" // persisted: the level that the stream or consumer needs
	metadataVersion  = "_nats.ver"       // shown only
	metadataLevel    = "_nats.level"     // shown only
)

// LevelMet reports whether the level that the header of a request requires, if any, is one that this server has. A
// JSON request is refused with LevelRequired, a pull request and a direct get with StatusLevelRequired.
func LevelMet(header []byte) bool {
	value, ok := headers.Get(header, LevelHeader)
	if !ok {
		return true
	}
	level, err := strconv.Atoi(string(value))
	return err == nil && level <= Level
}

// StreamLevel returns the level that a server must have to run the stream.
func StreamLevel(c *config.Stream) int {
	switch {
	case c.AllowBatched:
		return 4
	case c.AllowCounter || c.AllowAtomic || c.AllowSchedules || c.Persist == config.PersistAsync:
		return 2
	case c.AllowTTL || c.MarkerTTL > 0:
		return 1
	}
	return 0
}

// ConsumerLevel returns the level that a server must have to run the consumer.
func ConsumerLevel(c *config.Consumer) int {
	switch {
	case c.Ack == config.AckFlowControl:
		return 4
	case c.PauseUntil != nil && !c.PauseUntil.IsZero(),
		c.PriorityPolicy != config.PriorityNone || len(c.PriorityGroups) > 0 || c.PriorityTimeout > 0:
		return 1
	}
	return 0
}

// PersistStream sets the metadata that is stored with the stream: what the client gave, without what is only shown,
// and the level it requires. The map that was there does not change.
func PersistStream(c *config.Stream) { c.Metadata = persisted(c.Metadata, StreamLevel(c)) }

// PersistConsumer is PersistStream for consumers.
func PersistConsumer(c *config.Consumer) { c.Metadata = persisted(c.Metadata, ConsumerLevel(c)) }

// persisted returns metadata as it is stored.
func persisted(m map[string]string, level int) map[string]string {
	out := make(map[string]string, len(m)+1)
	maps.Copy(out, m)
	delete(out, metadataVersion)
	delete(out, metadataLevel)
	out[metadataRequired] = strconv.Itoa(level)
	return out
}

// ShownStream returns a stream's configuration as answers show it: with the version of the server, as "2.15.2", and
// its level. Lists and backups show it as it is stored instead. It shares all but the metadata.
func ShownStream(c *config.Stream, version string) *config.Stream {
	shown := *c
	shown.Metadata = withServer(c.Metadata, version)
	return &shown
}

// ShownConsumer is ShownStream for consumers. The level it requires is the present one, since a consumer that rests
// requires another.
func ShownConsumer(c *config.Consumer, version string) *config.Consumer {
	shown := *c
	shown.Metadata = withServer(persisted(c.Metadata, ConsumerLevel(c)), version)
	return &shown
}

// withServer returns metadata with what is shown of the server.
func withServer(m map[string]string, version string) map[string]string {
	out := make(map[string]string, len(m)+2)
	maps.Copy(out, m)
	out[metadataVersion] = version
	out[metadataLevel] = strconv.Itoa(Level)
	return out
}
