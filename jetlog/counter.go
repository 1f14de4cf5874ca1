package jetlog

import (
	"encoding/json"
	"math/big"

	"runnel/jetlog/config"
)

// total is the payload of a message of a counter stream.
type total struct {
	Value string `json:"val"`
}

// add turns a message of a counter stream into one with the new total of its subject: that of its
// last message, and what this one adds.
func (s *Stream) add(a *arrival, m Messages) (Result, error) {
	t := a.terms
	switch {
	case !t.increment:
		return refused(config.CounterMissing), nil
	case len(a.payload) > 0:
		return refused(config.CounterPayload), nil
	case t.last.set || t.lastOnSubject.set || len(t.lastID) > 0 || len(t.rollup) > 0:
		return refused(config.CounterInvalid), nil
	}
	sum, ok := new(big.Int).SetString(string(t.by), 10)
	if !ok {
		return refused(config.CounterInvalid), nil
	}
	state, err := m.Subject(a.subject)
	if err != nil {
		return Result{}, err
	}
	if state.Count > 0 {
		last, err := m.Load(state.Last)
		if err != nil {
			return Result{}, err
		}
		var before total
		value, ok := new(big.Int), json.Unmarshal(last.Payload, &before) == nil
		if ok {
			_, ok = value.SetString(before.Value, 10)
		}
		if !ok {
			return refused(config.CounterBroken), nil
		}
		sum.Add(sum, value)
	}
	a.total = sum.String()
	// The total is digits, which need no escaping.
	a.payload = []byte(`{"val":"` + a.total + `"}`)
	return Result{}, nil
}
