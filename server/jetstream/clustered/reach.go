package clustered

import (
	"context"
	"strings"
	"sync"

	"runnel/server/jetstream/api"
	"runnel/subjects"
)

// sampled is for how many subjects of a stream it is waited that the server that leads it is known to want them.
const sampled = 16

// AwaitReach waits until messages for the leader of a stream, on another server, get there from clients of this one, or the context
// ends. Watch tells whether anybody wants a subject, at once and with each change, until what it returns is called. What the
// leader subscribes to last is looked for too, as a subject of the stream may be wanted by others.
func AwaitReach(ctx context.Context, s *Assignment, watch func(subject string, tell func(is bool)) (cancel func())) {
	list := []string{"$JS.API." + api.CallConsumerNext.String() + "." + s.Config.Name + ".any"}
	for _, pattern := range s.Config.Subjects[:min(len(s.Config.Subjects), sampled)] {
		list = append(list, sample(pattern))
	}
	for _, subject := range list {
		heard := make(chan struct{})
		var once sync.Once
		cancel := watch(subject, func(is bool) {
			if is {
				once.Do(func() { close(heard) })
			}
		})
		select {
		case <-heard:
		case <-ctx.Done():
		}
		cancel()
	}
}

// sample returns a subject that matches a pattern.
func sample(pattern string) string {
	var tokens []string
	for token := range subjects.Tokens(pattern) {
		if token == "*" || token == ">" {
			token = "any"
		}
		tokens = append(tokens, token)
	}
	return strings.Join(tokens, ".")
}
