package system

import (
	"runnel/headers"
	"runnel/server/msgtrace"
)

// way is a message whose way is to be told.
type way struct {
	account, destination string
	trace                *msgtrace.Trace
}

// wayMessage is what is published about it.
type wayMessage struct {
	Server ServerInfo `json:"server"`
	msgtrace.Report
}

// Traced publishes what has become of a message, on destination in the account. When too many wait it is dropped, and the
// log says so.
func (s *System) Traced(account, destination string, t *msgtrace.Trace) {
	s.ways.put(way{account, destination, t})
}

// publishWay publishes a report, encoded as the traced message itself wants answers.
func (s *System) publishWay(w way) {
	m := wayMessage{s.serverInfo(), w.trace.Report()}
	var accept []byte
	if values := m.Request.Header[acceptEncoding]; len(values) > 0 {
		accept = headers.Build(headers.Field{Name: acceptEncoding, Value: values[0]})
	}
	header, body := compress(accept, s.encode(m))
	s.cfg.Bus.Publish(w.account, w.destination, "", header, body)
}
