package deadletters

import (
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
