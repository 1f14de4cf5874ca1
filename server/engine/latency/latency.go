// Package latency describes requests to services of other accounts: who asks, and how long the answer took. It has the
// JSON of both, and tells by the headers of a request whether it is to be measured.
package latency

import (
	"bytes"
	"encoding/json"
	"iter"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nuid"

	"runnel/headers"
)

// InfoHeader is the header that tells a service who asks: a [Client].
const InfoHeader = "Nats-Request-Info"

// metricType is in every Metric.
const metricType = "io.nats.server.metric.v1.service_latency"

// The outcomes of a measured request.
const (
	OK          = 200
	BadRequest  = 400 // it asked for no answer
	Unavailable = 503 // nobody took it
	Timeout     = 504 // no answer came in time
)

// Client is what others are told about a client: the account and the round trip always, the rest only by agreement.
type Client struct {
	Start      *time.Time    `json:"start,omitempty"`
	Host       string        `json:"host,omitempty"`
	ID         uint64        `json:"id,omitempty"`
	Account    string        `json:"acc,omitempty"`
	Service    string        `json:"svc,omitempty"` // account that the request came through last, if that is another
	User       string        `json:"user,omitempty"`
	Name       string        `json:"name,omitempty"`
	Language   string        `json:"lang,omitempty"`
	Version    string        `json:"ver,omitempty"`
	RTT        time.Duration `json:"rtt,omitempty"`
	Server     string        `json:"server,omitempty"`
	Cluster    string        `json:"cluster,omitempty"`
	Kind       string        `json:"kind,omitempty"`
	ClientType string        `json:"client_type,omitempty"`
}

// JSON returns the text of c.
func (c *Client) JSON() []byte {
	text, err := json.Marshal(c)
	if err != nil {
		return nil // never: it has texts, numbers and a time
	}
	return text
}

// Brief returns the beginning of the text of a Client of which only the account and the round trip are told: append the
// latter with AppendRTT.
func Brief(account string) []byte {
	text := (&Client{Account: account}).JSON()
	return text[:len(text)-1]
}

// Strip returns a header block without what a reader could take for an [InfoHeader] of the server: some readers end lines
// at a CR or an LF alone, and some do not tell upper from lower case or leave blanks out. Nor does the result end before
// its end, which would hide what is added there. It is the same block mostly, and nil where nothing is left.
func Strip(block []byte) []byte {
	if len(block) == 0 {
		return nil
	}
	n, forged := 0, false
	for line := range lines(block) {
		n++
		forged = forged || isInfo(line)
	}
	ends := bytes.Count(block, []byte(newline))
	regular := ends == n+1 && ends == bytes.Count(block, []byte("\r")) && ends == bytes.Count(block, []byte("\n")) &&
		bytes.HasSuffix(block, []byte(newline+newline))
	if regular && !forged {
		return block
	}
	out := make([]byte, 0, len(block)+len(newline))
	n = 0
	for line := range lines(block) {
		if !isInfo(line) {
			out = append(append(out, line...), newline...)
			n++
		}
	}
	if n <= 1 {
		return nil // but for the first line
	}
	return append(out, newline...)
}

const newline = "\r\n"

// lines iterates over the parts of a header block that end in CR or LF, without empty ones.
func lines(block []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(block) > 0 {
			line := block
			if end := bytes.IndexAny(block, newline); end >= 0 {
				line, block = block[:end], block[end+1:]
			} else {
				block = nil
			}
			if len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}

// isInfo tells whether a line has the name of an InfoHeader.
func isInfo(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte(":"))
	return ok && bytes.EqualFold(bytes.TrimSpace(name), []byte(InfoHeader))
}

// AppendRTT appends the rest of what Brief begins to b.
func AppendRTT(b []byte, rtt time.Duration) []byte {
	if rtt > 0 {
		b = strconv.AppendInt(append(b, `,"rtt":`...), int64(rtt), 10)
	}
	return append(b, '}')
}

// Metric is what is published about one request.
type Metric struct {
	Type        string              `json:"type"`
	ID          string              `json:"id"`
	Timestamp   time.Time           `json:"timestamp"`
	Status      int                 `json:"status"`
	Description string              `json:"description,omitempty"`
	Requester   *Client             `json:"requestor,omitempty"`
	Responder   *Client             `json:"responder,omitempty"`
	Header      map[string][]string `json:"header,omitempty"` // that had it measured
	Start       time.Time           `json:"start"`            // when the requester sent it, about
	Service     time.Duration       `json:"service"`          // that the service took
	System      time.Duration       `json:"system"`           // that the server took
	Total       time.Duration       `json:"total"`            // that the requester waited, about
}

