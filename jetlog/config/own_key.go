package config

import "runnel/jetlog/keyed"

// The keys of a consumer's metadata that say what the key of a message is, of which at most one is in the hands of a worker for
// each key (see package keyed), and what becomes of the later messages of a key when one has failed for good.
const (
	MetadataKey       = "runnel.key"
	MetadataKeyFailed = "runnel.key_failed"
)

// The values of MetadataKeyFailed: skip, the default, goes on with the next message of the key; block holds the key until
// somebody acknowledges or deletes the message.
const (
	keyFailedSkip  = "skip"
	keyFailedBlock = "block"
)

// ownKey reads what is said of keys.
func (c *Consumer) ownKey(own *Own) error {
	text, asked := c.Metadata[MetadataKey]
	failed, says := c.Metadata[MetadataKeyFailed]
	if says && !asked {
		return refuseOwn(MetadataKeyFailed, "says what becomes of a key of "+MetadataKey+": set that too, or leave this out")
	}
	if !asked {
		return nil
	}
	key, err := keyed.Parse(text)
	switch {
	case err != nil:
		return refuseOwn(MetadataKey, "cannot be followed: "+err.Error())
	case c.Ack != AckExplicit:
		return refuseOwn(MetadataKey, "needs ack_policy explicit: the next message of a key comes when the one before it is acknowledged")
	case failed == keyFailedBlock && c.Metadata[MetadataDeadLetter] != "":
		return refuseOwn(MetadataKeyFailed, "is "+keyFailedBlock+", which leaves a failed message where it is, and "+MetadataDeadLetter+" takes it away: leave one of them out")
	case says && failed != keyFailedSkip && failed != keyFailedBlock:
		return refuseOwn(MetadataKeyFailed, "is "+keyFailedSkip+" or "+keyFailedBlock)
	}
	own.Key, own.Blocks = &key, failed == keyFailedBlock
	return nil
}
