package monitor

import (
	"fmt"
	"net/http"

	"runnel/server/memory"
)

// HealthzOptions are the parameters of the health probe. Those about JetStream narrow down what is checked.
type HealthzOptions struct {
	JSEnabledOnly bool   // only whether JetStream runs where it is enabled
	JSServerOnly  bool   // not streams and consumers
	JSMetaOnly    bool   // only the meta group
	Account       string // only streams of this account
	Stream        string // only this stream, needs Account
	Consumer      string // only this consumer, needs Stream
	Details       bool   // list every error
}

func (o *HealthzOptions) parameters() []parameter {
	return []parameter{
		flag("js-enabled", "js-enabled", &o.JSEnabledOnly), // the old name of the next one
		flag("js-enabled-only", "js-enabled-only", &o.JSEnabledOnly),
		flag("js-server-only", "js-server-only", &o.JSServerOnly),
		flag("js-meta-only", "js-meta-only", &o.JSMetaOnly),
		text("account", "account", &o.Account),
		text("stream", "stream", &o.Stream),
		text("consumer", "consumer", &o.Consumer),
		flag("details", "details", &o.Details),
	}
}

// Healthz is the answer of the health probe. StatusCode is the HTTP status; $SYS shows it in the JSON.
//
// Degraded lists what works although something was lost. It does not make the server unwell: no restart would bring
// it back.
type Healthz struct {
	Status     string         `json:"status"` // "ok", "unavailable" or "error"
	StatusCode int            `json:"status_code,omitempty"`
	Error      string         `json:"error,omitempty"`
	Errors     []HealthzError `json:"errors,omitempty"`
	Degraded   []HealthzError `json:"degraded,omitempty"`
}

// HealthzError is one thing that is wrong.
type HealthzError struct {
	Type     string `json:"type"` // "CONN", "JETSTREAM", "ACCOUNT", "STREAM", "CONSUMER" or "MEMORY"
	Account  string `json:"account,omitempty"`
	Stream   string `json:"stream,omitempty"`
	Consumer string `json:"consumer,omitempty"`
	Error    string `json:"error,omitempty"`
}

// maxHealthErrors bounds an answer of the health probe.
const maxHealthErrors = 100

// Healthz probes the server.
func (p *Pages) Healthz(o HealthzOptions) *Healthz {
	switch {
	case o.Stream != "" && o.Account == "":
		return unwell(http.StatusBadRequest, o, HealthzError{Error: `"account" must not be empty when checking stream health`})
	case o.Consumer != "" && o.Stream == "":
		return unwell(http.StatusBadRequest, o, HealthzError{Error: `"stream" must not be empty when checking consumer health`})
	}
	if err := p.source.Health(); err != nil {
		return unwell(http.StatusServiceUnavailable, o, HealthzError{Error: err.Error()})
	}
	h := well()
	if p.source.Identity().JetStream {
		h = p.jetStreamHealth(o)
	}
	if m := p.source.Server().Memory; m != nil && m.Step == memory.Stopped {
		h.Degraded = append(h.Degraded, HealthzError{Type: "MEMORY", Error: fmt.Sprintf(
			"memory is used up: %d of %d bytes are in use, publishers to streams all but wait, and new connections are refused", m.UsedBytes, m.GoalBytes)})
	}
	return h
}

// well is the answer of a server to which nothing is wrong.
func well() *Healthz { return &Healthz{Status: "ok", StatusCode: http.StatusOK} }

// unwell is the answer of a server, or to a request, with which something is wrong: the first thing in words, or all
// of them with details.
func unwell(code int, o HealthzOptions, errors ...HealthzError) *Healthz {
	h := &Healthz{Status: "unavailable", StatusCode: code}
	if o.Details || code == http.StatusBadRequest {
		h.Status = "error"
	}
	if !o.Details {
		if h.Error = errors[0].Error; len(errors) > 1 {
			h.Error += fmt.Sprintf(" (and %d more, details=1 lists them)", len(errors)-1)
		}
		return h
	}
	for i := range errors {
		errors[i].Type = errors[i].kind()
	}
	h.Errors = errors[:min(len(errors), maxHealthErrors)]
	return h
}

// kind is the type of what is wrong, by what it concerns.
func (e *HealthzError) kind() string {
	switch {
	case e.Type != "":
		return e.Type
	case e.Consumer != "":
		return "CONSUMER"
	case e.Stream != "":
		return "STREAM"
	case e.Account != "":
		return "ACCOUNT"
	}
	return "CONN"
}
