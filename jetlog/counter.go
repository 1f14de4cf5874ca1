package jetlog

import (
	"encoding/json"
	"math/big"

	"runnel/headers"
	"runnel/jetlog/config"
	"runnel/jetlog/counter"
)

// Headers of counters.
const (
	incrementHeader = "Nats-Incr"
	sourcesHeader   = "Nats-Counter-Sources"
)

// counterRefusal returns why a message cannot be one of a counter stream, whatever is in it. What other
// streams have counted comes with a payload.
func (a *arrival) counterRefusal() config.Code {
	t := a.terms
	switch {
	case !t.Increment:
		return config.CounterMissing
	case len(a.payload) > 0 && !a.sourced():
		return config.CounterPayload
	case !a.internal && (t.Last.Set || t.LastOnSubject.Set || len(t.LastID) > 0 || len(t.Rollup) > 0):
		return config.CounterInvalid
	}
	return 0
}

// sourced reports whether a message is a copy from another stream.
func (a *arrival) sourced() bool { return a.internal && a.terms.HasSource }

// add turns a message of a counter stream into one with the new total of its subject: that of its
// last message, and what this one adds. One from another stream has the total there, and adds what that has
// grown since the last one from there: so it does not matter how often it comes.
func (s *Stream) add(a *arrival, m Messages) (Result, error) {
	sum, sources, r, err := s.lastTotal(a.subject, m)
	if err != nil || r.Code != 0 {
		return r, err
	}
	by, ok := new(big.Int).SetString(string(a.terms.By), 10)
	if !ok {
		return refused(config.CounterInvalid), nil
	}
	if a.sourced() {
		if by, ok = sources.Take(a.terms.Source, a.subject, a.payload); !ok {
			return refused(config.CounterBroken), nil
		}
		a.header = headers.Set(a.header, incrementHeader, by.String())
	}
	if len(sources) > 0 {
		text, err := json.Marshal(sources)
		if err != nil {
			return Result{}, err
		}
		a.header = headers.Set(a.header, sourcesHeader, string(text))
	} else if _, found := headers.Get(a.header, sourcesHeader); found {
		a.header = headers.Delete(a.header, sourcesHeader)
	}
	a.total = sum.Add(sum, by).String()
	a.payload = counter.Payload(a.total)
	return Result{}, nil
}

// lastTotal returns what the counter of a subject has come to, and what it has taken in.
func (s *Stream) lastTotal(subject string, m Messages) (*big.Int, counter.Seen, Result, error) {
	sum, sources := new(big.Int), counter.Seen{}
	state, err := m.Subject(subject)
	if err != nil || state.Count == 0 {
		return sum, sources, Result{}, err
	}
	last, err := m.Load(state.Last)
	if err != nil {
		return nil, nil, Result{}, err
	}
	text, found := headers.Get(last.Header, sourcesHeader)
	if !counter.Parse(last.Payload, sum) || found && json.Unmarshal(text, &sources) != nil {
		return nil, nil, refused(config.CounterBroken), nil
	}
	return sum, sources, Result{}, nil
}
