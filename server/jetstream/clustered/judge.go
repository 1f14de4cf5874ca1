package clustered

import (
	"time"

	"runnel/server/jetstream/api"
)

// Patience is how long a request waits at most for somebody who leads.
const Patience = 4 * time.Second

// Verdict is what a server does with a request.
type Verdict uint8

// The verdicts.
const (
	// Silent: another server answers.
	Silent Verdict = iota
	// Answer: this server does.
	Answer
	// Wait: this server will, if it gets to lead; nobody is known to lead now.
	Wait
	// Unavailable: nobody leads, and this server says so.
	Unavailable
	// Unreachable: none of the servers can be reached that have the stream, and this server says so.
	Unreachable
)

// Case is what is known of a request.
type Case struct {
	Endpoint        api.Endpoint
	Account, Stream string
	Led             bool // the stream, if there is one, is led here
	Late            bool // it has waited for Patience
}

// ByMeta reports whether the leader of the meta group answers calls of an endpoint, and not that of a stream.
func ByMeta(e api.Endpoint) bool {
	switch e {
	case api.CallUnknown, api.CallAccountInfo, api.CallStreamCreate, api.CallStreamUpdate, api.CallStreamDelete, api.CallStreamNames,
		api.CallStreamList, api.CallStreamRestore, api.CallStreamPeerRemove, api.CallStreamPeerEvacuate, api.CallStreamCancelMove:
		return true
	}
	return e.System()
}

// Everybody reports whether every server answers calls of an endpoint for itself.
func Everybody(e api.Endpoint) bool { return e == api.CallMetaRescue }

// Judge says what the server with this view does with a request.
func Judge(v View, c Case) Verdict {
	switch {
	case Everybody(c.Endpoint):
		return Answer
	case !ByMeta(c.Endpoint) && c.Led:
		return Answer // who leads a stream needs no meta group
	case !ByMeta(c.Endpoint):
		if a, ok := v.Stream(c.Account, c.Stream); ok {
			return judgeStream(v, a, c.Late)
		}
	}
	switch {
	case v.Leads():
		return Answer
	case v.Led():
		return Silent
	case !c.Late:
		return Wait
	case v.Speaks():
		return Unavailable
	}
	return Silent
}

// judgeStream is Judge for a call about a stream that is not led here.
func judgeStream(v View, a *Assignment, late bool) Verdict {
	self := v.Self().ID
	has, reached := false, false
	for _, p := range a.Peers {
		has = has || p == self
		reached = reached || p == self || v.Online(p)
	}
	// A server that is said to lead, but itself does not know yet, or not any more, is waited for.
	speaks := v.Leads() || !v.Led() && v.Speaks()
	leader := ""
	if has || speaks {
		leader = v.StreamLeader(a)
	}
	switch {
	case leader != "" && leader != self && v.Online(leader):
		return Silent
	case !reached && v.Leads():
		return Unreachable
	case !late && (has || speaks):
		return Wait
	case late && speaks:
		return Unavailable
	}
	return Silent
}

// Refusal returns the error that a verdict is answered with, nil for those that are no refusals.
func (v Verdict) Refusal() *api.Error {
	switch v {
	case Unavailable:
		return api.NewError(api.ClusterUnavailable)
	case Unreachable:
		return api.NewError(api.StreamUnreachable)
	}
	return nil
}
