package clustered

import (
	"time"

	"runnel/server/jetstream/api"
)

const (
	// Patience is how long after it came a request waits at most for somebody who leads.
	Patience = 4 * time.Second
	// Grace is how long a request that another server answers is kept: within less it is found out that a server has gone, and
	// had it gone later it would have answered.
	Grace = 2 * time.Second
)

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
	// Taken says that others leave the request to this server, which led its stream without a majority when it came.
	Taken bool
	// Orphaned says that the server has gone that was to answer. It may have carried out what was asked for.
	Orphaned bool
	// Outdated says that it was sent before its sender knew that this server leads, perhaps long ago: who led before may have carried it out.
	Outdated bool
}

// ByMeta reports whether the leader of the meta group answers calls of an endpoint, and not that of a stream.
func ByMeta(e api.Endpoint) bool {
	switch e {
	case api.CallUnknown, api.CallAccountInfo, api.CallStreamCreate, api.CallStreamUpdate, api.CallStreamDelete, api.CallStreamNames,
		api.CallStreamList, api.CallStreamRestore, api.CallStreamPeerRemove, api.CallStreamPeerEvacuate, api.CallStreamCancelMove:
		return true
	}
	return e.System() || e.Own() && !e.OfStream()
}

// Everybody reports whether every server answers calls of an endpoint for itself.
func Everybody(e api.Endpoint) bool { return e == api.CallMetaRescue }

// Judge says what the server with this view does with a request. If that is Silent, by is the server that answers, where this
// one is concerned if that has gone; empty otherwise.
func Judge(v View, c Case) (verdict Verdict, by string) {
	if Everybody(c.Endpoint) {
		return Answer, ""
	}
	if c.Outdated && c.Endpoint.Mutates() {
		return Unavailable, "" // as for orphans
	}
	if c.Orphaned && c.Endpoint.Mutates() {
		return judgeOrphan(v, c.Late), ""
	}
	if !ByMeta(c.Endpoint) {
		a, ok := v.Stream(c.Account, c.Stream)
		switch {
		case c.Led && (!ok || v.Majority(a)):
			return Answer, "" // who leads a stream needs no meta group
		case ok:
			return judgeStream(v, a, c)
		}
	}
	switch leader := v.MetaLeader(); {
	case v.Leads():
		return Answer, ""
	case leader != "" && leader != v.Self().ID:
		return Silent, leader
	case !c.Late:
		return Wait, "" // also where this server leads, and does not know yet all that was decided before
	case speaks(v):
		return Unavailable, ""
	}
	return Silent, ""
}

// judgeOrphan is Judge for a call that changes something, where who was to answer has gone. It may have done so, and the client
// may have gone on: to do again what was asked for could undo what was done since. So the client is told to see for itself.
func judgeOrphan(v View, late bool) Verdict {
	switch {
	case speaks(v):
		return Unavailable
	case !late:
		return Wait // who is to speak may be about to go, too
	}
	return Silent
}

// speaks tells whether this server is the one that says that nobody leads.
func speaks(v View) bool {
	leader := v.MetaLeader()
	return v.Leads() || leader == v.Self().ID || leader == "" && v.Speaks()
}

// judgeStream is Judge for a call about a stream that is not led here, or without a majority.
func judgeStream(v View, a *Assignment, c Case) (verdict Verdict, by string) {
	self := v.Self().ID
	has, reached := false, false
	for _, p := range a.Peers {
		has = has || p == self
		reached = reached || p == self || v.Online(p)
	}
	// A server that is said to lead, but itself does not know yet, or not any more, is waited for.
	speaks, leader := speaks(v), ""
	if has || speaks {
		leader = v.StreamLeader(a)
	}
	switch {
	case leader != "" && leader != self && v.Online(leader):
		if c.Taken {
			return Unavailable, "" // it was not there when the request came
		}
		return Silent, leader
	case !reached && v.Leads():
		return Unreachable, ""
	case !c.Late && (has || speaks):
		return Wait, ""
	case c.Late && (speaks || c.Taken || leader == self):
		return Unavailable, ""
	}
	return Silent, ""
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
