package handover_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/handover"
	"runnel/server/jetstream/ingest"
)

// outlet is for answers, of which there are none here.
type outlet struct{}

func (outlet) Publish(*accounts.Account, string, string, []byte, []byte) int { return 0 }
func (outlet) Flush()                                                        {}
func (outlet) Close()                                                        {}

// target is a stream that messages are put into, on a server alone.
type target struct {
	t      *testing.T
	log    *store.Stream
	stream *ingest.Stream
	putter *handover.Putter
}

func newTarget(t *testing.T, change ...func(*config.Stream)) *target {
	t.Helper()
	s, _, err := store.Open(store.Config{FS: vfs.NewMemory(), Dir: "/data", ScrubBytes: -1, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Stream{
		Name: "DEAD", Subjects: []string{"dead"}, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1,
		MaxMessageBytes: -1, Replicas: 1,
	}
	for _, c := range change {
		c(&cfg)
	}
	x := &target{t: t}
	if x.log, err = s.Create("A", cfg); err != nil {
		t.Fatal(err)
	}
	in := ingest.New(ingest.Config{Outlet: func() ingest.Outlet { return outlet{} }})
	x.stream = in.Open(new(accounts.Account), x.log, ingest.Hooks{})
	x.putter = &handover.Putter{Local: func(account, stream string) (*ingest.Stream, error) {
		if account != "A" || stream != "DEAD" {
			return nil, api.NewError(api.StreamNotFound)
		}
		return x.stream, nil
	}}
	t.Cleanup(func() {
		in.Close()
		if err := errors.Join(x.log.Check(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return x
}

// put puts messages with these numbers, of so many bytes, and returns the outcomes as text.
func (x *target) put(bytes int, numbers ...uint64) string {
	x.t.Helper()
	var list []handover.Message
	for _, n := range numbers {
		list = append(list, handover.Message{
			Subject: fmt.Sprint("of.another.stream.", n), Header: headers.Build(headers.Field{Name: "Nats-Msg-Id", Value: "x"}),
			Payload: make([]byte, bytes), Producer: "p", Number: n,
		})
	}
	ctx, cancel := context.WithTimeout(x.t.Context(), 10*time.Second)
	defer cancel()
	outcomes, err := x.putter.Put(ctx, "A", "DEAD", list)
	if err != nil {
		x.t.Fatal(err)
	}
	var words []string
	for _, o := range outcomes {
		switch {
		case o.Refusal != nil:
			words = append(words, fmt.Sprint("no:", o.Refusal.ErrCode))
		case o.Duplicate:
			words = append(words, fmt.Sprint("again:", o.Sequence))
		default:
			words = append(words, fmt.Sprint(o.Sequence))
		}
	}
	return strings.Join(words, " ")
}

func TestPut(t *testing.T) {
	x := newTarget(t)
	for _, step := range []struct {
		about   string
		numbers []uint64
		want    string
	}{
		{"nothing", nil, ""},
		{"several", []uint64{4, 5, 9}, "1 2 3"},
		{"again, and more", []uint64{5, 9, 10}, "again:0 again:3 4"},
		{"out of order", []uint64{20, 11}, "5 again:0"},
	} {
		if got := x.put(10, step.numbers...); got != step.want {
			t.Errorf("%s: got %q, want %q", step.about, got, step.want)
		}
	}
	if m, err := x.log.Load(3); err != nil || m.Subject != "of.another.stream.9" || !strings.Contains(string(m.Header), "Nats-Msg-Id: x") {
		t.Errorf("stored is %+v, %v", m, err)
	}
}

// TestPutManyBytes puts more than go together, twice.
func TestPutManyBytes(t *testing.T) {
	x := newTarget(t)
	if got := x.put(900<<10, 1, 2, 3); got != "1 2 3" {
		t.Errorf("got %q", got)
	}
	if got := x.put(900<<10, 1, 2, 3, 4); got != "again:0 again:0 again:3 4" {
		t.Errorf("again: got %q", got)
	}
}

// TestPutKeepsOrder puts messages of which one is refused: nothing of the same producer is stored behind it, since it would
// count as a duplicate then and be lost.
func TestPutKeepsOrder(t *testing.T) {
	x := newTarget(t, func(c *config.Stream) { c.Discard, c.MaxMessages = config.DiscardNew, 2 })
	if got := x.put(10, 1, 2, 3, 4); got != "1 2 no:10077 no:11002" {
		t.Errorf("got %q", got)
	}
	if _, err := x.log.Propose(t.Context(), &command.Delete{Time: time.Now().UnixNano(), Sequence: 1}); err != nil {
		t.Fatal(err)
	}
	if got := x.put(10, 3, 4); got != "3 no:10077" {
		t.Errorf("when there is room: got %q", got)
	}
}

func TestPutNowhere(t *testing.T) {
	x := newTarget(t)
	list := []handover.Message{{Subject: "s", Producer: "p", Number: 1}}
	_, err := x.putter.Put(t.Context(), "A", "OTHER", list)
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.ErrCode != int(api.StreamNotFound) || errors.Is(err, handover.ErrUnknown) {
		t.Errorf("no such stream: got %v", err)
	}
	x.stream.Close()
	if _, err = x.putter.Put(t.Context(), "A", "DEAD", list); !errors.Is(err, handover.ErrUnknown) {
		t.Errorf("a stream that is closed: got %v", err)
	}
}

// TestAnswer has the other side read what is no question.
func TestAnswer(t *testing.T) {
	x := newTarget(t)
	bare := command.AppendPack(nil, []command.Publish{{Subject: "s"}})
	for about, question := range map[string][]byte{"nothing": nil, "garbage": []byte("garbage"), "in nobody's name": bare} {
		if answer, known := handover.Answer(t.Context(), x.stream, question); known {
			t.Errorf("%s: got %s", about, answer)
		}
	}
	if s := x.log.State(); s.Last != 0 {
		t.Errorf("%d messages are stored", s.Last)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(command.AppendPack(nil, []command.Publish{{Subject: "s", Put: &command.Put{Producer: "p", Number: 1}}}))
	f.Add([]byte{1, 1})
	f.Fuzz(func(t *testing.T, question []byte) {
		handover.Decode(question)
	})
}
