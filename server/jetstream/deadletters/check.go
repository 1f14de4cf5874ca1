package deadletters

import (
	"fmt"
	"slices"
	"strings"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// Check looks whether the dead-letter stream of a consumer is one that can take what it gives up; find returns the configuration of
// a stream of the same account, nil for none. It is an error of the API if it cannot.
func Check(c *config.Consumer, find func(stream string) *config.Stream) error {
	own, err := c.Own()
	if err != nil {
		return err
	}
	if own.DeadLetter == "" {
		return nil
	}
	switch t := find(own.DeadLetter); {
	case t == nil:
		return api.NewError(api.DeadLetterUnfit, own.DeadLetter, "there is no such stream in the account: create it first")
	case t.Mirror != nil:
		return api.NewError(api.DeadLetterUnfit, own.DeadLetter, "it is a mirror: name another stream")
	case t.Sealed:
		return api.NewError(api.DeadLetterUnfit, own.DeadLetter, "it is sealed: name another stream")
	case t.Retention == config.InterestRetention:
		return api.NewError(api.DeadLetterUnfit, own.DeadLetter, "it keeps only what its consumers want: name one with limits or workqueue retention")
	}
	return nil
}

// IsNew reports whether a consumer of a stream is to give up into another stream than it does now.
func IsNew(log interface {
	View(do func(*jetlog.Stream, jetlog.Messages) error) error
}, c *config.Consumer,
) bool {
	target, now := c.Metadata[config.MetadataDeadLetter], ""
	_ = log.View(func(state *jetlog.Stream, _ jetlog.Messages) error { // what a stream that is closed is asked for is refused later
		if there := state.Consumer(c.Name); there != nil {
			now = there.DeadLetter()
		}
		return nil
	})
	return target != "" && target != now
}

// Circle refuses a consumer of a stream whose dead letters would come back to it, since consumers of the streams that they go to give
// up in turn. Known are the dead-letter streams of the account, each with the consumers that give up into it. What is not known, as of a stream without a leader, or two consumers that are made at the
// same moment, a message finds out: it does not go where it was before.
func Circle(stream string, c *config.Consumer, known []*api.DeadStreamInfo) error {
	target := c.Metadata[config.MetadataDeadLetter]
	through := map[string]string{target: ""} // how each stream is reached, as a list of consumers
	for reached := []string{target}; len(reached) > 0; reached = reached[1:] {
		for _, next := range known {
			if _, seen := through[next.Stream]; seen {
				continue
			}
			i := slices.IndexFunc(next.Consumers, func(from string) bool { return strings.HasPrefix(from, reached[0]+".") })
			if i < 0 {
				continue
			}
			through[next.Stream] = through[reached[0]] + fmt.Sprintf(", %s into %s", next.Consumers[i], next.Stream)
			reached = append(reached, next.Stream)
		}
	}
	way, circle := through[stream]
	if !circle {
		return nil
	}
	return api.NewError(api.DeadLetterUnfit, target,
		"dead letters would come back: "+strings.TrimPrefix(way, ", ")+": name another stream, or take the dead letters of one of these away")
}
