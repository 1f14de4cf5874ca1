// Package counter is what a message of a counter says: a total, and what has been taken in of counters of other streams. It
// is pure.
package counter

import (
	"bytes"
	"encoding/json"
	"math/big"
)

// total is the payload of a message of a counter stream.
type total struct {
	Value string `json:"val"`
}

// Payload returns the payload for a total, which is digits and needs no escaping.
func Payload(value string) []byte { return []byte(`{"val":"` + value + `"}`) }

// Parse reads the payload of a counter, and reports whether it is one.
func Parse(payload []byte, into *big.Int) bool {
	var t total
	if json.Unmarshal(payload, &t) != nil {
		return false
	}
	_, ok := into.SetString(t.Value, 10)
	return ok
}

// Seen are the totals of counters of other streams that a counter has taken in, by stream and subject. They
// stand in the header of its last message.
type Seen map[string]map[string]string

// sourceFields is how many fields a Nats-Stream-Source has that tells the subject: stream, sequence,
// filter, destination, subject.
const sourceFields = 5

// Take notes the total that a message from another stream brings, on a subject here, and returns how much that has grown. It
// is false if the message brings none.
func (s Seen) Take(source []byte, subject string, payload []byte) (*big.Int, bool) {
	value, before := new(big.Int), new(big.Int)
	fields := bytes.Split(source, []byte(" "))
	if !Parse(payload, value) || len(fields[0]) == 0 {
		return nil, false
	}
	stream := string(fields[0])
	if len(fields) >= sourceFields {
		subject = string(fields[sourceFields-1])
	}
	if text, ok := s[stream][subject]; ok {
		if _, ok := before.SetString(text, 10); !ok {
			return nil, false
		}
	}
	if s[stream] == nil {
		s[stream] = map[string]string{}
	}
	s[stream][subject] = value.String()
	return value.Sub(value, before), true
}
