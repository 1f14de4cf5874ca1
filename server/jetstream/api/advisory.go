package api

import (
	"encoding/json"
	"strings"
	"time"
)

// Prefixes of the subjects of events.
const (
	AdvisoryPrefix = "$JS.EVENT.ADVISORY."
	MetricPrefix   = "$JS.EVENT.METRIC."
	// OwnAdvisoryPrefix is for those that are not part of the API of JetStream.
	OwnAdvisoryPrefix = "$RUNNEL.EVENT.ADVISORY."
)

// Event is an advisory or a metric: one of the types of this package that embed Head.
type Event interface {
	// Subject returns where the event is published.
	Subject() string
	head() *Head
	kind() string
}

// Head is what every event begins with. EncodeEvent sets the type.
type Head struct {
	Type string    `json:"type"`
	ID   string    `json:"id"`        // unique
	Time time.Time `json:"timestamp"` // in UTC
}

func (h *Head) head() *Head { return h }

// EncodeEvent returns the event as JSON, with its type, an id and the time. It writes into the event.
func EncodeEvent(e Event, id string, at time.Time) []byte {
	names := "io.nats.jetstream."
	if strings.HasPrefix(e.Subject(), OwnAdvisoryPrefix) {
		names = "io.runnel."
	}
	*e.head() = Head{Type: names + e.kind(), ID: id, Time: at.UTC()}
	out, _ := json.Marshal(e) // only texts, numbers and times of this century
	return out
}

// Client says who made a request.
type Client struct {
	Start        *time.Time    `json:"start,omitempty"`
	Host         string        `json:"host,omitempty"`
	ID           uint64        `json:"id,omitempty"`
	Account      string        `json:"acc,omitempty"`
	Service      string        `json:"svc,omitempty"`
	User         string        `json:"user,omitempty"`
	Name         string        `json:"name,omitempty"`
	Language     string        `json:"lang,omitempty"`
	Version      string        `json:"ver,omitempty"`
	RTT          time.Duration `json:"rtt,omitempty"`
	Server       string        `json:"server,omitempty"`
	Cluster      string        `json:"cluster,omitempty"`
	Alternatives []string      `json:"alts,omitempty"`
	JWT          string        `json:"jwt,omitempty"`
	IssuerKey    string        `json:"issuer_key,omitempty"`
	NameTag      string        `json:"name_tag,omitempty"`
	Tags         []string      `json:"tags,omitempty"`
	Kind         string        `json:"kind,omitempty"`
	ClientType   string        `json:"client_type,omitempty"`
	Nonce        string        `json:"nonce,omitempty"`
}

// APIAudit tells of a request and its answer.
type APIAudit struct {
	Head
	Server   string  `json:"server"`
	Client   *Client `json:"client,omitempty"`
	Request  string  `json:"subject"` // the subject of the request
	Body     string  `json:"request,omitempty"`
	Response string  `json:"response"`
	Domain   string  `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *APIAudit) Subject() string { return AdvisoryPrefix + "API" }
func (a *APIAudit) kind() string    { return "advisory.v1.api_audit" }

// What happened to a stream or consumer.
const (
	ActionCreate = "create"
	ActionModify = "modify"
	ActionDelete = "delete"
)

// actionToken returns the token for an action in a subject.
func actionToken(action string) string {
	switch action {
	case ActionCreate:
		return "CREATED."
	case ActionDelete:
		return "DELETED."
	}
	return "UPDATED."
}

// StreamAction tells that a stream was made, changed or removed.
type StreamAction struct {
	Head
	Stream string `json:"stream"`
	Action string `json:"action"` // one of the Action constants
	Domain string `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *StreamAction) Subject() string {
	return AdvisoryPrefix + "STREAM." + actionToken(a.Action) + a.Stream
}
func (a *StreamAction) kind() string { return "advisory.v1.stream_action" }

// ConsumerAction tells that a consumer was made or removed.
type ConsumerAction struct {
	Head
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Action   string `json:"action"` // one of the Action constants
	Domain   string `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *ConsumerAction) Subject() string {
	return AdvisoryPrefix + "CONSUMER." + actionToken(a.Action) + a.Stream + "." + a.Consumer
}
func (a *ConsumerAction) kind() string { return "advisory.v1.consumer_action" }

// ConsumerPaused tells that a consumer rests, or does so no more.
type ConsumerPaused struct {
	Head
	Stream   string     `json:"stream"`
	Consumer string     `json:"consumer"`
	Paused   bool       `json:"paused"`
	Until    *time.Time `json:"pause_until,omitempty"`
	Domain   string     `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *ConsumerPaused) Subject() string {
	return AdvisoryPrefix + "CONSUMER.PAUSE." + a.Stream + "." + a.Consumer
}
func (a *ConsumerPaused) kind() string { return "advisory.v1.consumer_pause" }

