package engine

import "runnel/server/engine/lines"

// Reason says why a connection ended, in the words that monitoring shows.
type Reason = lines.Reason

// Reasons. ReasonNone means that the connection is open.
const (
	ReasonNone                  = lines.ReasonNone
	ReasonClientClosed          = lines.ReasonClientClosed
	ReasonAuthTimeout           = lines.ReasonAuthTimeout
	ReasonAuthFailure           = lines.ReasonAuthFailure
	ReasonTLSHandshake          = lines.ReasonTLSHandshake
	ReasonSlowPending           = lines.ReasonSlowPending
	ReasonSlowDeadline          = lines.ReasonSlowDeadline
	ReasonWriteError            = lines.ReasonWriteError
	ReasonReadError             = lines.ReasonReadError
	ReasonParseError            = lines.ReasonParseError
	ReasonStale                 = lines.ReasonStale
	ReasonProtocolViolation     = lines.ReasonProtocolViolation
	ReasonProtocolVersion       = lines.ReasonProtocolVersion
	ReasonMaxAccountConnections = lines.ReasonMaxAccountConnections
	ReasonMaxConnections        = lines.ReasonMaxConnections
	ReasonMaxPayload            = lines.ReasonMaxPayload
	ReasonMaxControlLine        = lines.ReasonMaxControlLine
	ReasonMaxSubscriptions      = lines.ReasonMaxSubscriptions
	ReasonShutdown              = lines.ReasonShutdown
	ReasonAuthExpired           = lines.ReasonAuthExpired
	ReasonRevoked               = lines.ReasonRevoked
	ReasonHeaderViolation       = lines.ReasonHeaderViolation
	ReasonNoRespondersHeaders   = lines.ReasonNoRespondersHeaders
	ReasonKicked                = lines.ReasonKicked
	ReasonProxyNotTrusted       = lines.ReasonProxyNotTrusted
	ReasonProxyRequired         = lines.ReasonProxyRequired
	ReasonRouteRemoved          = lines.ReasonRouteRemoved
)

// Counters count one connection's traffic since it began: In is what the client sent.
type Counters = lines.Counters

// ReasonCloser is a connection that can tell its peer why it is closed, as WebSocket can.
type ReasonCloser = lines.ReasonCloser
