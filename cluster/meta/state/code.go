package state

import (
	"errors"

	"runnel/jetlog/config"
)

// The numbers of refusals that come from the state of the cluster, as clients know them from `err_code`.
const (
	NoSuitablePeers        config.Code = 10005 // the detail says what is missing
	MaximumStreams         config.Code = 10027
	InsufficientMemory     config.Code = 10028
	PeerNotMember          config.Code = 10040
	ServerNotMember        config.Code = 10044
	InsufficientStorage    config.Code = 10047
	StreamNameExists       config.Code = 10058
	StreamNotFound         config.Code = 10059
	SubjectOverlap         config.Code = 10065
	PeerRemapFailed        config.Code = 10075
	NoReconfiguration      config.Code = 10129
	MemberChangeInProgress config.Code = 10202
	ReconfigurationRunning config.Code = 10226
)

// ErrUnknown is returned for a command or a snapshot that a newer version has made, or that is damaged. Whoever gets it must
// apply nothing any more.
var ErrUnknown = errors.New("not known to this version, or damaged")

// Result is what became of a command.
type Result struct {
	// Index is the place of the command in the log.
	Index uint64 `json:"index"`
	// Code is not zero if it was refused; Detail is what the text of that number has to be filled with.
	Code   config.Code `json:"code,omitempty"`
	Detail string      `json:"detail,omitempty"`
	// Stream is the stream as it is now, or as it was before it was deleted; nil if the command is not about one.
	Stream *Assignment `json:"stream,omitempty"`
	// Existing says that there was just such a stream already.
	Existing bool `json:"existing,omitempty"`
}

// Err returns the refusal as a *config.Error, nil if it was none.
func (r *Result) Err() error {
	if r.Code == 0 {
		return nil
	}
	return &config.Error{Code: r.Code, Detail: r.Detail}
}

// refuse is the result of a command that was refused.
func refuse(code config.Code, detail string) Result { return Result{Code: code, Detail: detail} }
