package config

import "runnel/jetlog/content"

// The keys of a consumer's metadata that say which of the messages that the subject filter matches it gets, and what becomes of
// those whose body would decide and is not JSON; see package content.
const (
	MetadataFilter       = "runnel.filter"
	MetadataFilterFailed = "runnel.filter_failed"
)

// The values of MetadataFilterFailed: skip, the default, takes such a message for one that does not match; dead_letter takes
// it for one that has failed.
const (
	filterFailedSkip = "skip"
	filterFailedDead = "dead_letter"
)

// ownFilter reads what is said of the content filter.
func (c *Consumer) ownFilter(own *Own) error {
	text, asked := c.Metadata[MetadataFilter]
	failed, says := c.Metadata[MetadataFilterFailed]
	if says && !asked {
		return refuseOwn(MetadataFilterFailed, "says what becomes of messages that "+MetadataFilter+" cannot decide about: set that too, or leave this out")
	}
	if !asked {
		return nil
	}
	filter, err := content.Compile(text)
	if err != nil {
		return refuseOwn(MetadataFilter, "cannot be followed: "+err.Error())
	}
	own.Filter = filter
	switch {
	case !says || failed == filterFailedSkip:
	case failed != filterFailedDead:
		return refuseOwn(MetadataFilterFailed, "is "+filterFailedSkip+" or "+filterFailedDead)
	case c.Metadata[MetadataDeadLetter] == "":
		return refuseOwn(MetadataFilterFailed, "is "+filterFailedDead+", which needs "+MetadataDeadLetter+": it says where such messages go")
	default:
		own.FilterFails = true
	}
	return nil
}
