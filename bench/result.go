package bench

import (
	"time"

	"runnel/bench/verify"
)

// Verdicts of the verification of a run.
const (
	VerdictPassed = "passed"
	VerdictFailed = "failed"
	VerdictOff    = "off"
)

// Result is what one run of one case measured. Its JSON form is stable: fields
// are added, never renamed. What was not measured is null.
type Result struct {
	Case    string    `json:"case"`
	Server  string    `json:"server"` // its name and version, as it told
	Started time.Time `json:"started"`
	Params  Params    `json:"params"`

	// Messages is the number of published messages in the measured phase: round
	// trips for request, received per subscriber for sub, opened for
	// connections. Deliveries is what all subscribers together received.
	Messages            int64   `json:"messages"`
	Deliveries          int64   `json:"deliveries"`
	Seconds             float64 `json:"seconds"`
	MessagesPerSecond   float64 `json:"messages_per_second"`
	DeliveriesPerSecond float64 `json:"deliveries_per_second"`
	BytesPerSecond      float64 `json:"bytes_per_second"` // payload, published and delivered

	// Server usage, where its process is known: CPU in the measured phase,
	// memory before it and at its highest.
	CPUSeconds    *float64 `json:"cpu_seconds"`
	CPUPerMessage *float64 `json:"cpu_us_per_message"`
	RSSBefore     *int64   `json:"rss_before_bytes"`
	RSSPeak       *int64   `json:"rss_peak_bytes"`
	// RSSPerConnection is set by connections only.
	RSSPerConnection *float64 `json:"rss_bytes_per_connection"`

	// Latency is that of deliveries (with a rate), round trips or connecting.
	Latency *Latency `json:"latency_us"`

	// Verdict is one of the Verdict constants, Tally what it rests on.
	Verdict string       `json:"verdict"`
	Tally   verify.Tally `json:"tally"`
	// Partial says that the run ended early: the numbers hold for the part that
	// was done. Error says why, or what else failed.
	Partial bool   `json:"partial"`
	Error   string `json:"error,omitempty"`
}

// OK reports whether the run went through and nothing was found wrong.
func (r *Result) OK() bool { return !r.Partial && r.Error == "" && r.Verdict != VerdictFailed }

// result turns what a session measured into a Result.
func (s *session) result(c Case, err error) Result {
	m := &s.measure
	r := Result{
		Case:       c.Name,
		Server:     m.server,
		Started:    m.begun.UTC(),
		Params:     c.Params,
		Messages:   m.messages,
		Deliveries: m.deliveries,
		Seconds:    m.seconds,
		Verdict:    s.verdict(),
		Tally:      m.tally,
	}
	if m.latency != nil {
		r.Latency = m.latency.Latency()
	}
	if m.seconds > 0 {
		r.MessagesPerSecond = float64(m.messages) / m.seconds
		r.DeliveriesPerSecond = float64(m.deliveries) / m.seconds
		r.BytesPerSecond = float64((m.messages+m.deliveries)*int64(c.Params.SizeBytes)) / m.seconds
	}
	s.addUsage(&r)
	if err != nil {
		r.Partial, r.Error = true, err.Error()
		if interrupted(err) {
			r.Error = "interrupted"
		}
	}
	return r
}

// verdict says what the verification came to. A run with nothing to verify, as
// pub is, counts as not verified.
func (s *session) verdict() string {
	switch t := &s.measure.tally; {
	case !s.target.Verify:
		return VerdictOff
	case !t.OK():
		return VerdictFailed
	case t.Delivered == 0:
		return VerdictOff
	default:
		return VerdictPassed
	}
}

// addUsage fills in what the server used.
func (s *session) addUsage(r *Result) {
	m := &s.measure
	if !m.measured {
		return
	}
	cpu, before, peak := m.cpu.Seconds(), m.before.RSSBytes, m.rssPeak.Load()
	r.CPUSeconds, r.RSSBefore, r.RSSPeak = &cpu, &before, &peak
	if m.messages == 0 {
		return
	}
	each := cpu * 1e6 / float64(m.messages)
	r.CPUPerMessage = &each
	if r.Params.Connections > 0 {
		memory := float64(peak-before) / float64(m.messages)
		r.RSSPerConnection = &memory
	}
}
