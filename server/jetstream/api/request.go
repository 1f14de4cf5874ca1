package api

import (
	"fmt"
	"time"

	"runnel/jetlog/config"
)

// StreamConfigRequest is the body of a create or an update of a stream.
type StreamConfigRequest struct {
	config.Stream
	// Pedantic refuses what would otherwise be changed into something valid.
	Pedantic bool `json:"pedantic,omitempty"`
}

// StreamInfoRequest is the body of a stream info. SubjectsFilter asks for subjects, from Offset on; DeletedDetails
// for sequences that have gone.
type StreamInfoRequest struct {
	SubjectsFilter string `json:"subjects_filter,omitempty"`
	DeletedDetails bool   `json:"deleted_details,omitempty"`
	Offset         int    `json:"offset,omitempty"`
}

// StreamsRequest is the body of names and list of streams. Subject asks for those whose subjects overlap it.
type StreamsRequest struct {
	Subject string `json:"subject,omitempty"`
	Offset  int    `json:"offset,omitempty"`
}

// ConsumersRequest is the body of names and list of consumers.
type ConsumersRequest struct {
	Offset int `json:"offset,omitempty"`
}

// PurgeRequest is the body of a purge: what matches Filter (empty: all), below Sequence or but for the last Keep, 0
// for neither.
type PurgeRequest struct {
	Filter   string `json:"filter,omitempty"`
	Sequence uint64 `json:"seq,omitempty"`
	Keep     uint64 `json:"keep,omitempty"`
}

// MessageDeleteRequest is the body of the delete of a message. Without NoErase its bytes are overwritten.
type MessageDeleteRequest struct {
	Sequence uint64 `json:"seq"`
	NoErase  bool   `json:"no_erase,omitempty"`
}

// SnapshotRequest is the body that asks for a backup. Sizes are in bytes; 0 is the default.
type SnapshotRequest struct {
	DeliverSubject string `json:"deliver_subject"`
	NoConsumers    bool   `json:"no_consumers,omitempty"`
	ChunkBytes     int    `json:"chunk_size,omitempty"`
	WindowBytes    int    `json:"window_size,omitempty"`
	Check          bool   `json:"jsck,omitempty"`
}

// RestoreRequest is the body that begins a restore.
type RestoreRequest struct {
	Config config.Stream `json:"config"`
	State  StreamState   `json:"state"`
}

// PeerRequest is the body of what is about one server that has a replica, by its name or id.
type PeerRequest struct {
	Peer string `json:"peer"`
}

// ServerRequest is the body of what is about one server of the system, by its name or id.
type ServerRequest struct {
	Peer   string `json:"peer,omitempty"`
	PeerID string `json:"peer_id,omitempty"`
}

// StepDownRequest is the body of a leader's step down.
type StepDownRequest struct {
	Placement *config.Placement `json:"placement,omitempty"`
}

// ConsumerRequest is the body of the create or update of a consumer.
type ConsumerRequest struct {
	Stream   string          `json:"stream_name"`
	Config   config.Consumer `json:"config"`
	Action   Action          `json:"action,omitempty"`
	Pedantic bool            `json:"pedantic,omitempty"`
}

// Action says whether the consumer may or must be there already.
type Action uint8

// The actions.
const (
	CreateOrUpdate Action = iota
	CreateOnly
	UpdateOnly
)

// MarshalText returns the name of the action, empty for CreateOrUpdate.
func (a Action) MarshalText() ([]byte, error) {
	switch a {
	case CreateOnly:
		return []byte("create"), nil
	case UpdateOnly:
		return []byte("update"), nil
	}
	return nil, nil
}

// UnmarshalText sets the action by its name.
func (a *Action) UnmarshalText(b []byte) error {
	switch string(b) {
	case "":
		*a = CreateOrUpdate
	case "create":
		*a = CreateOnly
	case "update":
		*a = UpdateOnly
	default:
		return fmt.Errorf("there is no consumer action %q", b)
	}
	return nil
}

// PauseRequest is the body of a pause. No time, or one that has passed, ends the pause.
type PauseRequest struct {
	Until time.Time `json:"pause_until,omitzero"`
}

// ResetRequest is the body of a reset. Sequence 0 goes back to the first that is not acknowledged.
type ResetRequest struct {
	Sequence uint64 `json:"seq,omitempty"`
}

// UnpinRequest is the body of an unpin.
type UnpinRequest struct {
	Group string `json:"group"`
}

// RescueRequest is the body that lowers the quorum of the whole system.
type RescueRequest struct {
	QuorumNeeded int `json:"quorum_needed"`
}

// MoveRequest is the body that moves a stream to other servers.
type MoveRequest struct {
	Server  string   `json:"server,omitempty"`
	Cluster string   `json:"cluster,omitempty"`
	Domain  string   `json:"domain,omitempty"`
	Tags    []string `json:"tags,omitempty"`
}

// Reconcile brings together what the subject and the body of a request say about the name and the filter of a consumer; the name
// stays empty if neither says. The subject is there for permissions, so the body may not say otherwise.
func (q *ConsumerRequest) Reconcile(call *Call) error {
	cfg := &q.Config
	switch {
	case q.Stream != call.Stream:
		return NewError(StreamNameMismatch)
	case call.Endpoint == CallConsumerDurableCreate && cfg.Durable == "":
		return NewError(DurableNameMissing)
	case call.Consumer == "" && cfg.Durable != "":
		return NewError(EphemeralWithDurable)
	case call.Consumer != "" && cfg.Durable != "" && cfg.Durable != call.Consumer:
		return NewError(DurableNameMismatch)
	}
	if call.Filter != "" {
		switch {
		case len(cfg.FilterSubjects) > 0:
			return NewError(FiltersInSubject)
		case cfg.FilterSubject != call.Filter:
			return NewError(FilterMismatch)
		}
	}
	if call.Consumer != "" {
		cfg.Name = call.Consumer
	}
	return nil
}
