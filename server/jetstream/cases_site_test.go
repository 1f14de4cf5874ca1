package jetstream_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server"
	"runnel/server/servertest"
)

// site is a server with JetStream on a folder that outlives it, and a client of it.
type site struct {
	t      *testing.T
	dir    string // its folder
	config string
	server *server.Server
	conn   *nats.Conn
}

// newSite starts a server. more stands in its config beside jetstream.
func newSite(t *testing.T, more string) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, dir: dir, config: fmt.Sprintf("server_name: case\njetstream { store_dir: %q, sync: os }\n%s", dir, more)}
	s.open()
	return s
}

func (s *site) open() {
	s.t.Helper()
	s.server = servertest.Start(s.t, s.config)
	s.conn = servertest.Connect(s.t, s.server)
}

// restart ends the server and starts another one on the same store.
func (s *site) restart() {
	s.t.Helper()
	s.stop()
	s.open()
}

func (s *site) stop() {
	s.t.Helper()
	s.conn.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), servertest.Patience)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		s.t.Fatalf("shut down: %v", err)
	}
}

// reply is an answer of the API.
type reply struct {
	code int // the err_code, 0 when all went well
	text string
	raw  []byte
}

// ask sends a request to a subject below $JS.API.
func (s *site) ask(subject, body string) reply {
	s.t.Helper()
	m, err := s.conn.Request("$JS.API."+subject, []byte(body), servertest.Patience)
	if err != nil {
		s.t.Fatalf("%s %s: %v", subject, body, err)
	}
	var a struct {
		Error struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &a); err != nil {
		s.t.Fatalf("%s: %v in %s", subject, err, m.Data)
	}
	return reply{a.Error.Code, a.Error.Description, m.Data}
}

// must is a request that has to succeed; its answer is decoded into v, unless that is nil.
func (s *site) must(subject, body string, v any) {
	s.t.Helper()
	r := s.ask(subject, body)
	if r.code != 0 {
		s.t.Fatalf("%s %s: %d %s", subject, body, r.code, r.text)
	}
	if v != nil {
		if err := json.Unmarshal(r.raw, v); err != nil {
			s.t.Fatalf("%s: %v", subject, err)
		}
	}
}

// refuses checks that a request has this error.
func (s *site) refuses(subject, body string, code int) {
	s.t.Helper()
	if r := s.ask(subject, body); r.code != code {
		s.t.Errorf("%s %.200s: got %d %s, want %d", subject, body, r.code, r.text, code)
	}
}

// stream creates a stream. fields is what its configuration has beside the name.
func (s *site) stream(name, fields string) {
	s.t.Helper()
	s.must("STREAM.CREATE."+name, streamBody(name, fields), nil)
}

func streamBody(name, fields string) string { return fmt.Sprintf(`{"name":%q,%s}`, name, fields) }

// consumer creates a durable that acknowledges explicitly unless fields say otherwise.
func (s *site) consumer(stream, name, fields string) {
	s.t.Helper()
	s.must("CONSUMER.CREATE."+stream+"."+name, consumerBody(stream, name, "", fields), nil)
}

func consumerBody(stream, name, action, fields string) string {
	if fields == "" {
		fields = `"ack_policy":"explicit"`
	}
	return fmt.Sprintf(`{"stream_name":%q,"action":%q,"config":{"durable_name":%q,%s}}`, stream, action, name, fields)
}

// streamState is what the cases look at of a stream.
type streamState struct {
	Messages uint64            `json:"messages"`
	Bytes    uint64            `json:"bytes"`
	First    uint64            `json:"first_seq"`
	Last     uint64            `json:"last_seq"`
	Deleted  []uint64          `json:"deleted"`
	Subjects map[string]uint64 `json:"subjects"`
}

func (s *site) state(stream string) streamState {
	s.t.Helper()
	var a struct{ State streamState }
	s.must("STREAM.INFO."+stream, `{"deleted_details":true,"subjects_filter":">"}`, &a)
	return a.State
}

