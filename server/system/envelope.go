package system

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"runnel/headers"
	"runnel/server/monitor"
)

// maxReplyBytes bounds a reply as it goes out. It stays well below the bytes that may wait for a client, so
// that an answer never makes its reader a slow consumer.
const maxReplyBytes = 32 << 20

// ServerInfo introduces the server in every message that it sends.
type ServerInfo struct {
	Name         string            `json:"name"`
	Host         string            `json:"host"`
	ID           string            `json:"id"`
	Cluster      string            `json:"cluster,omitempty"`
	Domain       string            `json:"domain,omitempty"`
	Version      string            `json:"ver"`
	Tags         []string          `json:"tags,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	FeatureFlags map[string]bool   `json:"feature_flags,omitempty"`
	JetStream    bool              `json:"jetstream"`
	Flags        uint64            `json:"flags"` // capabilities: bit 0 is JetStream
	Sequence     uint64            `json:"seq"`   // of the messages that this server sends
	Time         time.Time         `json:"time"`
}

// serverInfo introduces the server in the next message.
func (s *System) serverInfo() ServerInfo {
	id := s.cfg.Pages.Identity()
	info := ServerInfo{
		Name: id.Name, Host: id.Host, ID: id.ID, Cluster: id.Cluster, Domain: id.Domain, Version: id.Version,
		Tags: id.Tags, Metadata: id.Metadata, FeatureFlags: id.FeatureFlags, JetStream: id.JetStream,
		Sequence: s.sequence.Add(1), Time: time.Now().UTC(),
	}
	if id.JetStream {
		info.Flags = 1
	}
	return info
}

// envelope is the form of most replies: data or an error, or neither after an action that worked.
type envelope struct {
	Server ServerInfo `json:"server"`
	Data   any        `json:"data,omitempty"`
	Error  *failure   `json:"error,omitempty"`
}

// failure is an error for the one who asked.
type failure struct {
	Code        int    `json:"code"`
	Description string `json:"description"`
}

// fail makes a failure of an error: what the pages refuse keeps its code, everything else is 500.
func fail(err error) *failure {
	f := &failure{Code: http.StatusInternalServerError, Description: err.Error()}
	var refused *monitor.RequestError
	if errors.As(err, &refused) {
		f.Code = refused.Code
	}
	return f
}

// bare is a reply without the envelope and never compressed: bytes, or a value to be written as JSON.
type bare struct{ body any }

// reply answers a request with the outcome of its service. What was asked of the leader of the meta group is left to it.
func (s *System) reply(c *call, data any, err error) {
	if c.Reply == "" || errors.Is(err, monitor.ErrNotLeader) {
		return
	}
	if b, ok := data.(bare); ok && err == nil {
		s.send(c, nil, s.encode(b.body))
		return
	}
	e := envelope{Server: s.serverInfo(), Data: data}
	if err != nil {
		e.Data, e.Error = nil, fail(err)
	}
	header, body := compress(c.Header, s.encode(e))
	if len(body) > maxReplyBytes {
		e.Data, e.Error = nil, &failure{
			Code:        http.StatusRequestEntityTooLarge,
			Description: fmt.Sprintf("the answer has %d bytes, at most %d are sent: ask for less, with limit and offset", len(body), maxReplyBytes),
		}
		header, body = nil, s.encode(e)
	}
	s.send(c, header, body)
}

// Enclose writes an answer to a request that somebody else serves, in the form of those that are served here: data, or
// with its absence a failure, which says what there is to say.
func (s *System) Enclose(data, failure any) []byte {
	return s.encode(struct {
		Server ServerInfo `json:"server"`
		Data   any        `json:"data,omitempty"`
		Error  any        `json:"error,omitempty"`
	}{s.serverInfo(), data, failure})
}

func (s *System) send(c *call, header, body []byte) {
	s.cfg.Bus.Publish(c.from, c.Reply, "", header, body)
}

// encode writes a value as JSON; bytes are taken as they are.
func (s *System) encode(v any) []byte {
	if b, ok := v.([]byte); ok {
		return b
	}
	b, err := json.Marshal(v)
	if err != nil {
		s.cfg.Logger.Error("system message cannot be written as JSON", "error", err)
		return []byte(`{"error":{"code":500,"description":"the answer cannot be written as JSON"}}`)
	}
	return b
}

// acceptEncoding is the header that says in which encodings an answer is wanted.
const acceptEncoding = "Accept-Encoding"

// compress encodes a body as the header of the request accepts it, and returns the header that says how. Of
// several encodings snappy wins; s2 is another word for it.
func compress(request, body []byte) (header, encoded []byte) {
	accept, ok := headers.Get(request, acceptEncoding)
	if !ok {
		return nil, body
	}
	var snappy, gz bool
	for encoding := range strings.SplitSeq(strings.ToLower(string(accept)), ",") {
		switch strings.TrimSpace(encoding) {
		case "snappy", "s2":
			snappy = true
		case "gzip":
			gz = true
		}
	}
	name := "identity"
	var b bytes.Buffer
	// Writes to a bytes.Buffer do not fail.
	switch {
	case snappy:
		name = "snappy"
		w := s2.NewWriter(&b, s2.WriterSnappyCompat(), s2.WriterConcurrency(1))
		_, _ = w.Write(body)
		_ = w.Close()
		body = b.Bytes()
	case gz:
		name = "gzip"
		w := gzip.NewWriter(&b)
		_, _ = w.Write(body)
		_ = w.Close()
		body = b.Bytes()
	}
	return headers.Build(headers.Field{Name: "Content-Encoding", Value: name}), body
}
