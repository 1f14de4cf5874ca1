package config

import "runnel/jetlog/breaker"

// MetadataBreaker is the key of a consumer's metadata that says when it is paused since most of what is tried fails; see package
// breaker.
const MetadataBreaker = "runnel.breaker"

// ownBreaker reads what is said of pauses.
func (c *Consumer) ownBreaker(own *Own) error {
	text, asked := c.Metadata[MetadataBreaker]
	if !asked {
		return nil
	}
	policy, err := breaker.Parse(text)
	switch {
	case err != nil:
		return refuseOwn(MetadataBreaker, "cannot be followed: "+err.Error())
	case c.Ack != AckExplicit:
		return refuseOwn(MetadataBreaker, "needs ack_policy explicit: only then it is known of each message whether it was processed")
	}
	own.Breaker = &policy
	return nil
}