// holds checks how many messages a stream has, and which are the first and the last.
func (s *site) holds(stream string, messages, first, last uint64) {
	s.t.Helper()
	got := s.state(stream)
	if got.Messages != messages || got.First != first || got.Last != last {
		s.t.Errorf("stream %s: got %d messages, %d to %d, want %d, %d to %d", stream, got.Messages, got.First, got.Last, messages, first, last)
	}
}

// position is a sequence of a consumer and of its stream.
type position struct {
	Consumer uint64 `json:"consumer_seq"`
	Stream   uint64 `json:"stream_seq"`
}

// consumerState is what the cases look at of a consumer.
type consumerState struct {
	Delivered   position `json:"delivered"`
	AckFloor    position `json:"ack_floor"`
	AckPending  int      `json:"num_ack_pending"`
	Redelivered int      `json:"num_redelivered"`
	Waiting     int      `json:"num_waiting"`
	Pending     uint64   `json:"num_pending"`
}

func (s *site) consumerState(stream, consumer string) (c consumerState) {
	s.t.Helper()
	s.must("CONSUMER.INFO."+stream+"."+consumer, "", &c)
	return c
}

// ack is the answer to a publish.
type ack struct {
	Stream    string
	Sequence  uint64 `json:"seq"`
	Duplicate bool
	Value     string `json:"val"`
	Batch     string
	Count     int
	Error     struct {
		Code        int `json:"err_code"`
		Description string
	}
	empty bool
}

func (a ack) String() string {
	switch {
	case a.empty:
		return "an empty answer"
	case a.Error.Code != 0:
		return fmt.Sprintf("%d %s", a.Error.Code, a.Error.Description)
	case a.Duplicate:
		return fmt.Sprintf("%s %d, a duplicate", a.Stream, a.Sequence)
	}
	return fmt.Sprintf("%s %d", a.Stream, a.Sequence)
}

// publish sends a message with headers, given as name and value in turn, and returns the answer.
func (s *site) publish(subject, data string, headers ...string) (a ack) {
	s.t.Helper()
	m := &nats.Msg{Subject: subject, Data: []byte(data), Header: nats.Header{}}
	for pair := range slices.Chunk(headers, 2) {
		m.Header[pair[0]] = append(m.Header[pair[0]], pair[1])
	}
	r, err := s.conn.RequestMsg(m, servertest.Patience)
	if err != nil {
		s.t.Fatalf("publish on %s: %v", subject, err)
	}
	if len(r.Data) == 0 && len(r.Header) == 0 {
		return ack{empty: true}
	}
	if err := json.Unmarshal(r.Data, &a); err != nil {
		s.t.Fatalf("publish on %s: %v in %q", subject, err, r.Data)
	}
	return a
}

// stores is a publish that must be stored as this sequence.
func (s *site) stores(sequence uint64, subject, data string, headers ...string) {
	s.t.Helper()
	if a := s.publish(subject, data, headers...); a.Error.Code != 0 || a.Sequence != sequence || a.Duplicate {
		s.t.Fatalf("publish on %s with %q: got %v, want sequence %d", subject, headers, a, sequence)
	}
}

// rejects is a publish that must have this error.
func (s *site) rejects(code int, subject, data string, headers ...string) {
	s.t.Helper()
	if a := s.publish(subject, data, headers...); a.Error.Code != code {
		s.t.Errorf("publish on %s with %.100q: got %v, want %d", subject, headers, a, code)
	}
}

// many publishes n messages and waits until all are stored.
func (s *site) many(n int, subject func(int) string) {
	s.t.Helper()
	js, err := s.conn.JetStream(nats.PublishAsyncMaxPending(256), nats.MaxWait(servertest.Patience))
	if err != nil {
		s.t.Fatal(err)
	}
	futures := make([]nats.PubAckFuture, 0, n)
	for i := range n {
		f, err := js.PublishAsync(subject(i), []byte("x"), nats.StallWait(servertest.Patience))
		if err != nil {
			s.t.Fatalf("publish %d: %v", i, err)
		}
		futures = append(futures, f)
	}
	for i, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			s.t.Fatalf("publish %d: %v", i, err)
		case <-time.After(servertest.Patience):
			s.t.Fatalf("publish %d: no answer", i)
		}
	}
}

