package jetstream

import (
	"context"
	"strings"
	"sync"

	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/subjects"
)

// known returns when this server has done what was decided about a stream, or the context ends. Whoever asked for it is told
// only then that it is done: with what he does next he may reach any server.
func (c *cluster) known(ctx context.Context, q *clustered.Question) {
	if r := c.replica(q.ID); r != nil && r.deleted() {
		select {
		case <-r.gone:
		case <-ctx.Done():
		}
		return
	}
	c.forget(q)
	for _, name := range q.Names {
		a, ok := c.Stream(q.Account, name)
		ac := c.service.named(q.Account)
		if ok && a.ID == q.ID && ac != nil && !ac.stream(name).leads() {
			ac.hears(ctx, a)
		}
	}
}

// sampled is for how many subjects of a stream it is waited that the server that leads it is known to want them.
const sampled = 16

// hears waits until messages for the leader of a stream, on another server, get there from clients of this one. What the
// leader subscribes to last is looked for too, as a subject of the stream may be wanted by others.
func (a *account) hears(ctx context.Context, s *clustered.Assignment) {
	list := []string{"$JS.API." + api.CallConsumerNext.String() + "." + s.Config.Name + ".any"}
	for _, pattern := range s.Config.Subjects[:min(len(s.Config.Subjects), sampled)] {
		list = append(list, sample(pattern))
	}
	for _, subject := range list {
		heard := make(chan struct{})
		var once sync.Once
		cancel := a.service.cfg.Engine.WatchInterest(a.account, subject, "", func(is bool) {
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