// BreakerTripped tells that a consumer is paused, since most of what its workers try fails. A ConsumerPaused comes with it.
type BreakerTripped struct {
	Head
	Stream   string    `json:"stream"`
	Consumer string    `json:"consumer"`
	Failed   int       `json:"failed"`   // attempts, in the window of the policy
	Attempts int       `json:"attempts"` // that have ended in it
	Until    time.Time `json:"pause_until"`
	Domain   string    `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *BreakerTripped) Subject() string {
	return OwnAdvisoryPrefix + "CONSUMER.BREAKER." + a.Stream + "." + a.Consumer
}
func (a *BreakerTripped) kind() string { return "advisory.v1.consumer_breaker" }

// RedriveEnded tells that a redrive of dead letters has come to its end, or was stopped.
type RedriveEnded struct {
	Head
	Stream string `json:"stream"` // that has, or had, the dead letters
	DeadRedrive
	Domain string `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *RedriveEnded) Subject() string { return OwnAdvisoryPrefix + "DLQ.REDRIVE." + a.Stream }
func (a *RedriveEnded) kind() string    { return "advisory.v1.dlq_redrive" }

// MaxDeliveries tells that a message was delivered as often as may be and is still not acknowledged.
type MaxDeliveries struct {
	Head
	Stream     string `json:"stream"`
	Consumer   string `json:"consumer"`
	Sequence   uint64 `json:"stream_seq"`
	Deliveries uint64 `json:"deliveries"`
	Domain     string `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *MaxDeliveries) Subject() string {
	return AdvisoryPrefix + "CONSUMER.MAX_DELIVERIES." + a.Stream + "." + a.Consumer
}
func (a *MaxDeliveries) kind() string { return "advisory.v1.max_deliver" }

// Delivery is which delivery an event is about.
type Delivery struct {
	Stream           string `json:"stream"`
	Consumer         string `json:"consumer"`
	ConsumerSequence uint64 `json:"consumer_seq"`
	StreamSequence   uint64 `json:"stream_seq"`
	Deliveries       uint64 `json:"deliveries"`
}

// Naked tells that a client wants a message again.
type Naked struct {
	Head
	Delivery
	Domain string `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *Naked) Subject() string {
	return AdvisoryPrefix + "CONSUMER.MSG_NAKED." + a.Stream + "." + a.Consumer
}
func (a *Naked) kind() string { return "advisory.v1.nak" }

// Terminated tells that a message is not delivered again, and why.
type Terminated struct {
	Head
	Delivery
	Reason string `json:"reason,omitempty"`
	Domain string `json:"domain,omitempty"`
}

// Why the server itself terminates.
const (
	ReasonStreamLimits   = "Message deleted by stream limits"
	ReasonUnackedDeleted = "Unacknowledged message was deleted"
)

// Subject returns where the event is published.
func (a *Terminated) Subject() string {
	return AdvisoryPrefix + "CONSUMER.MSG_TERMINATED." + a.Stream + "." + a.Consumer
}
func (a *Terminated) kind() string { return "advisory.v1.terminated" }

// Pinned tells which client a priority group is pinned to.
type Pinned struct {
	Head
	Account  string `json:"account,omitempty"`
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Group    string `json:"group"`
	PinnedID string `json:"pinned_id"`
	Domain   string `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *Pinned) Subject() string {
	return AdvisoryPrefix + "CONSUMER.PINNED." + a.Stream + "." + a.Consumer
}
func (a *Pinned) kind() string { return "advisory.v1.consumer_group_pinned" }

// Unpinned tells that a priority group is pinned no more.
type Unpinned struct {
	Head
	Account  string `json:"account,omitempty"`
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Group    string `json:"group"`
	Reason   string `json:"reason"` // UnpinAdmin or UnpinTimeout
	Domain   string `json:"domain,omitempty"`
}

// Why a pin has gone.
const (
	UnpinAdmin   = "admin"
	UnpinTimeout = "timeout"
)

// Subject returns where the event is published.
func (a *Unpinned) Subject() string {
	return AdvisoryPrefix + "CONSUMER.UNPINNED." + a.Stream + "." + a.Consumer
}
func (a *Unpinned) kind() string { return "advisory.v1.consumer_group_unpinned" }

// AckMetric tells how long an acknowledgement took.
type AckMetric struct {
	Head
	Delivery
	AckTime time.Duration `json:"ack_time"`
	Domain  string        `json:"domain,omitempty"`
}

// Subject returns where the event is published.
func (a *AckMetric) Subject() string {
	return MetricPrefix + "CONSUMER.ACK." + a.Stream + "." + a.Consumer
}
func (a *AckMetric) kind() string { return "metric.v1.consumer_ack" }