// stored is a message as MSG.GET has it, and the code of the refusal.
type stored struct {
	Subject  string
	Sequence uint64 `json:"seq"`
	Data     []byte
	Headers  string
	code     int
}

func (s *site) get(stream, body string) stored {
	s.t.Helper()
	r := s.ask("STREAM.MSG.GET."+stream, body)
	var a struct {
		Message struct {
			stored
			Block string `json:"hdrs"`
		}
	}
	if err := json.Unmarshal(r.raw, &a); err != nil {
		s.t.Fatalf("get %s: %v", body, err)
	}
	block, err := base64.StdEncoding.DecodeString(a.Message.Block)
	if err != nil {
		s.t.Fatalf("get %s: %v", body, err)
	}
	m := a.Message.stored
	m.Headers, m.code = string(block), r.code
	return m
}

// pull asks a consumer for messages and returns them with the status that ended the request ("" when the
// last message did). body is a pull request, whose batch is n.
func (s *site) pull(stream, consumer, body string, n int) (messages []*nats.Msg, status string) {
	s.t.Helper()
	inbox := s.conn.NewInbox()
	sub, err := s.conn.SubscribeSync(inbox)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may have ended
	if err := s.conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+stream+"."+consumer, inbox, []byte(body)); err != nil {
		s.t.Fatal(err)
	}
	for len(messages) < n {
		m, err := sub.NextMsg(servertest.Patience)
		if errors.Is(err, nats.ErrNoResponders) {
			return messages, "503"
		}
		if err != nil {
			s.t.Fatalf("pull %s from %s %s: %v after %d messages", body, stream, consumer, err, len(messages))
		}
		if status := m.Header.Get("Status"); status != "" && status != "100" {
			return messages, status
		}
		messages = append(messages, m)
	}
	return messages, ""
}

// next is a pull of n messages that must come.
func (s *site) next(stream, consumer string, n int) []*nats.Msg {
	s.t.Helper()
	messages, status := s.pull(stream, consumer, fmt.Sprintf(`{"batch":%d,"expires":%d}`, n, servertest.Patience), n)
	if len(messages) < n {
		s.t.Fatalf("pull from %s %s: %d messages %v, then status %s, want %d", stream, consumer, len(messages), sequences(messages), status, n)
	}
	return messages
}

// rest is all that a consumer has to deliver now.
func (s *site) rest(stream, consumer string) []*nats.Msg {
	s.t.Helper()
	messages, _ := s.pull(stream, consumer, `{"batch":1000,"no_wait":true}`, 1000)
	return messages
}

// acknowledge answers a message and waits until that is known.
func (s *site) acknowledge(m *nats.Msg, kind string) {
	s.t.Helper()
	if _, err := s.conn.Request(m.Reply, []byte(kind), servertest.Patience); err != nil {
		s.t.Fatalf("%s of %s: %v", kind, m.Reply, err)
	}
}

// sequences are those of messages in their stream.
func sequences(messages []*nats.Msg) []uint64 {
	out := make([]uint64, 0, len(messages))
	for _, m := range messages {
		out = append(out, metadata(m).Sequence.Stream)
	}
	return out
}

func metadata(m *nats.Msg) *nats.MsgMetadata {
	if md, err := m.Metadata(); err == nil {
		return md
	}
	return &nats.MsgMetadata{}
}

// wants compares two values, where no elements are as good as nil.
func wants[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if g, w := reflect.ValueOf(got), reflect.ValueOf(want); g.Kind() == reflect.Slice && g.Len() == 0 && w.Len() == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// eachStorage runs a test with both kinds of storage, most of which is waiting.
func eachStorage(t *testing.T, test func(t *testing.T, storage string)) {
	for _, storage := range []string{"file", "memory"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			test(t, storage)
		})
	}
}
