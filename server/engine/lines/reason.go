package lines

// Reason says why a connection ended, in the words that monitoring shows.
type Reason uint32

// Reasons. ReasonNone means that the connection is open.
const (
	ReasonNone Reason = iota
	ReasonClientClosed
	ReasonAuthTimeout
	ReasonAuthFailure
	ReasonTLSHandshake
	ReasonSlowPending
	ReasonSlowDeadline
	ReasonWriteError
	ReasonReadError
	ReasonParseError
	ReasonStale
	ReasonProtocolViolation
	ReasonProtocolVersion
	ReasonMaxAccountConnections
	ReasonMaxConnections
	ReasonMaxPayload
	ReasonMaxControlLine
	ReasonMaxSubscriptions
	ReasonShutdown
	ReasonAuthExpired
	ReasonRevoked
	ReasonHeaderViolation
	ReasonNoRespondersHeaders
	ReasonKicked
	ReasonProxyNotTrusted
	ReasonProxyRequired
	ReasonRouteRemoved
)

var reasonTexts = [...]string{
	ReasonNone:                  "",
	ReasonClientClosed:          "Client Closed",
	ReasonAuthTimeout:           "Authentication Timeout",
	ReasonAuthFailure:           "Authentication Failure",
	ReasonTLSHandshake:          "TLS Handshake Failure",
	ReasonSlowPending:           "Slow Consumer (Pending Bytes)",
	ReasonSlowDeadline:          "Slow Consumer (Write Deadline)",
	ReasonWriteError:            "Write Error",
	ReasonReadError:             "Read Error",
	ReasonParseError:            "Parse Error",
	ReasonStale:                 "Stale Connection",
	ReasonProtocolViolation:     "Protocol Violation",
	ReasonProtocolVersion:       "Bad Client Protocol Version",
	ReasonMaxAccountConnections: "Maximum Account Connections Exceeded",
	ReasonMaxConnections:        "Maximum Connections Exceeded",
	ReasonMaxPayload:            "Maximum Message Payload Exceeded",
	ReasonMaxControlLine:        "Maximum Control Line Exceeded",
	ReasonMaxSubscriptions:      "Maximum Subscriptions Exceeded",
	ReasonShutdown:              "Server Shutdown",
	ReasonAuthExpired:           "Authentication Expired",
	ReasonRevoked:               "Credentials Revoked",
	ReasonHeaderViolation:       "Message Header Violation",
	ReasonNoRespondersHeaders:   "No Responders Requires Headers",
	ReasonKicked:                "Kicked",
	ReasonProxyNotTrusted:       "Proxy Not Trusted",
	ReasonProxyRequired:         "Proxy Required",
	ReasonRouteRemoved:          "Route Removed",
}

// String is the text that monitoring shows.
func (r Reason) String() string {
	if int(r) < len(reasonTexts) {
		return reasonTexts[r]
	}
	return "Unknown"
}
