package monitor

import (
	"fmt"
	"net/http"
)

// jetStreamHealth probes JetStream, which is asked for: that it runs, that what the request names is there, and that
// what it is about works.
func (p *Pages) jetStreamHealth(o HealthzOptions) *Healthz {
	js, on := p.source.JetStream()
	switch {
	case !on:
		return unwell(http.StatusServiceUnavailable, o, HealthzError{Type: "JETSTREAM", Error: "JetStream is enabled but does not run"})
	case js.Err != nil:
		return unwell(http.StatusServiceUnavailable, o, HealthzError{Type: "JETSTREAM", Error: "JetStream: " + js.Err.Error()})
	case o.JSEnabledOnly, o.JSServerOnly:
		return well()
	case js.Meta != nil && js.Meta.Waiting != "":
		return unwell(http.StatusServiceUnavailable, o, HealthzError{Type: "JETSTREAM", Error: js.Meta.Waiting})
	case o.JSMetaOnly:
		return well()
	}
	if o.Account != "" {
		if missing := p.findHealthy(o); missing != nil {
			return unwell(http.StatusNotFound, o, *missing)
		}
	}
	var down, degraded []HealthzError
	for _, problem := range worstFirst(js.Problems) {
		switch {
		case !problem.concerns(o):
		case problem.Down:
			down = append(down, problem.asError())
		default:
			degraded = append(degraded, problem.asError())
		}
	}
	h := well()
	if len(down) > 0 {
		h = unwell(http.StatusServiceUnavailable, o, down...)
	}
	for i := range degraded {
		degraded[i].Type = degraded[i].kind()
	}
	h.Degraded = degraded[:min(len(degraded), maxHealthErrors)]
	return h
}

// findHealthy returns nil when the account, stream and consumer that a request names are there, otherwise the first
// that is not.
func (p *Pages) findHealthy(o HealthzOptions) *HealthzError {
	if !p.hasJetStream(o.Account) {
		return &HealthzError{Account: o.Account, Error: fmt.Sprintf("JetStream account %q not found", o.Account)}
	}
	if o.Stream == "" {
		return nil
	}
	query := StreamQuery{Stream: o.Stream, Consumers: o.Consumer != "", Consumer: o.Consumer}
	for s := range p.source.JetStreamStreams(o.Account, query) {
		if s.Name != o.Stream {
			continue
		}
		for i := range s.Consumers {
			if s.Consumers[i].Name == o.Consumer {
				return nil
			}
		}
		if o.Consumer == "" {
			return nil
		}
		text := fmt.Sprintf("JetStream consumer %q not found for stream %q on account %q", o.Consumer, o.Stream, o.Account)
		return &HealthzError{Account: o.Account, Stream: o.Stream, Consumer: o.Consumer, Error: text}
	}
	text := fmt.Sprintf("JetStream stream %q not found on account %q", o.Stream, o.Account)
	return &HealthzError{Account: o.Account, Stream: o.Stream, Error: text}
}

// concerns reports whether a problem is one of what a request is about. A stream that is down takes its consumers
// with it.
func (p *Problem) concerns(o HealthzOptions) bool {
	return (o.Account == "" || o.Account == p.Account) &&
		(o.Stream == "" || o.Stream == p.Stream) &&
		(o.Consumer == "" || o.Consumer == p.Consumer || p.Consumer == "")
}

// asError returns a problem as the probe shows it, with what it concerns in words.
func (p *Problem) asError() HealthzError {
	if p.Stream == "" {
		return HealthzError{Type: "JETSTREAM", Error: "JetStream: " + p.Text}
	}
	what := fmt.Sprintf("JetStream stream %q on account %q", p.Stream, p.Account)
	if p.Consumer != "" {
		what = fmt.Sprintf("JetStream consumer %q of stream %q on account %q", p.Consumer, p.Stream, p.Account)
	}
	return HealthzError{Account: p.Account, Stream: p.Stream, Consumer: p.Consumer, Error: what + ": " + p.Text}
}
