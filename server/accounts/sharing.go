package accounts

import (
	"errors"
	"time"
)

// What is wrong with the ways in which accounts share subjects. The errors of Compile and Put
// wrap these and name the account and the entry.
var (
	// ErrUnknownAccount: there is no account of that name.
	ErrUnknownAccount = errors.New("unknown account")
	// ErrNotExported: the account exports nothing that includes the subject.
	ErrNotExported = errors.New("not exported")
	// ErrNotAllowed: it does, but not to this account.
	ErrNotAllowed = errors.New("import not allowed")
	// ErrImportCycle: messages would come back to the account that they left.
	ErrImportCycle = errors.New("import cycle")
)

// DefaultThreshold is how long the answer of a service may take when nothing else is said.
const DefaultThreshold = 2 * time.Minute

// ResponseType is how a service answers.
type ResponseType uint8

// The ways to answer.
const (
	// ResponseSingle is one message.
	ResponseSingle ResponseType = iota
	// ResponseStream is any number of messages, until an empty one.
	ResponseStream
	// ResponseChunked is one message in pieces, until an empty one.
	ResponseChunked
)

// ExportConfig offers a stream or a service of an account to others.
type ExportConfig struct {
	// Service tells a service from a stream.
	Service bool
	// Subject is the pattern of what may be imported.
	Subject string
	// Private keeps it from all accounts but those in Accounts and imports that are Approved.
	// Accounts that are not empty imply it.
	Private bool
	// Accounts are the names of the accounts that may import it.
	Accounts []string
	// Response is how a service answers, and Threshold how long an answer may take:
	// DefaultThreshold when 0. Both are for services only.
	Response  ResponseType
	Threshold time.Duration
	// Latency has the requests of a service measured; nil does not.
	Latency *LatencyConfig
	// AccountTokenPosition is the number, from 1, of a token in Subject, a `*`, that must be
	// the importer's name or nkey. 0 asks for none.
	AccountTokenPosition int
	// AllowTrace lets message traces cross into a service's account.
	AllowTrace bool
}

// LatencyConfig says how often and where it is published how long requests take.
type LatencyConfig struct {
	// Subject, in the exporting account, receives the measurements.
	Subject string
	// Sampling is the share of requests measured, 1 to 100 percent. At 0 the headers of a
	// request decide.
	Sampling int
}

// ImportConfig makes an export of another account usable in this one.
type ImportConfig struct {
	// Service tells a service from a stream.
	Service bool
	// Account and Subject name the export, or a part of its subjects.
	Account, Subject string
	// To is the subject under which it appears here, Subject when empty. For the wildcards of
	// Subject it has `$1` or `{{wildcard(1)}}`, or `*` for those in their order.
	To string
	// Share shows a service who asks.
	Share bool
	// AllowTrace lets message traces of a stream cross.
	AllowTrace bool
	// Approved says that the caller has checked a token of the exporter for this import.
	Approved bool
}

// MappingConfig rewrites the subjects of what clients publish.
type MappingConfig struct {
	// Source is a literal subject or a pattern.
	Source string
	// Destinations share the messages. What their weights leave open up to 100 keeps its
	// subject, unless Source itself is among them: then that share is lost.
	Destinations []MappingDestination
}

// MappingDestination is one of the subjects that a mapping leads to.
type MappingDestination struct {
	// Subject may have the functions of subjects.Transform.
	Subject string
	// Weight is the share of the messages, 0 to 100 percent.
	Weight int
}

// TraceConfig has messages traced that carry a traceparent header.
type TraceConfig struct {
	// Destination is the literal subject that the traces go to.
	Destination string
	// Sampling is the share of such messages that is traced, 1 to 100 percent.
	Sampling int
}
