package engine

import "runnel/server/engine/frames"

// Fence asks all other servers to say that they have heard of it, and returns its number. Who begins to subscribe after it knows by
// [Message.Since] what was sent here before: on the chance that somebody still wanted it, and perhaps a long time ago, since what a connection has
// taken comes as soon as it moves again. A server alone has no fences: the number is 0.
func (e *Engine) Fence() (number uint32) {
	x := e.routing
	if x == nil {
		return 0
	}
	x.telling.Lock()
	defer x.telling.Unlock()
	x.fence++
	for _, r := range *x.routes.Load() {
		r.Send(frames.AppendNumber(nil, frames.Fence, x.fence))
	}
	return x.fence
}

// Since tells whether a message was sent when the server that has sent it had heard of a fence. That is so of all that was published here,
// and it is not known of servers that do not know of fences, nor of what another worker was about to send in that instant. Only the handler may
// call it, on a message that is no clone.
func (m *Message) Since(fence uint32) bool {
	r := m.worker.far.from
	return r == nil || !r.fenced || int32(r.heard-fence) >= 0
}
