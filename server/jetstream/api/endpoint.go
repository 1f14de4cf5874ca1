package api

import "strings"

// Endpoint is one call of the API.
type Endpoint uint8

// The calls. CallUnknown is a subject of the API that means none of them.
const (
	CallUnknown Endpoint = iota
	CallConsumerNext
	CallDirectGet
	CallConsumerInfo
	CallStreamInfo
	CallStreamMessageGet
	CallAccountInfo
	CallStreamCreate
	CallStreamUpdate
	CallStreamNames
	CallStreamList
	CallStreamDelete
	CallStreamPurge
	CallStreamMessageDelete
	CallStreamSnapshot
	CallStreamRestore
	CallStreamPeerRemove
	CallStreamPeerEvacuate
	CallStreamCancelMove
	CallStreamStepDown
	CallConsumerCreate
	CallConsumerDurableCreate
	CallConsumerNames
	CallConsumerList
	CallConsumerDelete
	CallConsumerPause
	CallConsumerReset
	CallConsumerUnpin
	CallConsumerStepDown
	CallConsumerPeerRemove
	CallConsumerPeerEvacuate
	CallMetaStepDown
	CallMetaRescue
	CallServerRemove
	CallServerEvacuate
	CallAccountPurge
	CallAccountStreamMove
	CallAccountStreamCancelMove

	// Those of our own, whose subjects begin with OwnPrefix.

	CallLag
	CallConsumerLag
	CallConsumerExplain
	CallConsumerKeys
	CallDeadList
	CallDeadInfo
	CallDeadGet
	CallDeadDiscard
	CallDeadRedrive
	CallDeadStop
	CallDelayList
	CallDelayCancel
	CallProducerList
	CallProducerForget
	endpoints
)

// OwnPrefix begins the subjects of requests that only this server knows.
const OwnPrefix = "$RUNNEL.API."

// body is what an endpoint does with the body of its request.
type body uint8

const (
	bodyIgnored  body = iota // it means nothing
	bodyObject               // an empty body is an empty object
	bodyRequired             // an empty body is refused
	bodyRefused              // only an empty body or an empty object is accepted
	bodyOptional             // read only when it looks like an object or array
	bodyLenient              // unknown members mean nothing; an empty body is an empty object
	bodyOwn                  // has a parser of its own
)

// traits of an endpoint.
const (
	mutates = 1 << iota // changes something, and so goes before calls that only look
	system              // is for the system account
	own                 // its subjects begin with OwnPrefix
	delayed             // is about what is delayed for the stream that its subjects name
)

// The parts of a subject that follow the words of its endpoint, as letters: an account, a stream, a consumer, the
// rest as a filter; the parts from the one in upper case on may be missing.
type row struct {
	words string // after the prefix, before the parts
	parts string
	kind  string // of the type of the answer, between prefix and suffix; empty: the answer has none
	body  body
	flags uint8
	empty func() Answer // the answer with nothing in it
}

