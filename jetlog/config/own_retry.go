package config

import "runnel/jetlog/retry"

// MetadataRetry is the key of a consumer's metadata that says when what failed comes again; see package retry.
const MetadataRetry = "runnel.retry"

// ownRetry reads what is said of retries.
func (c *Consumer) ownRetry(own *Own) error {
	text, asked := c.Metadata[MetadataRetry]
	if !asked {
		return nil
	}
	policy, err := retry.Parse(text)
	switch {
	case err != nil:
		return refuseOwn(MetadataRetry, "cannot be followed: "+err.Error())
	case c.Ack != AckExplicit:
		return refuseOwn(MetadataRetry, "needs ack_policy explicit")
	case len(c.Backoff) > 0:
		return refuseOwn(MetadataRetry, "and backoff say the same thing: leave one of them out")
	}
	own.Retry = &policy
	return nil
}
