package jetstream

import (
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/lanes"
)

// changeWorkers and lookWorkers are how many requests are carried out side by side.
const changeWorkers, lookWorkers = 32, 16

// laneKey says which requests share a lane: those about one stream of one account, and of these only the ones with
// the same spread, which is 0 for all that change something.
type laneKey struct {
	account *account
	stream  string
	spread  uint64
}

// newLanes returns lanes of the service with so many workers; limit says how many requests may wait for one.
func (s *Service) newLanes(most int, limit func() int) *lanes.Lanes[laneKey, *request, Outlet] {
	return lanes.New(lanes.Config[laneKey, *request, Outlet]{
		Most: most, Limit: limit, Outlet: s.newOutlet, Handle: s.handle, Follows: (*request).follows,
	})
}

// Bytes implements lanes.Request.
func (r *request) Bytes() int { return r.message.Bytes() }

// Finish implements lanes.Request.
func (r *request) Finish() {
	if r.finish != nil {
		r.finish()
	}
}

// Answered implements lanes.Request.
func (r *request) Answered() {
	if r.answered != nil {
		r.answered()
	}
}

// follows tells whether the request may begin before those ahead of it are finished: all of them only start a command,
// and what one looks at before that the others do not change. So the log takes many at once, and they wait for one sync.
func (r *request) follows(ahead []*request) bool {
	for _, a := range ahead {
		switch {
		case r.call.Endpoint == api.CallStreamMessageDelete:
			if a.call.Endpoint != api.CallStreamMessageDelete {
				return false
			}
		case !r.makesConsumer() || !a.makesConsumer() || r.call.Consumer == a.call.Consumer:
			return false
		}
	}
	return len(ahead) > 0
}

// makesConsumer tells whether the request creates, changes or deletes the consumer that its subject names, and whether
// it may is for the stream's state to decide when it is applied.
func (r *request) makesConsumer() bool {
	switch r.call.Endpoint {
	case api.CallConsumerCreate, api.CallConsumerDurableCreate, api.CallConsumerDelete:
		l := r.account.limits.Load()
		return r.call.Consumer != "" && l != nil && l.MaxConsumers <= 0 && !l.Tiered()
	}
	return false
}

// Brief tells whether a request is answered at once, so that those behind it do not have to wait.
func (r *request) Brief() bool {
	return r.call.Endpoint == api.CallDirectGet || r.call.Endpoint == api.CallStreamMessageGet
}