// rows says all about the endpoints. The words of none are the beginning of another's with the same prefix.
var rows = [endpoints]row{
	CallUnknown:                 {kind: "system", empty: newAnswer[PlainAnswer]},
	CallConsumerNext:            {words: "CONSUMER.MSG.NEXT", parts: "sc", body: bodyOwn},
	CallDirectGet:               {words: "DIRECT.GET", parts: "sF", body: bodyOwn},
	CallConsumerInfo:            {words: "CONSUMER.INFO", parts: "sc", kind: "consumer_info", empty: newAnswer[ConsumerInfoAnswer]},
	CallStreamInfo:              {words: "STREAM.INFO", parts: "s", kind: "stream_info", body: bodyOptional, empty: newAnswer[StreamInfoAnswer]},
	CallStreamMessageGet:        {words: "STREAM.MSG.GET", parts: "s", kind: "stream_msg_get", body: bodyRequired, empty: newAnswer[MessageAnswer]},
	CallAccountInfo:             {words: "INFO", kind: "account_info", empty: newAnswer[AccountInfoAnswer]},
	CallStreamCreate:            {words: "STREAM.CREATE", parts: "s", kind: "stream_create", body: bodyObject, flags: mutates, empty: newAnswer[StreamCreateAnswer]},
	CallStreamUpdate:            {words: "STREAM.UPDATE", parts: "s", kind: "stream_update", body: bodyObject, flags: mutates, empty: newAnswer[StreamAnswer]},
	CallStreamNames:             {words: "STREAM.NAMES", kind: "stream_names", body: bodyOptional, empty: newAnswer[StreamNamesAnswer]},
	CallStreamList:              {words: "STREAM.LIST", kind: "stream_list", body: bodyOptional, empty: newAnswer[StreamListAnswer]},
	CallStreamDelete:            {words: "STREAM.DELETE", parts: "s", kind: "stream_delete", body: bodyRefused, flags: mutates, empty: newAnswer[PlainAnswer]},
	CallStreamPurge:             {words: "STREAM.PURGE", parts: "s", kind: "stream_purge", body: bodyOptional, flags: mutates, empty: newAnswer[PurgeAnswer]},
	CallStreamMessageDelete:     {words: "STREAM.MSG.DELETE", parts: "s", kind: "stream_msg_delete", body: bodyRequired, flags: mutates, empty: newAnswer[PlainAnswer]},
	CallStreamSnapshot:          {words: "STREAM.SNAPSHOT", parts: "s", kind: "stream_snapshot", body: bodyRequired, empty: newAnswer[SnapshotAnswer]},
	CallStreamRestore:           {words: "STREAM.RESTORE", parts: "s", kind: "stream_restore", body: bodyRequired, flags: mutates, empty: newAnswer[RestoreAnswer]},
	CallStreamPeerRemove:        {words: "STREAM.PEER.REMOVE", parts: "s", kind: "stream_remove_peer", body: bodyRequired, flags: mutates, empty: newAnswer[PlainAnswer]},
	CallStreamPeerEvacuate:      {words: "STREAM.PEER.EVACUATE", parts: "s", kind: "stream_evacuate_peer", body: bodyRequired, flags: mutates, empty: newAnswer[PlainAnswer]},
	CallStreamCancelMove:        {words: "STREAM.CANCEL_MOVE", parts: "s", kind: "stream_cancel_move", flags: mutates, empty: newAnswer[StreamAnswer]},
	CallStreamStepDown:          {words: "STREAM.LEADER.STEPDOWN", parts: "s", kind: "stream_leader_stepdown", body: bodyOptional, flags: mutates, empty: newAnswer[PlainAnswer]},
	CallConsumerCreate:          {words: "CONSUMER.CREATE", parts: "sCF", kind: "consumer_create", body: bodyObject, flags: mutates, empty: newAnswer[ConsumerInfoAnswer]},
	CallConsumerDurableCreate:   {words: "CONSUMER.DURABLE.CREATE", parts: "sc", kind: "consumer_create", body: bodyObject, flags: mutates, empty: newAnswer[ConsumerInfoAnswer]},
	CallConsumerNames:           {words: "CONSUMER.NAMES", parts: "s", kind: "consumer_names", body: bodyOptional, empty: newAnswer[ConsumerNamesAnswer]},
	CallConsumerList:            {words: "CONSUMER.LIST", parts: "s", kind: "consumer_list", body: bodyOptional, empty: newAnswer[ConsumerListAnswer]},
	CallConsumerDelete:          {words: "CONSUMER.DELETE", parts: "sc", kind: "consumer_delete", body: bodyRefused, flags: mutates, empty: newAnswer[PlainAnswer]},
	CallConsumerPause:           {words: "CONSUMER.PAUSE", parts: "sc", kind: "consumer_pause", body: bodyObject, flags: mutates, empty: newAnswer[PauseAnswer]},
	CallConsumerReset:           {words: "CONSUMER.RESET", parts: "sc", kind: "consumer_reset", body: bodyLenient, flags: mutates, empty: newAnswer[ResetAnswer]},
	CallConsumerUnpin:           {words: "CONSUMER.UNPIN", parts: "sc", kind: "consumer_unpin", body: bodyLenient, flags: mutates, empty: newAnswer[PlainAnswer]},
	CallConsumerStepDown:        {words: "CONSUMER.LEADER.STEPDOWN", parts: "sc", kind: "consumer_leader_stepdown", body: bodyOptional, flags: mutates, empty: newAnswer[PlainAnswer]},
	CallConsumerPeerRemove:      {words: "CONSUMER.PEER.REMOVE", parts: "sc", kind: "consumer_remove_peer", body: bodyRequired, flags: mutates, empty: newAnswer[PlainAnswer]},
	CallConsumerPeerEvacuate:    {words: "CONSUMER.PEER.EVACUATE", parts: "sc", kind: "consumer_evacuate_peer", body: bodyRequired, flags: mutates, empty: newAnswer[PlainAnswer]},
	CallMetaStepDown:            {words: "META.LEADER.STEPDOWN", kind: "meta_leader_stepdown", body: bodyOptional, flags: mutates | system, empty: newAnswer[PlainAnswer]},
	CallMetaRescue:              {words: "META.RESCUE", kind: "meta_rescue", body: bodyRequired, flags: mutates | system, empty: newAnswer[RescueAnswer]},
	CallServerRemove:            {words: "SERVER.REMOVE", kind: "meta_server_remove", body: bodyRequired, flags: mutates | system, empty: newAnswer[PlainAnswer]},
	CallServerEvacuate:          {words: "SERVER.EVACUATE", kind: "meta_server_evacuate", body: bodyRequired, flags: mutates | system, empty: newAnswer[PlainAnswer]},
	CallAccountPurge:            {words: "ACCOUNT.PURGE", parts: "a", kind: "account_purge", flags: mutates | system, empty: newAnswer[AccountPurgeAnswer]},
	CallAccountStreamMove:       {words: "ACCOUNT.STREAM.MOVE", parts: "as", kind: "stream_update", body: bodyObject, flags: mutates | system, empty: newAnswer[StreamAnswer]},
	CallAccountStreamCancelMove: {words: "ACCOUNT.STREAM.CANCEL_MOVE", parts: "as", kind: "stream_update", flags: mutates | system, empty: newAnswer[StreamAnswer]},

	CallLag:             {words: "LAG", kind: "lag", body: bodyObject, flags: own, empty: newAnswer[LagAnswer]},
	CallConsumerLag:     {words: "CONSUMER.LAG", parts: "sc", kind: "consumer_lag", flags: own, empty: newAnswer[ConsumerLagAnswer]},
	CallConsumerExplain: {words: "CONSUMER.EXPLAIN", parts: "sc", kind: "consumer_explain", flags: own, empty: newAnswer[ExplainAnswer]},
	CallConsumerKeys:    {words: "CONSUMER.KEYS", parts: "sc", kind: "consumer_keys", body: bodyObject, flags: own, empty: newAnswer[KeysAnswer]},
	CallDeadList:        {words: "DLQ.LIST", kind: "dlq_list", body: bodyObject, flags: own, empty: newAnswer[DeadListAnswer]},
	CallDeadInfo:        {words: "DLQ.INFO", parts: "s", kind: "dlq_info", flags: own, empty: newAnswer[DeadInfoAnswer]},
	CallDeadGet:         {words: "DLQ.GET", parts: "s", kind: "dlq_get", body: bodyObject, flags: own, empty: newAnswer[DeadGetAnswer]},
	CallDeadDiscard:     {words: "DLQ.DISCARD", parts: "s", kind: "dlq_discard", body: bodyObject, flags: mutates | own, empty: newAnswer[DeadDiscardAnswer]},
	CallDeadRedrive:     {words: "DLQ.REDRIVE", parts: "s", kind: "dlq_redrive", body: bodyObject, flags: mutates | own, empty: newAnswer[DeadRedriveAnswer]},
	CallDeadStop:        {words: "DLQ.STOP", parts: "s", kind: "dlq_stop", flags: mutates | own, empty: newAnswer[DeadStopAnswer]},
	CallDelayList:       {words: "DELAY.LIST", parts: "s", kind: "delay_list", body: bodyObject, flags: own | delayed, empty: newAnswer[DelayListAnswer]},
	CallDelayCancel:     {words: "DELAY.CANCEL", parts: "s", kind: "delay_cancel", body: bodyObject, flags: mutates | own | delayed, empty: newAnswer[DelayCancelAnswer]},
	CallProducerList:    {words: "PRODUCER.LIST", parts: "s", kind: "producer_list", body: bodyObject, flags: own, empty: newAnswer[ProducerListAnswer]},
	CallProducerForget:  {words: "PRODUCER.FORGET", parts: "s", kind: "producer_forget", body: bodyObject, flags: mutates | own, empty: newAnswer[ProducerForgetAnswer]},
}

