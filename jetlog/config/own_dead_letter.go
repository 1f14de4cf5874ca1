package config

// MetadataDeadLetter is the key of a consumer's metadata that names the stream, of the same account, that gets what the
// consumer gives up.
const MetadataDeadLetter = "runnel.dead_letter"

// ownDeadLetter reads what is said of dead letters. Whether there is such a stream is for who knows all streams.
func (c *Consumer) ownDeadLetter(own *Own) error {
	name, asked := c.Metadata[MetadataDeadLetter]
	switch {
	case !asked:
		return nil
	case !validName(name) || hasPathSeparator(name):
		return refuseOwn(MetadataDeadLetter, "needs the name of a stream that gets what the consumer gives up")
	case c.Ack != AckExplicit:
		return refuseOwn(MetadataDeadLetter, "needs ack_policy explicit")
	case own.Blocks:
		return refuseOwn(MetadataDeadLetter, "takes away what "+MetadataKeyFailed+" block keeps in its place: leave one of them out")
	}
	own.DeadLetter = name
	return nil
}
