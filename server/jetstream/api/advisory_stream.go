package api

import "time"

// SnapshotCreated tells that a backup has begun.
type SnapshotCreated struct {
	Head
	Stream string      `json:"stream"`
	State  StreamState `json:"state"`
	Client *Client     `json:"client"`
	Domain string      `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *SnapshotCreated) Subject() string {
	return AdvisoryPrefix + "STREAM.SNAPSHOT_CREATE." + a.Stream
}
func (a *SnapshotCreated) kind() string { return "advisory.v1.snapshot_create" }

// SnapshotComplete tells that a backup has ended, well or with an error.
type SnapshotComplete struct {
	Head
	Stream string    `json:"stream"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Error  string    `json:"error,omitempty"`
	Client *Client   `json:"client"`
	Domain string    `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *SnapshotComplete) Subject() string {
	return AdvisoryPrefix + "STREAM.SNAPSHOT_COMPLETE." + a.Stream
}
func (a *SnapshotComplete) kind() string { return "advisory.v1.snapshot_complete" }

// RestoreCreated tells that a restore has begun.
type RestoreCreated struct {
	Head
	Stream string  `json:"stream"`
	Client *Client `json:"client"`
	Domain string  `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *RestoreCreated) Subject() string {
	return AdvisoryPrefix + "STREAM.RESTORE_CREATE." + a.Stream
}
func (a *RestoreCreated) kind() string { return "advisory.v1.restore_create" }

// RestoreComplete tells that a restore has ended, and how many bytes were received.
type RestoreComplete struct {
	Head
	Stream string    `json:"stream"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Bytes  int64     `json:"bytes"`
	Error  string    `json:"error,omitempty"`
	Client *Client   `json:"client"`
	Domain string    `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *RestoreComplete) Subject() string {
	return AdvisoryPrefix + "STREAM.RESTORE_COMPLETE." + a.Stream
}
func (a *RestoreComplete) kind() string { return "advisory.v1.restore_complete" }

// BatchAbandoned tells that an atomic batch came to nothing.
type BatchAbandoned struct {
	Head
	Account string `json:"account,omitempty"`
	Stream  string `json:"stream"`
	Batch   string `json:"batch"`
	Reason  string `json:"reason"` // one of the Abandoned constants
	Domain  string `json:"domain,omitempty"`
}

// Why an atomic batch comes to nothing.
const (
	AbandonedTimeout     = "timeout"     // nothing came for too long
	AbandonedLarge       = "large"       // too many messages
	AbandonedIncomplete  = "incomplete"  // a message is missing
	AbandonedUnsupported = "unsupported" // a header that no batch can have
)

// Subject returns where the event is published.
func (a *BatchAbandoned) Subject() string {
	return AdvisoryPrefix + "STREAM.BATCH_ABANDONED." + a.Stream
}
func (a *BatchAbandoned) kind() string { return "advisory.v1.stream_batch_abandoned" }

// LeaderElected tells which server leads a stream, or with Consumer set a consumer.
type LeaderElected struct {
	Head
	Account  string  `json:"account,omitempty"`
	Stream   string  `json:"stream"`
	Consumer string  `json:"consumer,omitempty"`
	Leader   string  `json:"leader"`
	Replicas []*Peer `json:"replicas"`
	Domain   string  `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *LeaderElected) Subject() string {
	return assetSubject("LEADER_ELECTED.", a.Stream, a.Consumer)
}

func (a *LeaderElected) kind() string { return assetKind(a.Consumer, "_leader_elected") }

// QuorumLost tells that too few servers of a stream, or with Consumer set of a consumer, can be reached.
type QuorumLost struct {
	Head
	Account  string  `json:"account,omitempty"`
	Stream   string  `json:"stream"`
	Consumer string  `json:"consumer,omitempty"`
	Replicas []*Peer `json:"replicas"`
	Domain   string  `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *QuorumLost) Subject() string { return assetSubject("QUORUM_LOST.", a.Stream, a.Consumer) }
func (a *QuorumLost) kind() string    { return assetKind(a.Consumer, "_quorum_lost") }

// assetSubject returns the subject of an event that streams and consumers share.
func assetSubject(event, stream, consumer string) string {
	if consumer == "" {
		return AdvisoryPrefix + "STREAM." + event + stream
	}
	return AdvisoryPrefix + "CONSUMER." + event + stream + "." + consumer
}

// assetKind returns the kind of an event that streams and consumers share.
func assetKind(consumer, event string) string {
	if consumer == "" {
		return "advisory.v1.stream" + event
	}
	return "advisory.v1.consumer" + event
}

// OutOfStorage tells, in the system account, that a server has no room for messages any more.
type OutOfStorage struct {
	Head
	Server   string `json:"server"`
	ServerID string `json:"server_id"`
	Stream   string `json:"stream,omitempty"`
	Cluster  string `json:"cluster"`
	Domain   string `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *OutOfStorage) Subject() string { return AdvisoryPrefix + "SERVER.OUT_OF_STORAGE" }
func (a *OutOfStorage) kind() string    { return "advisory.v1.server_out_of_space" }

// APILimitReached tells, in the system account, that so many requests were thrown away.
type APILimitReached struct {
	Head
	Server  string `json:"server"`
	Dropped int64  `json:"dropped"`
	Domain  string `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *APILimitReached) Subject() string { return AdvisoryPrefix + "API.LIMIT_REACHED" }
func (a *APILimitReached) kind() string    { return "advisory.v1.api_limit_reached" }

// DomainLeaderElected tells, in the system account, which server leads the whole domain.
type DomainLeaderElected struct {
	Head
	Leader   string  `json:"leader"`
	Replicas []*Peer `json:"replicas"`
	Cluster  string  `json:"cluster"`
	Domain   string  `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *DomainLeaderElected) Subject() string { return AdvisoryPrefix + "DOMAIN.LEADER_ELECTED" }
func (a *DomainLeaderElected) kind() string    { return "advisory.v1.domain_leader_elected" }

// ServerRemoved tells, in the system account, that a server does not belong to the cluster any more.
type ServerRemoved struct {
	Head
	Server   string `json:"server"`
	ServerID string `json:"server_id"`
	Cluster  string `json:"cluster"`
	Domain   string `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *ServerRemoved) Subject() string { return AdvisoryPrefix + "SERVER.REMOVED" }
func (a *ServerRemoved) kind() string    { return "advisory.v1.server_removed" }

// MetaRescued tells, in the system account, that the quorum of the whole system was lowered.
type MetaRescued struct {
	Head
	Server         string `json:"server"`
	ServerID       string `json:"server_id"`
	PreviousQuorum int    `json:"prev_quorum"`
	NewQuorum      int    `json:"new_quorum"`
	Cluster        string `json:"cluster"`
	Domain         string `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *MetaRescued) Subject() string { return AdvisoryPrefix + "SERVER.META_RESCUE" }
func (a *MetaRescued) kind() string    { return "advisory.v1.meta_rescue" }
