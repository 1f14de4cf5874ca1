package monitor

import "net/http"

// HealthzOptions are the parameters of the health probe. Those about JetStream narrow down or widen what is
// checked; as long as the server has no JetStream, only the server itself can be unwell.
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
type Healthz struct {
	Status     string         `json:"status"` // "ok", "unavailable" or "error"
	StatusCode int            `json:"status_code,omitempty"`
	Error      string         `json:"error,omitempty"`
	Errors     []HealthzError `json:"errors,omitempty"`
}

// HealthzError is one thing that is wrong, listed when details are asked for.
type HealthzError struct {
	Type     string `json:"type"` // "CONN", "JETSTREAM", "ACCOUNT", "STREAM" or "CONSUMER"
	Account  string `json:"account,omitempty"`
	Stream   string `json:"stream,omitempty"`
	Consumer string `json:"consumer,omitempty"`
	Error    string `json:"error,omitempty"`
}

// Healthz probes the server.
func (p *Pages) Healthz(o HealthzOptions) *Healthz {
	switch {
	case o.Stream != "" && o.Account == "":
		return unwell(http.StatusBadRequest, "error", `"account" must not be empty when checking stream health`, o)
	case o.Consumer != "" && o.Stream == "":
		return unwell(http.StatusBadRequest, "error", `"stream" must not be empty when checking consumer health`, o)
	}
	if err := p.source.Health(); err != nil {
		return unwell(http.StatusServiceUnavailable, "unavailable", err.Error(), o)
	}
	return &Healthz{Status: "ok", StatusCode: http.StatusOK}
}

func unwell(code int, status, text string, o HealthzOptions) *Healthz {
	h := &Healthz{Status: status, StatusCode: code}
	if o.Details {
		h.Errors = []HealthzError{{Type: "CONN", Error: text}}
	} else {
		h.Error = text
	}
	return h
}
