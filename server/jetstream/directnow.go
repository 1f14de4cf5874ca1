package jetstream

import (
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/reads"
)

// directNowBytes is the size up to which the body of a direct get is looked at on the worker that has read it.
const directNowBytes = 256

// directNow answers a direct get on the worker that has read it, where that needs neither waiting nor a disk: it is
// for one message, named by its sequence or its subject, and memory has it. If not it returns false, and a lane finds
// out what the answer is.
func (t *stream) directNow(call *api.Call, m *engine.Message) bool {
	if t == nil || t.offline() || !t.direct() {
		return false
	}
	if len(m.Reply) == 0 || len(m.Payload) > directNowBytes || t.account.limits.Load() == nil || !api.LevelMet(m.Header) {
		return false
	}
	q, status := api.ParseDirectGet(call.Filter, m.Payload)
	if status != api.StatusNone {
		return false
	}
	found, known := reads.Peek(t.log, &q)
	switch {
	case !known:
		return false
	case found.Sequence == 0:
		m.Respond(api.StatusMessageNotFound.Block(), nil)
	case q.NoHeader:
		m.Respond(nil, found.Payload)
	default:
		var memory [512]byte
		m.Respond(api.AppendDirectHeader(memory[:0], reads.Describe(t.log, &found)), found.Payload)
	}
	return true
}
