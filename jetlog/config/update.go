package config

import (
	"slices"
)

// CheckUpdate returns why a stream may not change from one configuration to another, both
// normalised, as an *Error.
func CheckUpdate(old, next *Stream) error {
	const cannot = "stream configuration update can not "
	switch {
	case old.Name != next.Name:
		return invalid(cannot + "change stream name")
	case old.Storage != next.Storage:
		return invalid(cannot + "change storage type")
	case old.Retention != next.Retention && (old.Retention == WorkQueueRetention || next.Retention == WorkQueueRetention):
		return invalid(cannot + "change retention policy to/from workqueue")
	case old.Sealed && !next.Sealed:
		return invalid(cannot + "unseal a sealed stream")
	case old.DenyDelete && !next.DenyDelete:
		return invalid(cannot + "cancel deny message deletes")
	case old.DenyPurge && !next.DenyPurge:
		return invalid(cannot + "cancel deny purge")
	case old.AllowTTL && !next.AllowTTL:
		return invalid("message TTL status can not be disabled")
	case old.AllowSchedules && !next.AllowSchedules:
		return invalid("message schedules can not be disabled")
	case old.AllowCounter != next.AllowCounter:
		return invalid(cannot + "change message counter setting")
	case old.Persist != next.Persist:
		return invalid(cannot + "change persist mode")
	case old.Metadata[MetadataDelayed] != next.Metadata[MetadataDelayed]:
		return invalid("metadata " + MetadataDelayed + " is the server's, which keeps in such a stream what is published later: leave it as it is")
	case next.Mirror != nil && !sameSource(old.Mirror, next.Mirror):
		return refuse(MirrorUpdateRefused)
	}
	return nil
}

// CheckConsumerUpdate returns why a consumer may not change from one configuration to another, both
// normalised, as an *Error.
func CheckConsumerUpdate(old, next *Consumer) error {
	cannot := func(what string) error { return refuseWith(ConsumerUpdateRefused, what+" can not be updated") }
	sameTime := old.StartTime == next.StartTime ||
		old.StartTime != nil && next.StartTime != nil && old.StartTime.Equal(*next.StartTime)
	switch {
	case old.Deliver != next.Deliver:
		return cannot("deliver policy")
	case old.StartSequence != next.StartSequence:
		return cannot("start sequence")
	case !sameTime:
		return cannot("start time")
	case old.Ack != next.Ack:
		return cannot("ack policy")
	case old.Replay != next.Replay:
		return cannot("replay policy")
	case old.Heartbeat != next.Heartbeat:
		return cannot("heart beats")
	case old.FlowControl != next.FlowControl:
		return cannot("flow control")
	case old.MaxWaiting != next.MaxWaiting:
		return cannot("max waiting")
	case old.Memory != next.Memory:
		return cannot("storage type")
	case old.Push() && !next.Push():
		return refuseWith(ConsumerUpdateRefused, "can not update push consumer to pull based")
	case !old.Push() && next.Push():
		return refuseWith(ConsumerUpdateRefused, "can not update pull consumer to push based")
	}
	return nil
}

// sameSource reports whether two sources are the same stream, read from the same place.
func sameSource(a, b *Source) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.StartSequence == b.StartSequence && a.FilterSubject == b.FilterSubject &&
		slices.Equal(a.Transforms, b.Transforms)
}
