// Package delays lets messages be published to any stream later: with a header that says how long from now, or when.
//
// What is delayed is kept in a stream of its own beside the target, its companion, which is made when it is first needed. There
// it is a message with a schedule, on a subject that nobody else has, so that the state of the companion knows when it is due, however
// many there are and whoever leads. What is due the companion publishes to itself, as any schedule does, and from there its leader puts it
// into the target (package handover), in order and under its sequence as number, and then removes it: so it gets there once.
//
// To cancel a delayed message is to delete it from the companion; List and Cancel do so for who knows the target only.
package delays

import (
	"reflect"
	"strings"
	"time"

	"runnel/headers"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// Names of companions begin with namePrefix, and their subjects with SubjectPrefix and the name of the target.
const (
	namePrefix    = "RUNNEL-DELAYED-"
	SubjectPrefix = "$RUNNEL.DELAYED."
	waitToken     = ".wait."
	dueToken      = ".due."
)

// The headers of a schedule.
const (
	scheduleHeader = "Nats-Schedule"
	targetHeader   = "Nats-Schedule-Target"
	schedulePrefix = "Nats-Schedule" // begins all of them
	atPrefix       = "@at "          // begins a time
)

// idHeader has the id that a publisher has given to a message. A schedule does not pass it on, so keptIDHeader has it too until the
// message is in its target: who consumes it may know what was processed by its id.
const (
	idHeader     = "Nats-Msg-Id"
	keptIDHeader = api.DelayedID
)

// delayMax is the longest delay.
const delayMax = 100 * 365 * 24 * time.Hour

// meant are headers that say something to the target at the moment at which a message is stored, which is not now.
var meant = [...]string{"Nats-Expected-", "Nats-Rollup", "Nats-TTL", "Nats-Incr", "Nats-Batch-", "Nats-Schedule", "Runnel-Producer"}

// When returns when a message with these headers is to be stored in its stream, and the headers without those that say so. At is
// zero for now.
func When(block []byte, now time.Time) (at time.Time, rest []byte, refusal *api.Error) {
	refuse := func(why string) (time.Time, []byte, *api.Error) {
		return time.Time{}, nil, api.NewError(api.DelayInvalid, why)
	}
	delay, delayed := headers.Get(block, api.DelayHeader)
	text, timed := headers.Get(block, api.DeliverAtHeader)
	rest = headers.Delete(headers.Delete(block, api.DelayHeader), api.DeliverAtHeader)
	switch {
	case delayed && timed:
		return refuse("Runnel-Delay and Runnel-Deliver-At say the same thing: leave one of them out")
	case delayed:
		d, err := time.ParseDuration(string(delay))
		if err != nil || d < 0 || d > delayMax {
			return refuse("Runnel-Delay is a time such as 30s or 1h30m, of 100 years at most")
		}
		at = now.Add(d)
	case timed:
		var err error
		if at, err = time.Parse(time.RFC3339, string(text)); err != nil || at.Sub(now) > delayMax {
			return refuse("Runnel-Deliver-At is a time such as 2026-12-24T18:00:00Z, within 100 years")
		}
	}
	if !at.After(now) {
		return time.Time{}, rest, nil
	}
	for name := range headers.All(rest) {
		for _, prefix := range meant {
			if strings.HasPrefix(string(name), prefix) {
				return refuse(string(name) + " means nothing to a message that is stored later")
			}
		}
	}
	return at, rest, nil
}

// Companion returns the name of the stream that keeps what is delayed for a target.
func Companion(target string) string { return namePrefix + target }

// Target is the reverse of Companion.
func Target(companion string) string { return strings.TrimPrefix(companion, namePrefix) }

// configOf returns the configuration of the companion of a target: on the same servers, and not subject to what limits the target.
func configOf(target *config.Stream) config.Stream {
	return config.Stream{
		Name: Companion(target.Name), Subjects: []string{SubjectPrefix + target.Name + ".>"}, Storage: target.Storage, Replicas: target.Replicas,
		Placement: target.Placement, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1, MaxMessageBytes: -1,
		DuplicateWindow: target.DuplicateWindow, AllowSchedules: true, AllowRollup: true, AllowDirect: true,
		Description: "what is published later to stream " + target.Name,
		Metadata:    map[string]string{config.MetadataDelayed: target.Name},
	}
}

// Follow returns the configuration of a companion, nil for none, when that of its target has changed; it is false if nothing differs. It has as many replicas, on
// the same kind of servers, and knows ids as long.
func Follow(companion, target *config.Stream) (follows config.Stream, differs bool) {
	if companion == nil || companion.Metadata[config.MetadataDelayed] != target.Name {
		return config.Stream{}, false
	}
	follows = *companion
	follows.Replicas, follows.Placement, follows.DuplicateWindow = target.Replicas, target.Placement, target.DuplicateWindow
	differs = follows.Replicas != companion.Replicas || follows.DuplicateWindow != companion.DuplicateWindow ||
		!reflect.DeepEqual(follows.Placement, companion.Placement)
	return follows, differs
}

// wrap returns a delayed message as its companion keeps it, under an id that no other message has.
func wrap(target, id, subject string, block []byte, at time.Time) (string, []byte) {
	prefix := SubjectPrefix + target
	block = headers.Delete(block, keptIDHeader)
	if id, ok := headers.Get(block, idHeader); ok {
		block = headers.Set(block, keptIDHeader, string(id))
	}
	block = headers.Set(block, scheduleHeader, atPrefix+at.UTC().Format(time.RFC3339Nano))
	return prefix + waitToken + id + "." + subject, headers.Set(block, targetHeader, prefix+dueToken+subject)
}

// unwrap returns the subject and the headers of a message that is due.
func unwrap(target, subject string, block []byte) (string, []byte) {
	for name := range headers.All(block) {
		if strings.HasPrefix(string(name), schedulePrefix) {
			block = headers.Delete(block, string(name))
		}
	}
	block = headers.Delete(block, "Nats-Rollup")
	if id, ok := headers.Get(block, keptIDHeader); ok {
		block = headers.Set(headers.Delete(block, keptIDHeader), idHeader, string(id))
	}
	return strings.TrimPrefix(subject, SubjectPrefix+target+dueToken), block
}

// idOf returns the id of a message in the companion, empty for none.
func idOf(block []byte) string {
	id, ok := headers.Get(block, keptIDHeader)
	if !ok { // one that was kept by a server of before
		id, _ = headers.Get(block, idHeader)
	}
	return string(id)
}