// A prefix and typeSuffix stand around the kind of an answer in its type.
const (
	typePrefix    = "io.nats.jetstream.api.v1."
	typePrefixOwn = "io.runnel.api.v1."
	typeSuffix    = "_response"
)

// row returns what is known about the endpoint; that of CallUnknown for a number that is none.
func (e Endpoint) row() *row {
	if e >= endpoints {
		return &rows[CallUnknown]
	}
	return &rows[e]
}

// String returns the words of the endpoint's subjects, without prefix and names.
func (e Endpoint) String() string {
	if w := e.row().words; w != "" {
		return w
	}
	return "unknown"
}

// Type returns the type of the endpoint's answers; empty for the two that answer with messages and statuses.
func (e Endpoint) Type() string {
	switch kind := e.row().kind; {
	case kind == "":
		return ""
	case e.Own():
		return typePrefixOwn + kind + typeSuffix
	default:
		return typePrefix + kind + typeSuffix
	}
}

// Mutates reports whether the call may change something. Such calls go before others.
func (e Endpoint) Mutates() bool { return e.row().flags&mutates != 0 }

// System reports whether only the system account may call.
func (e Endpoint) System() bool { return e.row().flags&system != 0 }

// Own reports whether the call is one of our own, below OwnPrefix.
func (e Endpoint) Own() bool { return e.row().flags&own != 0 }