// Measurement is a request that is being measured.
type Measurement struct {
	Requester *Client             // nil for the server itself
	Header    map[string][]string // that asked for it, nil when chance did
	Start     time.Time           // when the server had it
}

// Bytes is about how much memory m keeps.
func (m *Measurement) Bytes() int {
	n := measurementBytes
	for name, values := range m.Header {
		n += len(name)
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}

// measurementBytes is a Measurement with its Requester, without headers.
const measurementBytes = 512

// Failed returns the text of the metric of a request that got no answer.
func (m *Measurement) Failed(status int, now time.Time) []byte {
	description := map[int]string{
		BadRequest: "Bad Request", Unavailable: "Service Unavailable", Timeout: "Service Timeout",
	}[status]
	return m.text(&Metric{Status: status, Description: description}, now)
}

// Answered returns the text of the metric of a request whose answer came at now from responder, nil for the server
// itself, and was passed on at done.
func (m *Measurement) Answered(responder *Client, now, done time.Time) []byte {
	elapsed := max(now.Sub(m.Start), 0)
	x := &Metric{Status: OK, Responder: responder, System: max(done.Sub(now), 0), Service: elapsed}
	if responder != nil {
		x.Service = max(elapsed-responder.RTT, 0)
	}
	x.Total = m.rtt() + elapsed + x.System
	return m.text(x, now)
}

func (m *Measurement) text(x *Metric, now time.Time) []byte {
	x.Type, x.ID, x.Timestamp = metricType, nuid.Next(), now.UTC()
	x.Requester, x.Header, x.Start = m.Requester, m.Header, m.Start.Add(-m.rtt()).UTC()
	text, err := json.Marshal(x)
	if err != nil {
		return nil // never: it has texts, numbers and times that are now
	}
	return text
}

// rtt is the round trip of the requester.
func (m *Measurement) rtt() time.Duration {
	if m.Requester == nil {
		return 0
	}
	return m.Requester.RTT
}

// Asked tells whether the header block of a request asks that it be measured, as those of traces do (Jaeger, Zipkin,
// W3C), and by which headers. The first kind that is there decides.
func Asked(block []byte) (header map[string][]string, ok bool) {
	if len(block) == 0 {
		return nil, false
	}
	for _, k := range []struct {
		name string
		asks func(value string) bool
	}{
		{"Uber-Trace-Id", func(v string) bool { return odd(fourth(v, ":")) }},
		{"X-B3-Sampled", func(v string) bool { return v == "1" }},
		{"X-B3-TraceId", func(string) bool { return true }},
		{"B3", asksB3},
		{"Traceparent", func(v string) bool { return odd(fourth(v, "-")) }},
	} {
		if v, there := find(block, k.name); there {
			return map[string][]string{textproto.CanonicalMIMEHeaderKey(k.name): {v}}, k.asks(v)
		}
	}
	return nil, false
}

// find returns the first value of a header, whose name may be in upper or lower case: traces come from elsewhere.
func find(block []byte, name string) (value string, ok bool) {
	for n, v := range headers.All(block) {
		if len(n) == len(name) && strings.EqualFold(string(n), name) {
			return string(v), true
		}
	}
	return "", false
}

// asksB3 reads the header that has all of Zipkin in one: a state, or ids and then perhaps a state.
func asksB3(v string) bool {
	parts := strings.Split(v, "-")
	switch len(parts) {
	case 1:
		return v != "0"
	case 2:
		return true
	}
	return parts[2] != "0"
}

// fourth is the fourth part of v, which is the last one; nothing if there are fewer or more.
func fourth(v, separator string) string {
	parts := strings.Split(v, separator)
	if len(parts) != 4 {
		return ""
	}
	return parts[3]
}

// odd tells whether a hexadecimal number of at most 16 bits has its lowest one set, as that of a trace that is taken
// down has.
func odd(text string) bool {
	n, err := strconv.ParseUint(text, 16, 16)
	return err == nil && n&1 == 1
}