// Delayed reports whether the call is about what is delayed for the stream that its subjects name, which another stream keeps.
func (e Endpoint) Delayed() bool { return e.row().flags&delayed != 0 }

// OfStream reports whether the subjects of the call name a stream.
func (e Endpoint) OfStream() bool { return strings.Contains(e.row().parts, "s") }

// Call is what a subject of the API asks for. The strings are parts of the subject.
type Call struct {
	Endpoint Endpoint
	// Domain is set when the subject names one: `$JS.<domain>.API.`.
	Domain string
	// Account, Stream and Consumer are names as they stand in the subject, empty for none.
	Account, Stream, Consumer string
	// Filter is the rest: what a consumer to create filters, or whose last message is wanted. Empty for none.
	Filter string
}

// ParseSubject returns what a subject of the API asks for. It is not one without the prefix `$JS.API.`,
// `$JS.<domain>.API.` or OwnPrefix; with it, a subject that means nothing is a call of CallUnknown. It does not allocate.
func ParseSubject(subject string) (Call, bool) {
	domain, rest, flags, ok := cutPrefix(subject)
	if !ok {
		return Call{}, false
	}
	for e := CallUnknown + 1; e < endpoints; e++ {
		words := rows[e].words
		if !strings.HasPrefix(rest, words) || rows[e].flags&own != flags {
			continue
		}
		call := Call{Endpoint: e, Domain: domain}
		if call.take(rows[e].parts, rest[len(words):]) {
			return call, true
		}
	}
	return Call{Domain: domain}, true
}

// cutPrefix splits a subject of the API into the domain that it names, what follows the prefix, and whether the flag own is
// set for that prefix.
func cutPrefix(subject string) (domain, rest string, flags uint8, ok bool) {
	if rest, ok = strings.CutPrefix(subject, "$JS.API."); ok {
		return "", rest, 0, rest != ""
	}
	if rest, ok = strings.CutPrefix(subject, OwnPrefix); ok {
		return "", rest, own, rest != ""
	}
	if rest, ok = strings.CutPrefix(subject, "$JS."); !ok {
		return "", "", 0, false
	}
	domain, rest, _ = strings.Cut(rest, ".")
	rest, ok = strings.CutPrefix(rest, "API.")
	return domain, rest, 0, ok && domain != "" && rest != ""
}

// take sets the parts from what follows the words of an endpoint, and reports whether all of it was parts and all
// parts were there.
func (c *Call) take(parts, rest string) bool {
	for _, part := range []byte(parts) {
		if rest == "" {
			return part <= 'Z' // may be missing
		}
		if rest[0] != '.' {
			return false
		}
		token := rest[1:]
		if part == 'F' {
			c.Filter = token
			return token != ""
		}
		token, rest = cutToken(token)
		if token == "" {
			return false
		}
		switch part {
		case 'a':
			c.Account = token
		case 's':
			c.Stream = token
		default:
			c.Consumer = token
		}
	}
	return rest == ""
}

// cutToken splits off the first token; the rest begins with the dot that follows it.
func cutToken(s string) (token, rest string) {
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}
